//! A write-ahead log of which this process could not flush everything: it is written anew, before
//! anything rests on it.

use std::sync::Arc;

use sessionlog_core::Result;
use sessionlog_local::files::failed;

use crate::fault::{Kind, kind};
use crate::presence::Presence;
use crate::site::Site;
use crate::{connect, wal};

/// Settles a doubt before this process opens the database. The first who opens it takes all that is in
/// the log for committed and writes so into the log's index, which may outlive a power loss that takes
/// what no flush has proved. Where another process has it open that has happened, or its index knows
/// nothing of what failed; and where nothing can be written there is no index.
///
/// # Errors
/// `Unavailable` if the disk still fails.
pub(crate) fn settle_before_opening(site: &Site, presence: &Arc<Presence>) -> Result<()> {
    if !presence.is_in_doubt() {
        return Ok(());
    }
    // Whoever else wants to open it waits for the outcome.
    let _alone = presence.settling();
    if !presence.is_in_doubt() || presence.is_locked() {
        return Ok(());
    }
    // Nothing is left that could be lost.
    if site.wal_len()? == 0 || renew(site, presence)? {
        presence.settled();
    }
    Ok(())
}

/// The same for a database that this process meets: who left its log was perhaps killed behind a flush that
/// failed, and took what it knew of that along. Nobody writes a log anew that is damaged.
///
/// # Errors
/// `Corrupt` for a log that was damaged after it was written; `Unavailable` if the disk fails.
pub(crate) fn take_over(site: &Site, presence: &Arc<Presence>) -> Result<()> {
    let _alone = presence.settling();
    if presence.is_locked() {
        return Ok(());
    }
    if site.wal_len()? > 0 {
        site.check_wal(presence)?;
        let known = presence.is_in_doubt();
        presence.doubt();
        match renew(site, presence) {
            Ok(true) => {}
            Ok(false) if known => return Ok(()),
            // Nobody can write to a database of which that much is damaged.
            Err(error) if known || !error.is_corrupt() => return Err(error),
            _ => {
                let path = site.wal();
                wal::flush(&path).map_err(failed("flush", &path))?;
            }
        }
    }
    presence.settled();
    Ok(())
}

/// Writes the log anew where nobody has the database open. `false` if somebody has, or nothing can be written.
fn renew(site: &Site, presence: &Arc<Presence>) -> Result<bool> {
    let conn = presence.locking(|| connect::alone(site.path()))?;
    if site.forbids_writing(&conn) {
        return Ok(false);
    }
    match conn.execute_batch("BEGIN IMMEDIATE") {
        Ok(()) => {
            let path = site.wal();
            wal::write_anew(&path).map_err(failed("write anew", &path))?;
            Ok(true)
        }
        Err(error) if kind(&error) == Kind::Busy => Ok(false),
        Err(error) => Err(site.not_begun(&conn, error)),
    }
}

/// Settles a doubt, under the write lock.
pub(crate) fn settle(site: &Site, presence: &Presence) -> Result<()> {
    if presence.is_in_doubt() {
        let path = site.wal();
        wal::write_anew(&path).map_err(failed("write anew", &path))?;
        presence.settled();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use pollster::block_on;
    use sessionlog_core::{ErrorKind, EventLog, SessionId, SessionRef};
    use sessionlog_crashfs::{Fault, FaultKind, Recorder, armed};
    use tempfile::TempDir;

    use super::*;
    use crate::{Options, Sqlite};

    fn session() -> SessionId {
        "s".parse().unwrap()
    }

    /// What a killed process leaves: a database with a log, in doubt, that nobody has open.
    fn left() -> (TempDir, Sqlite, Arc<Presence>) {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = Sqlite::open(from.path().join("a.db"), Options::default()).unwrap();
        block_on(store.create(&SessionRef::fresh(session()))).unwrap();
        for name in ["a.db", "a.db-wal"] {
            fs::copy(from.path().join(name), to.path().join(name)).unwrap();
        }
        fs::create_dir(to.path().join("a.db-leases")).unwrap();
        let store = Sqlite::open(to.path().join("a.db"), Options::default()).unwrap();
        let presence = store.inner.presence().unwrap().unwrap();
        presence.doubt();
        (to, store, presence)
    }

    fn files(dir: &TempDir) -> [Vec<u8>; 2] {
        ["a.db", "a.db-wal"].map(|name| fs::read(dir.path().join(name)).unwrap())
    }

    #[test]
    fn the_log_is_written_anew_before_anybody_reads_it() {
        armed().unwrap();
        let (dir, store, presence) = left();
        let before = files(&dir);
        let recorder = Recorder::with_room(dir.path(), 64 << 20).unwrap();
        settle_before_opening(&store.inner.site, &presence).unwrap();
        assert!(!presence.is_in_doubt() && !presence.is_locked());
        let record = recorder.finish().unwrap();
        let log = record.start.find("a.db-wal").unwrap();
        let risk = record.risk(log, record.ops.len());
        assert_eq!(risk, sessionlog_crashfs::Risk::default());
        assert!(
            record
                .ops
                .iter()
                .any(|op| matches!(op, sessionlog_crashfs::Op::Write { file, .. } if *file == log))
        );
        // Nothing is copied into the database, and there is no index yet.
        assert!(files(&dir) == before && !dir.path().join("a.db-shm").exists());
        assert!(block_on(store.head(&session())).is_ok());
    }

    #[test]
    fn a_disk_that_still_fails_is_told_and_nothing_is_lost() {
        armed().unwrap();
        let (dir, store, presence) = left();
        let before = files(&dir);
        let recorder = Recorder::with_room(dir.path(), 64 << 20).unwrap();
        // The first flush fails, and all that come after it succeed.
        recorder.inject(Fault {
            kind: FaultKind::Eio,
            at: 2,
            lasting: false,
        });
        let error = block_on(store.head(&session())).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
        assert_eq!(recorder.hits(), 1);
        assert!(presence.is_in_doubt() && !presence.is_locked());
        assert!(files(&dir) == before && !dir.path().join("a.db-shm").exists());
        drop(recorder);
        assert!(block_on(store.head(&session())).is_ok());
        assert!(!presence.is_in_doubt());
    }

    #[test]
    fn where_another_process_has_it_open_nobody_waits() {
        let (dir, store, presence) = left();
        // SQLite takes a connection that this crate does not know for another process's.
        let other = rusqlite::Connection::open(dir.path().join("a.db")).unwrap();
        other.execute_batch("BEGIN; SELECT * FROM session").unwrap();
        let began = Instant::now();
        assert!(block_on(store.head(&session())).is_ok());
        assert!(began.elapsed() < Duration::from_secs(3));
        assert!(presence.is_in_doubt());
        other.execute_batch("COMMIT").unwrap();
        drop(other);
        block_on(store.create(&SessionRef::fresh("t".parse().unwrap()))).unwrap();
        assert!(!presence.is_in_doubt());
    }
}
