//! The file under redb: what a failed flush may have lost is written anew, and no lock is waited for
//! without end.

use std::io;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};

type Locked<T> = Result<T, BackendError>;

/// Bytes and where they were written.
type Written = Vec<(u64, Vec<u8>)>;

/// redb's own file, and the bytes that were written since the last flush if they must be kept.
///
/// After a failed flush a system may take pages for written that are not. A commit in two phases
/// never refers to such pages. One in a single phase may, so its bytes are kept until they are
/// flushed, and a failed flush is answered by writing them again, once.
///
/// Of the locks that redb waits for, that of the header is held for moments, or while a store is
/// compacted, so it is waited for with patience. That of writers is held as long as a transaction:
/// it is refused at once, and whoever opens the store waits and tries again. A lock that is not had
/// is an error of the kind `WouldBlock`.
#[derive(Debug)]
pub(crate) struct Disk {
    file: FileBackend,
    written: Option<Mutex<Written>>,
    patience: Duration,
}

impl Disk {
    /// A file whose commits are flushed once.
    pub(crate) fn keeping(file: FileBackend, patience: Duration) -> Self {
        Self {
            file,
            written: Some(Mutex::default()),
            patience,
        }
    }

    /// A file whose commits are flushed in two phases.
    pub(crate) fn plain(file: FileBackend, patience: Duration) -> Self {
        Self {
            file,
            written: None,
            patience,
        }
    }

    fn written(&self) -> Option<MutexGuard<'_, Written>> {
        let written = self.written.as_ref()?;
        Some(written.lock().unwrap_or_else(PoisonError::into_inner))
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
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
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
