//! How a store is opened.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sessionlog_core::Limits;

type Progress = Arc<dyn Fn(f64) + Send + Sync>;

/// How a redb store is opened.
///
/// ```
/// use sessionlog_backend_redb::Options;
/// use std::time::Duration;
///
/// let options = Options::default()
///     .busy_timeout(Duration::from_secs(2))
///     .on_repair(|done| eprintln!("checking the store: {:.0} %", done * 100.0));
/// # let _ = options;
/// ```
#[derive(Clone)]
pub struct Options {
    pub(crate) limits: Limits,
    pub(crate) exclusive: bool,
    pub(crate) cache: usize,
    pub(crate) busy_timeout: Duration,
    pub(crate) on_repair: Option<Progress>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            exclusive: false,
            cache: 32 << 20,
            busy_timeout: Duration::from_secs(10),
            on_repair: None,
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

    /// Keeps every other process out from the first write on, for faster appends: one flush instead
    /// of two.
    ///
    /// The price is paid after a crash: the next open then has to write the whole file anew, and to read it
    /// ([`on_repair`](Self::on_repair) tells how far it is), where a shared store opens at once.
    /// Another process that wants to write gets `Unavailable`, and so does one that wants to read.
    /// The file itself is the same.
    #[must_use]
    pub fn exclusive(mut self) -> Self {
        self.exclusive = true;
        self
    }

    /// How many bytes of the file are kept in memory, at most. 32 MiB by default.
    #[must_use]
    pub fn cache(mut self, bytes: usize) -> Self {
        self.cache = bytes;
        self
    }

    /// How long a write waits while another process writes, before it gives up with `Unavailable`.
    /// 10 seconds by default.
    ///
    /// A read waits as long, and at least a second, while another process
    /// [compacts](crate::Redb::compact) the store, or is halted in the middle of a commit.
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Is told how far the check of a file is that was not closed properly, from 0 to 1.
    ///
    /// It is never called for a shared store whose process was killed, which opens at once.
    #[must_use]
    pub fn on_repair(mut self, progress: impl Fn(f64) + Send + Sync + 'static) -> Self {
        self.on_repair = Some(Arc::new(progress));
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("limits", &self.limits)
            .field("exclusive", &self.exclusive)
            .field("cache", &self.cache)
            .field("busy_timeout", &self.busy_timeout)
            .finish_non_exhaustive()
    }
}
