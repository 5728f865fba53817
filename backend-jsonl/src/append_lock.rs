//! The lock of whoever writes to a session.

use std::io::ErrorKind as Io;
use std::path::Path;
use std::time::Duration;

use futures_timer::Delay;
use futures_util::lock::MutexGuard;
use sessionlog_core::{Error, Result};

use crate::commit::Bench;
use crate::dir::APPEND_LOCK;
use crate::life::Life;
use sessionlog_local::files::{failed, is_dir, open_or_create, sync_dir};
use sessionlog_local::lock::{try_whole, unlock_whole};
use sessionlog_local::look::Look;

/// The right to write to a session, against all threads and processes.
pub(crate) struct AppendLock<'a> {
    pub(crate) bench: MutexGuard<'a, Bench>,
}

impl Drop for AppendLock<'_> {
    fn drop(&mut self) {
        if let Some(lock) = &self.bench.lock
            && unlock_whole(lock).is_err()
        {
            // Closing the file frees its lock for certain.
            self.bench.lock = None;
        }
    }
}

impl Life {
    /// Waits for the append lock, at most for the busy timeout.
    pub(crate) async fn lock(&self) -> Result<AppendLock<'_>> {
        let mut waited = Duration::ZERO;
        let mut pause = Duration::from_micros(200);
        loop {
            // Nothing is held over a pause: a future that is polled no more stands in nobody's way.
            if let Some(bench) = self.bench.try_lock()
                && let Some(mut lock) = self.try_append_lock(bench)?
            {
                self.keep_name(&mut lock.bench)?;
                return Ok(lock);
            }
            if waited >= self.patience {
                return Err(Error::unavailable(format!(
                    "another process has the lock of the session for longer than the busy timeout \
                     of {} ms, try again: {}",
                    self.patience.as_millis(),
                    self.dir.join(APPEND_LOCK).display()
                )));
            }
            pause = pause.min(self.patience.saturating_sub(waited));
            Delay::new(pause).await;
            waited += pause;
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }

    /// Whoever made the session, or put a file of it in its place, may have come to an end, or failed, before
    /// the name was flushed: nothing that is written there would outlive a power loss.
    fn keep_name(&self, bench: &mut Bench) -> Result<()> {
        if !bench.named {
            let session = self.dir.path();
            let root = session.parent().unwrap_or(Path::new(""));
            sync_dir(root).map_err(failed("flush", root))?;
            match sync_dir(session) {
                Err(e) if e.kind() == Io::NotFound => return Err(self.session.gone()),
                flushed => flushed.map_err(failed("flush", session))?,
            }
            bench.named = true;
        }
        Ok(())
    }

    fn try_append_lock<'a>(
        &self,
        mut bench: MutexGuard<'a, Bench>,
    ) -> Result<Option<AppendLock<'a>>> {
        if bench.lock.is_none() {
            let path = self.dir.join(APPEND_LOCK);
            bench.lock = match open_or_create(&path) {
                // It is made if only it is missing: the folder is.
                Err(e) if e.kind() == Io::NotFound => return Err(self.session.gone()),
                opened => Some(opened.map_err(failed("open", &path))?),
            };
        }
        let locked = bench.lock.as_ref().map_or(Ok(false), try_whole);
        let locked = locked.map_err(|e| failed("lock", &self.dir.join(APPEND_LOCK))(e))?;
        Ok(locked.then_some(AppendLock { bench }))
    }

    /// Whether the session's log is still this file. To be asked under the append lock.
    pub(crate) fn is_current(&self) -> Result<u64> {
        match Look::at(&self.events) {
            Ok(found) if found.identity == self.identity => Ok(found.len),
            Ok(_) => Err(self.replaced()),
            Err(e) if e.kind() == Io::NotFound && is_dir(self.dir.path()) => Err(
                crate::life::damaged(&self.session.id, "the log of the session is missing"),
            ),
            Err(e) if e.kind() == Io::NotFound => Err(self.session.gone()),
            Err(e) => Err(failed("look at", &self.events)(e)),
        }
    }

    fn replaced(&self) -> Error {
        match crate::header::of_file(&self.events) {
            Ok(Some(header)) if header.session != self.session => self.session.gone(),
            _ => crate::life::damaged(
                &self.session.id,
                "the file of the log was replaced while it was open",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Jsonl, Options};
    use sessionlog_core::{ErrorKind, EventLog, SessionRef};
    use sessionlog_testkit::{block_on, create, id};
    use std::fs;

    /// Somebody else may do any of this between the look for a session and its lock.
    #[test]
    fn what_became_of_a_log_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let store = Jsonl::open(dir.path(), Options::default()).unwrap();
        let session = create(&store, "s");
        let life = store.life(&session).unwrap();
        let folder = dir.path().join("s");
        let log = folder.join("events.jsonl");
        let bytes = fs::read(&log).unwrap();
        assert_eq!(life.is_current().unwrap(), bytes.len() as u64);

        // Another file with the same log, the log of another life, and none.
        let replace = |bytes: &[u8]| {
            fs::write(folder.join("new"), bytes).unwrap();
            fs::rename(folder.join("new"), &log).unwrap();
        };
        replace(&bytes);
        assert!(life.is_current().unwrap_err().is_corrupt());
        let other = Jsonl::open(dir.path().join("other"), Options::default()).unwrap();
        block_on(other.create(&SessionRef::fresh(id("s")))).unwrap();
        replace(&fs::read(other.path().join("s/events.jsonl")).unwrap());
        assert!(life.is_current().unwrap_err().is_not_found());
        replace(b"");
        assert!(life.is_current().unwrap_err().is_corrupt());

        fs::remove_file(&log).unwrap();
        assert!(life.is_current().unwrap_err().is_corrupt());
        fs::remove_dir_all(&folder).unwrap();
        assert!(life.is_current().unwrap_err().is_not_found());
        // Not a folder any more: the system says something else than that it is missing.
        fs::write(&folder, "").unwrap();
        let unknown = life.is_current().unwrap_err();
        assert_eq!(*unknown.kind(), ErrorKind::Unavailable, "{unknown}");
    }
}
