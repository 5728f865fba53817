//! How a store is opened.

use sessionlog_core::Limits;

/// How a JSONL store is opened.
///
/// ```
/// use sessionlog_backend_jsonl::Options;
///
/// let options = Options::default().write_ahead(256 << 10);
/// # let _ = options;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub(crate) limits: Limits,
    pub(crate) write_ahead: usize,
}

impl Options {
    /// How large events and batches may be.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Writes this many bytes of space ahead, as newlines, whenever an append has to make the file
    /// longer. 0, the default, writes none; 256 KiB is a good value.
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
