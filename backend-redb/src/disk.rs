//! The file under redb: what a failed flush may have lost is written anew, and no lock is waited for
//! without end.

use std::fs::File;
use std::io;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use redb::backends::FileBackend;
use redb::{BackendError, DatabaseError, StorageBackend, StorageError};
use sessionlog_local::look::Look;

type Locked<T> = Result<T, BackendError>;

/// How much is written anew at once.
const PIECE: usize = 1 << 20;

/// What is not flushed of a file, as far as it is known.
#[derive(Debug, Default)]
struct Written {
    /// The bytes that were written since the last flush, and where.
    pieces: Vec<(u64, Vec<u8>)>,
    /// What was there before.
    before: Before,
}

/// What others left, who may have been killed before their flush.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Before {
    #[default]
    Unknown,
    /// A flush failed, and a second one proves nothing.
    Doubtful,
    Flushed,
}

/// What was written to a file since its last flush. It outlives the [`Disk`], since redb gives one up
/// with the database after a failed flush.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unflushed(Arc<Mutex<Written>>);

impl Unflushed {
    fn lock(&self) -> MutexGuard<'_, Written> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// redb's own file, and the bytes that were written since the last flush if they must be kept.
///
/// After a failed flush a system may take pages for written that are not. A commit in two phases
/// never refers to such pages. One in a single phase may, so its bytes are kept until they are
/// flushed, and a failed flush is answered by writing them again, once. Where that fails too, redb
/// gives the file up; whoever opens it anew would believe the pages that the system shows, so they are
/// written and flushed before the first of them is read. What another process wrote is flushed then, too,
/// since it may have been killed before it did so; if that flush fails, the whole file is written anew.
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
    written: Option<Unflushed>,
    /// Whether a disk before this one, or another process, may have left something that was not flushed.
    owes: AtomicBool,
    patience: Duration,
}

impl Disk {
    /// A file whose commits are flushed once.
    pub(crate) fn keeping(
        file: File,
        written: Unflushed,
        patience: Duration,
    ) -> Result<Self, DatabaseError> {
        let all = {
            let written = written.lock();
            written.before == Before::Flushed && written.pieces.is_empty()
        };
        Ok(Self {
            written: Some(written),
            owes: AtomicBool::new(!all),
            ..Self::plain(file, patience)?
        })
    }

    /// A file whose commits are flushed in two phases.
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

    fn written(&self) -> Option<MutexGuard<'_, Written>> {
        self.written.as_ref().map(Unflushed::lock)
    }

    /// Writes and flushes what the disk before this one left, as the file shows it now.
    fn renew(&self) -> io::Result<()> {
        if !self.owes.load(Ordering::Acquire) {
            return Ok(());
        }
        if let Some(mut written) = self.written() {
            if written.before == Before::Unknown {
                written.before = match self.flush() {
                    Ok(()) => Before::Flushed,
                    Err(_) => Before::Doubtful,
                };
            }
            if written.before == Before::Doubtful {
                for offset in (0..self.len()?).step_by(PIECE) {
                    self.put_again(offset, PIECE)?;
                }
            } else {
                for (offset, data) in &written.pieces {
                    self.put_again(*offset, data.len())?;
                }
            }
            if written.before == Before::Doubtful || !written.pieces.is_empty() {
                self.flush()?;
            }
            *written = Written {
                pieces: Vec::new(),
                before: Before::Flushed,
            };
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
            written.pieces.retain(|(offset, _)| *offset < len);
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let flushed = self.flush();
        let Some(mut written) = self.written() else {
            return flushed;
        };
        if flushed.is_err() {
            for (offset, data) in &written.pieces {
                self.put(*offset, data)?;
            }
            self.flush()?;
        }
        written.pieces.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.put(offset, data)?;
        if let Some(mut written) = self.written() {
            written.pieces.push((offset, data.to_vec()));
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
