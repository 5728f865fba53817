//! The file under redb: what a failed flush may have lost is written anew, and no lock is waited for
//! without end.

use std::fs::File;
use std::io;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use redb::backends::FileBackend;
use redb::{BackendError, DatabaseError, StorageBackend, StorageError};
use sessionlog_local::look::Look;

use crate::file::Header;

type Locked<T> = Result<T, BackendError>;

/// Bytes, and where they are.
type Pieces = Vec<(u64, Vec<u8>)>;

/// How much is written anew at once.
const PIECE: usize = 1 << 20;

/// redb's own file, and the bytes that were written since the last flush if they must be kept.
///
/// After a failed flush a system may take pages for written that are not. A commit in two phases
/// never refers to such pages. One in a single phase may, so its bytes are kept until they are
/// flushed, and a failed flush is answered by writing them again, once. Where that fails too, redb
/// gives the file up and leaves it marked as open, as a process does that is killed. Whoever opens such a
/// file would believe the pages that the system shows, and no flush of theirs proves anything of them. So
/// all of it is written anew, and flushed, before the first of them is read, in either mode.
///
/// Of the locks that redb waits for, that of the header is held for moments, or while a store is
/// compacted, so it is waited for with patience. That of writers is held as long as a transaction:
/// it is refused at once, and whoever opens the store waits and tries again. A lock that is not had
/// is an error of the kind `WouldBlock`.
#[derive(Debug)]
pub(crate) struct Disk {
    file: FileBackend,
    /// The same file: redb asks for its length in every commit, and its own way asks for times too.
    look: File,
    /// What was written since the last flush, if it is kept.
    written: Option<Mutex<Pieces>>,
    /// Whether somebody may have left the file in doubt.
    owes: AtomicBool,
    patience: Duration,
}

impl Disk {
    /// A file whose commits are flushed once.
    pub(crate) fn keeping(file: File, patience: Duration) -> Result<Self, DatabaseError> {
        Ok(Self {
            written: Some(Mutex::default()),
            ..Self::shared(file, patience)?
        })
    }

    /// A file whose commits are flushed in two phases.
    pub(crate) fn shared(file: File, patience: Duration) -> Result<Self, DatabaseError> {
        Ok(Self {
            owes: AtomicBool::new(true),
            ..Self::plain(file, patience)?
        })
    }

    /// A file that is only read.
    pub(crate) fn plain(file: File, patience: Duration) -> Result<Self, DatabaseError> {
        let look = file.try_clone().map_err(StorageError::Io)?;
        Ok(Self {
            file: FileBackend::new(file)?,
            look,
            written: None,
            owes: AtomicBool::new(false),
            patience,
        })
    }

    fn written(&self) -> Option<MutexGuard<'_, Pieces>> {
        let written = self.written.as_ref()?;
        Some(written.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes and flushes what somebody left in doubt, as the file shows it now. redb reads nothing before
    /// it has the locks of a writer, so nobody else writes meanwhile.
    fn renew(&self) -> io::Result<()> {
        if !self.owes.load(Ordering::Acquire) {
            return Ok(());
        }
        if Header::read(&self.look)?.is_left_in_one_phase() {
            for offset in (0..self.len()?).step_by(PIECE) {
                self.put_again(offset, PIECE)?;
            }
            self.flush()?;
        }
        self.owes.store(false, Ordering::Release);
        Ok(())
    }

    /// Writes what the file shows at a place.
    fn put_again(&self, offset: u64, most: usize) -> io::Result<()> {
        let there = self.len()?.saturating_sub(offset);
        let mut shown = vec![0; most.min(usize::try_from(there).unwrap_or(usize::MAX))];
        self.file.read(offset, &mut shown)?;
        self.put(offset, &shown)
    }

    /// Waits for a lock as long as it may.
    fn wait(&self, start: Bound<u64>, mut attempt: impl FnMut() -> Locked<bool>) -> Locked<()> {
        let deadline = Instant::now().checked_add(self.patience);
        let mut pause = Duration::from_micros(50);
        while !attempt()? {
            let is_header = start == Bound::Included(0);
            if !is_header || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(BackendError::Io(io::ErrorKind::WouldBlock.into()));
            }
            sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(1));
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        fault(Call::Flush)?;
        self.file.sync_data()
    }

    fn put(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        fault(Call::Write)?;
        self.file.write(offset, data)
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(Look::of(&self.look)?.len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.renew()?;
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        fault(Call::Write)?;
        self.file.set_len(len)?;
        if let Some(mut written) = self.written() {
            written.retain(|(offset, _)| *offset < len);
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let flushed = self.flush();
        let Some(mut written) = self.written() else {
            return flushed;
        };
        if flushed.is_err() {
            for (offset, data) in written.iter() {
                self.put(*offset, data)?;
            }
            self.flush()?;
        }
        written.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.put(offset, data)?;
        if let Some(mut written) = self.written() {
            written.push((offset, data.to_vec()));
        }
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Locked<bool> {
        self.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Locked<bool> {
        self.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Locked<()> {
        self.wait(start, || self.file.try_lock_range(start, end))
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Locked<()> {
        self.wait(start, || self.file.try_lock_shared_range(start, end))
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Locked<()> {
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Locked<bool> {
        self.file.query_lock_range(start, end)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    Write,
    Flush,
}

#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "tests make it fail")]
fn fault(_call: Call) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
use tests::fault;

#[cfg(test)]
mod tests;
