//! Reading: without a trace while nobody writes, beside the writers while somebody does.

use std::fs;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rusqlite::Connection;
use sessionlog_core::{Error, Result};
use sessionlog_local::files::{Identity, failed as io_failed};

use crate::connect;
use crate::fault::failed;
use crate::presence::{Locking, Presence, Quiet};
use crate::site::Site;

/// How many connections are kept for the next reads.
const KEPT: usize = 4;
/// The clock of the file system may stand still for this long: a file that was changed since may be
/// changed again without a trace.
const TICK: Duration = Duration::from_millis(20);

/// What a database looks like from outside while nobody changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) identity: Identity,
    len: u64,
    modified: SystemTime,
    wal: bool,
}

impl Stamp {
    /// How the database looks now; `None` if it is gone.
    pub(crate) fn of(site: &Site) -> Result<Option<Self>> {
        let seen = fs::symlink_metadata(site.path()).and_then(|meta| Ok((meta.modified()?, meta)));
        let (modified, meta) = match seen {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            seen => seen.map_err(io_failed("look at", site.path()))?,
        };
        Ok(Some(Self {
            identity: Identity::of(&meta),
            len: meta.len(),
            modified,
            wal: site.wal_len()? > 0,
        }))
    }

    /// Whether there is a write-ahead log: then only SQLite's locks tell what is in the database.
    pub(crate) fn is_live(&self) -> bool {
        self.wal
    }

    /// How long the file must stay as it is until its times would tell of a change; `None` if they do.
    pub(crate) fn settles_in(&self) -> Option<Duration> {
        let age = self.modified.elapsed().ok()?;
        TICK.checked_sub(age).filter(|left| !left.is_zero())
    }
}

/// The connections that read.
#[derive(Default)]
pub(crate) struct Readers {
    shared: Mutex<Vec<Locking>>,
    quiet: Mutex<Vec<(Stamp, Quiet)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Readers {
    /// Reads beside writers.
    pub(crate) fn shared<T>(
        &self,
        site: &Site,
        presence: &Arc<Presence>,
        timeout: Duration,
        read: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        let kept = lock(&self.shared).pop();
        let conn = match kept {
            Some(conn) => conn,
            None => presence.locking(|| connect::reader(site.path(), timeout))?,
        };
        let out = transaction(&conn, read)?;
        let mut kept = lock(&self.shared);
        if kept.len() < KEPT {
            kept.push(conn);
        }
        Ok(out)
    }

    /// Reads a file that nobody changes. `None` if somebody did after all.
    pub(crate) fn quiet<T>(
        &self,
        site: &Site,
        presence: &Arc<Presence>,
        stamp: Stamp,
        read: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<Option<T>> {
        let kept = {
            let mut all = lock(&self.quiet);
            all.retain(|(known, _)| *known == stamp);
            all.pop()
        };
        let quiet = match kept {
            Some((_, quiet)) => quiet,
            None => Quiet::new(connect::quiet(site.path())?, Arc::clone(presence)),
        };
        let conn = quiet
            .conn()
            .ok_or_else(|| Error::internal("a connection was closed while it was read from"))?;
        let out = transaction(conn, read);
        if Stamp::of(site)? != Some(stamp) || presence.is_locked() {
            return Ok(None);
        }
        let out = out?;
        let mut all = lock(&self.quiet);
        if all.len() < KEPT {
            all.push((stamp, quiet));
        }
        Ok(Some(out))
    }

    /// Closes the connections that take the file for immutable, once somebody writes.
    pub(crate) fn forget_quiet(&self) {
        lock(&self.quiet).clear();
    }
}

/// One view of the database for all that `read` asks.
fn transaction<T>(conn: &Connection, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
    let view = conn
        .unchecked_transaction()
        .map_err(failed("read", "the database"))?;
    // Dropping it ends it, and there is nothing to keep.
    read(&view)
}
