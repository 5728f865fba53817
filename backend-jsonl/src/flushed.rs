//! How far a log is durable, as far as one handle knows.

use std::fs::File;
use std::io;

use sessionlog_local::anew::write_anew;

use crate::life::Life;
use crate::tail::find;

/// What the flushes of one handle have proved of a log.
#[derive(Default)]
pub(crate) struct Flushed {
    /// Where the log ended at the last flush. What is behind that may be another process's, which was
    /// killed before its flush, or could not flush it.
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

    /// Makes durable that the log ends at `end`, whoever wrote its last commit. Costs nothing if this handle
    /// knows it; else a read and a write of that commit, and a flush.
    ///
    /// What another wrote may be what that one could not flush: it can be read, and a flush proves nothing
    /// of it. More than the last commit is never open, since whoever writes makes sure of what is there.
    pub(crate) fn secure(&mut self, life: &Life, file: &File, end: u64) -> io::Result<()> {
        if self.covers(end) && !self.in_doubt {
            return Ok(());
        }
        let mut from = life.begin.offset;
        if self.in_doubt && self.end > 0 {
            from = self.end;
        } else if let Some(last) = find(&life.file, end, life.begin, &life.session.id)? {
            from = last.start;
        }
        if self.in_doubt {
            // A commit that was taken back may come back if that was not flushed.
            self.told(file.set_len(end))?;
        }
        self.told(write_anew(&life.file, file, from.min(end)..end))?;
        *self = Self {
            end,
            in_doubt: false,
        };
        Ok(())
    }
}
