//! One transaction for everything that waits to be written.

use std::fs;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_timer::Delay;
use rusqlite::config::DbConfig;
use sessionlog_core::{Error, Result};

use crate::desk::{Desk, Job, Outcome, Work};
use crate::doubt;
use crate::fault::{Kind, failed, kind};
use crate::store::Inner;

/// How many free pages are given back to the file system behind a delete; the rest is left to
/// `compact`.
const VACUUM_PAGES: u32 = 4096;

/// The connection that writes, with the write lock of the database. Whatever way this ends, no
/// transaction stays open.
pub(crate) struct Held<'a> {
    inner: &'a Inner,
    desk: Option<Box<Desk>>,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(mut desk) = self.desk.take()
            && roll_back(&mut desk)
            && !desk.poisoned
        {
            self.inner.put_desk(desk);
        }
    }
}

/// Ends a transaction, if there is one, without a trace. `false` if that did not work: then the
/// connection is closed.
fn roll_back(desk: &mut Desk) -> bool {
    if desk.conn.is_autocommit() {
        return true;
    }
    desk.forget();
    drop(desk.conn.execute_batch("ROLLBACK"));
    desk.conn.is_autocommit()
}

fn run(desk: &Desk, sql: &str) -> rusqlite::Result<()> {
    desk.conn.prepare_cached(sql)?.execute([]).map(drop)
}

impl<'a> Held<'a> {
    /// Waits for the write lock, without blocking a thread.
    pub(crate) async fn begin(inner: &'a Inner) -> Result<Self> {
        let timeout = inner.options.busy_timeout;
        let deadline = Instant::now() + timeout;
        let mut held = Self {
            inner,
            desk: Some(inner.take_desk()?),
        };
        let mut pause = Duration::from_micros(200);
        while !held.try_begin()? {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::unavailable(format!(
                    "another process has the write lock of the database for longer than the busy \
                     timeout of {} ms, try again",
                    timeout.as_millis()
                )));
            }
            Delay::new(pause.min(left)).await;
            pause = (pause * 2).min(Duration::from_millis(10));
        }
        Ok(held)
    }

    fn try_begin(&mut self) -> Result<bool> {
        let Some(desk) = self.desk.as_mut() else {
            return Err(closed());
        };
        match run(desk, "BEGIN IMMEDIATE") {
            Ok(()) => {
                desk.notice()?;
                doubt::settle(&self.inner.site, desk.conn.presence())?;
                Ok(true)
            }
            Err(error) if kind(&error) == Kind::Busy => Ok(false),
            Err(error) => {
                // It may go on to refuse when others would not.
                desk.poisoned = true;
                Err(self.inner.site.not_begun(&desk.conn, error))
            }
        }
    }

    /// Does all jobs in one transaction. One that fails takes no other with it.
    pub(crate) fn commit(mut self, jobs: Vec<Job>) -> Vec<Result<Outcome>> {
        let count = jobs.len();
        let committed = match self.desk.as_mut() {
            Some(desk) => do_all(desk, jobs),
            None => Err(closed()),
        };
        match committed {
            Ok(done) => {
                if done.wrote {
                    self.after(done.erased, &done.remove);
                }
                done.outcomes
            }
            // Nothing of it happened, so no answer that was found on the way holds.
            Err(error) => (0..count).map(|_| Err(error.clone())).collect(),
        }
    }

    pub(crate) fn desk(&self) -> Option<&Desk> {
        self.desk.as_deref()
    }

    /// Gives the write lock back and does what no transaction can have around it, waiting for others
    /// for as long as the busy timeout.
    pub(crate) fn outside<T>(&mut self, job: impl FnOnce(&mut Desk) -> Result<T>) -> Result<T> {
        let timeout = self.inner.options.busy_timeout;
        let Some(desk) = self.desk.as_mut() else {
            return Err(closed());
        };
        if !roll_back(desk) {
            return Err(closed());
        }
        let wait = |desk: &Desk, time| {
            let set = desk.conn.busy_timeout(time);
            set.map_err(failed("wait", "the database"))
        };
        wait(desk, timeout)?;
        let done = job(desk);
        wait(desk, Duration::ZERO)?;
        done
    }

    /// What is done once a transaction is committed: none of it can undo that.
    fn after(&mut self, erased: bool, remove: &[std::path::PathBuf]) {
        remove.iter().for_each(|path| drop(fs::remove_file(path)));
        let Some(desk) = self.desk.as_mut() else {
            return;
        };
        if erased {
            self.inner.erase.store(true, Ordering::Relaxed);
            drop(vacuum(desk, VACUUM_PAGES));
        }
        if self.inner.erase.swap(false, Ordering::Relaxed) && !checkpoint(desk).unwrap_or(false) {
            self.inner.erase.store(true, Ordering::Relaxed);
        }
        // The next reader finds its place in the shared memory, and need not write there (G16).
        drop(desk.notice());
        desk.conn.presence().bell.notify(usize::MAX);
    }
}

fn closed() -> Error {
    Error::internal("the connection was closed in the middle of a commit")
}

struct Done {
    outcomes: Vec<Result<Outcome>>,
    wrote: bool,
    erased: bool,
    remove: Vec<std::path::PathBuf>,
}

fn do_all(desk: &mut Desk, jobs: Vec<Job>) -> Result<Done> {
    let several = jobs.len() > 1;
    let mut done = Done {
        outcomes: Vec::with_capacity(jobs.len()),
        wrote: false,
        erased: false,
        remove: Vec::new(),
    };
    for job in jobs {
        let begun = if several {
            run(desk, "SAVEPOINT job")
        } else {
            Ok(())
        };
        begun.map_err(failed("write", "the database"))?;
        let mut work = Work::new(desk);
        let outcome = job(&mut work);
        let Work {
            wrote,
            erased,
            remove,
            ..
        } = work;
        match &outcome {
            Ok(_) => {
                done.wrote |= wrote;
                done.erased |= erased;
                done.remove.extend(remove);
                let released = if several {
                    run(desk, "RELEASE job")
                } else {
                    Ok(())
                };
                released.map_err(failed("write", "the database"))?;
            }
            Err(error) => undo(desk, several, wrote, error)?,
        }
        done.outcomes.push(outcome);
    }
    if done.wrote {
        finish(desk)?;
    } else if !roll_back(desk) {
        return Err(closed());
    }
    Ok(done)
}

/// Undoes one job. An error means that the whole transaction is lost.
fn undo(desk: &mut Desk, several: bool, wrote: bool, error: &Error) -> Result<()> {
    if desk.conn.is_autocommit() {
        // SQLite itself gave the transaction up: the disk is full, say.
        desk.forget();
        return Err(error.clone());
    }
    if wrote {
        desk.forget();
    }
    if several {
        run(desk, "ROLLBACK TO job")
            .and_then(|()| run(desk, "RELEASE job"))
            .map_err(failed("write", "the database"))?;
    }
    Ok(())
}

/// Commits. After an error it is known, where it can be, that nothing of the transaction remains.
fn finish(desk: &mut Desk) -> Result<()> {
    let Err(error) = run(desk, "COMMIT") else {
        return Ok(());
    };
    Err(uncommitted(desk, error, failed("commit", "the database")))
}

/// The error of a commit that failed, behind which nothing of the transaction remains, where that can be
/// made sure of.
pub(crate) fn uncommitted(
    desk: &mut Desk,
    error: rusqlite::Error,
    told: impl FnOnce(rusqlite::Error) -> Error,
) -> Error {
    let what = kind(&error);
    desk.forget();
    if !roll_back(desk) {
        give_up(desk);
        return Error::indeterminate("the commit failed, and undoing it too").with_source(error);
    }
    // With a full disk or a lock the last frame, which makes the transaction valid, was not written.
    // Else it may have been, and would be found after a crash: until something is put over it.
    if matches!(what, Kind::Busy | Kind::Full) || settle(desk).is_ok() {
        return match what {
            Kind::Busy | Kind::Full | Kind::Forbidden | Kind::Io => told(error),
            Kind::Damaged | Kind::Row => Error::unavailable("can't commit").with_source(error),
        };
    }
    give_up(desk);
    Error::indeterminate("the commit failed, and may be found after a crash").with_source(error)
}

/// Leaves a connection whose commit can be neither proved nor settled. It must not copy what is in the log
/// into the database when it is closed, and take the log away.
fn give_up(desk: &mut Desk) {
    desk.poisoned = true;
    desk.conn.presence().doubt();
    drop(
        desk.conn
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
    );
}

/// A small commit in the place of one that failed.
fn settle(desk: &mut Desk) -> rusqlite::Result<()> {
    run(desk, "BEGIN IMMEDIATE")?;
    let settled =
        run(desk, "UPDATE store SET settled = settled + 1").and_then(|()| run(desk, "COMMIT"));
    if settled.is_err() {
        roll_back(desk);
    }
    settled
}

/// Gives up to `pages` free pages back to the file system.
pub(crate) fn vacuum(desk: &Desk, pages: u32) -> rusqlite::Result<()> {
    let mut statement = desk
        .conn
        .prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// Copies the write-ahead log into the database and cuts it to nothing. `false` if readers are in the
/// way.
pub(crate) fn checkpoint(desk: &Desk) -> rusqlite::Result<bool> {
    let busy: i64 = desk
        .conn
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    Ok(busy == 0)
}

#[cfg(test)]
mod tests;
