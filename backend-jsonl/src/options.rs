//! How a store is opened.

use std::time::Duration;

use sessionlog_core::{Error, Limits, Result};

use crate::format::Envelope;

/// The largest commit, in payload and envelopes: escaping at most doubles it, and no more than twice
/// this is looked through for the end of a log.
const LARGEST: usize = 256 << 20;

/// How a JSONL store is opened.
///
/// ```
/// use sessionlog_backend_jsonl::Options;
///
/// let options = Options::default().write_ahead(256 << 10);
/// # let _ = options;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub(crate) limits: Limits,
    pub(crate) write_ahead: usize,
    pub(crate) busy_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            write_ahead: 0,
            busy_timeout: Duration::from_secs(10),
        }
    }
}

impl Options {
    pub(crate) fn check(&self) -> Result<()> {
        let Limits {
            batch_events,
            batch_bytes,
            ..
        } = self.limits;
        let largest = batch_events
            .saturating_mul(Envelope::MAX_LEN)
            .saturating_add(batch_bytes);
        if largest <= LARGEST {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "the limits of a batch are too large for a JSONL store, which allows {} bytes and {LARGEST} \
             bytes of payload in all: {batch_events} events with {batch_bytes} bytes",
            Envelope::MAX_LEN,
        )))
    }

    /// How large events and batches may be.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How long a write waits for another process that writes to the same session, before it is
    /// `Unavailable`. 10 seconds by default. Each session has a lock of its own; a commit holds it for
    /// about as long as a flush takes.
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Writes this many bytes of space ahead, as newlines, whenever a commit that is shorter has to make
    /// the file longer. 0, the default, writes none; 256 KiB is a good value.
    ///
    /// The appends that fall into that space need not change the length of the file, which makes a
    /// flush cheaper on most file systems. The file stays valid JSON Lines at every moment; the
    /// empty lines at its end are no events. Processes with different values can share a store.
    #[must_use]
    pub fn write_ahead(mut self, bytes: usize) -> Self {
        self.write_ahead = bytes;
        self
    }
}
