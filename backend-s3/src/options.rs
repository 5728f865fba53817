//! How a store is used.

use std::time::Duration;

use sessionlog_core::Limits;

/// How a store is used. All handles on one store may differ in them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// How large appends may be.
    pub limits: Limits,
    /// Events that are in no chunk are sent again with each append until they have so many bytes;
    /// then they are sealed. 64 KiB by default: 32 KiB an append on average. As long as chunks can't
    /// be put, heads grow to eight times as much.
    pub seal_bytes: usize,
    /// Old heads are deleted with one request after so many appends. 64 by default.
    pub collect_every: u64,
    /// How long one request may take, and a millisecond for each KiB that it moves. 10 s by default.
    pub request_timeout: Duration,
    /// How often a request is tried. 8 by default.
    pub tries: u32,
    /// After so long no request is tried again. 30 s by default.
    pub deadline: Duration,
    /// The first pause between tries; each is twice as long as the one before, with jitter. 20 ms
    /// by default.
    pub pause: Duration,
    /// The longest pause between tries. 4 s by default.
    pub longest_pause: Duration,
    /// The first pause between two looks of a follower; it grows by half while nothing comes. 50 ms
    /// by default.
    pub poll: Duration,
    /// The longest pause between two looks of a follower. 2 s by default.
    pub longest_poll: Duration,
    /// How long objects that nothing names any more are kept for readers that began before. 1 hour
    /// by default.
    pub reader_grace: Duration,
    /// How long fences, tombstones and what nobody claims are kept. 24 hours by default. It must be
    /// the same in all handles on one store: for an eighth of it, and for an hour at most, a writer
    /// believes that nobody took over from it without a look, and sends again what was not answered.
    /// Less than a minute is for stores that nobody writes to meanwhile.
    pub retention: Duration,
    /// Whether the store lists objects in the order of their keys, so that a list of the newest
    /// sessions needs no look at the others. `None`, the default: as is known of a
    /// [`Location`](crate::Location) of S3, GCS or Azure; no for any other store.
    pub lists_in_order: Option<bool>,
}

impl Options {
    /// For so long a handle believes that nobody took over. Fences are kept for far longer.
    pub(crate) fn believed(&self) -> Duration {
        (self.retention / 8).clamp(Duration::from_secs(7), Duration::from_secs(3600))
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            seal_bytes: 64 << 10,
            collect_every: 64,
            request_timeout: Duration::from_secs(10),
            tries: 8,
            deadline: Duration::from_secs(30),
            pause: Duration::from_millis(20),
            longest_pause: Duration::from_secs(4),
            poll: Duration::from_millis(50),
            longest_poll: Duration::from_secs(2),
            reader_grace: Duration::from_secs(3600),
            retention: Duration::from_secs(24 * 3600),
            lists_in_order: None,
        }
    }
}
