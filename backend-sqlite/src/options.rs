//! How a store is opened.

use std::time::Duration;

use sessionlog_core::Limits;

/// How an SQLite store is opened.
///
/// ```
/// use std::time::Duration;
/// use sessionlog_backend_sqlite::Options;
///
/// let options = Options::default().busy_timeout(Duration::from_secs(2));
/// # let _ = options;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub(crate) limits: Limits,
    pub(crate) busy_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            busy_timeout: Duration::from_secs(10),
        }
    }
}

impl Options {
    /// How large events and batches may be.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How long a write waits for another process that has the write lock, before it is `Unavailable`.
    /// 10 seconds by default. SQLite has one write lock for the whole database; a commit holds it for
    /// about as long as a flush takes.
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }
}
