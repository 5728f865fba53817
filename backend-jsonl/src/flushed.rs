//! How far a log is durable, as far as one handle knows.

use std::fs::File;
use std::io;

use sessionlog_local::anew::write_anew;

/// What the flushes of one handle have proved of a log.
#[derive(Default)]
pub(crate) struct Flushed {
    /// Where the log ended at the last flush. What is behind that may be another process's, which was
    /// killed before its flush.
    end: u64,
    /// A call failed since: what is behind `end` may count as clean without being on the disk. A flush
    /// proves nothing of it until it is written anew.
    in_doubt: bool,
}

impl Flushed {
    /// Whether something has to be written anew.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.in_doubt
    }

    /// Whether a log that ends here is durable.
    pub(crate) fn covers(&self, end: u64) -> bool {
        self.end == end
    }

    /// Flushes the log, which ends at `end`.
    pub(crate) fn flush(&mut self, file: &File, end: u64) -> io::Result<()> {
        self.told(file.sync_data())?;
        if !self.in_doubt {
            self.end = end;
        }
        Ok(())
    }

    /// Takes away what is behind `end`, durably.
    pub(crate) fn cut(&mut self, file: &File, end: u64) -> io::Result<()> {
        self.told(file.set_len(end))?;
        self.flush(file, end)
    }

    fn told(&mut self, outcome: io::Result<()>) -> io::Result<()> {
        self.in_doubt |= outcome.is_err();
        outcome
    }

    /// Writes anew what is in doubt, as it is read from `from`, and flushes the log, which ends at `end`.
    pub(crate) fn restore(&mut self, from: &File, file: &File, end: u64) -> io::Result<()> {
        write_anew(from, file, self.end..end)?;
        *self = Self {
            end,
            in_doubt: false,
        };
        Ok(())
    }
}
