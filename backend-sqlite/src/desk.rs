//! The connection that writes, and what is known of the sessions that it wrote to.

use std::any::Any;
use std::collections::HashMap;
use std::path::PathBuf;

use rusqlite::{Params, Row};
use sessionlog_core::{Error, Ledger, Result, SessionRef};

use crate::event;
use crate::fault::failed;
use crate::presence::Locking;
use crate::session::SessionRow;

/// One thing to write. It may be undone after it ran: then its outcome is dropped.
pub(crate) type Job = Box<dyn FnOnce(&mut Work<'_>) -> Result<Outcome> + Send>;
/// What it came to.
pub(crate) type Outcome = Box<dyn Any + Send>;

/// How many sessions are remembered: each has the ids of its last 4,096 events.
const LIVES: usize = 256;

/// The connection that writes.
pub(crate) struct Desk {
    pub(crate) conn: Locking,
    lives: HashMap<SessionRef, Life>,
    /// SQLite's number for what other connections committed, and ours for how often it changed.
    version: Option<i64>,
    epoch: u64,
    /// A commit failed and could not be settled, or none could be begun: the connection is not used again.
    pub(crate) poisoned: bool,
}

/// What is known of a session from the last write to it.
pub(crate) struct Life {
    pub(crate) row: SessionRow,
    pub(crate) ledger: Ledger,
    epoch: u64,
}

impl Desk {
    pub(crate) fn new(conn: Locking) -> Self {
        Self {
            conn,
            lives: HashMap::new(),
            version: None,
            epoch: 0,
            poisoned: false,
        }
    }

    /// Forgets everything: a transaction was undone.
    pub(crate) fn forget(&mut self) {
        self.lives.clear();
    }

    /// Notices whether others wrote since the last transaction.
    pub(crate) fn notice(&mut self) -> Result<()> {
        let version = self
            .conn
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut s| s.query_row([], |row| row.get(0)))
            .map_err(failed("begin to write", "the database"))?;
        if self.version.replace(version) != Some(version) {
            self.epoch += 1;
        }
        Ok(())
    }
}

/// One transaction, from the side of what is written in it.
pub(crate) struct Work<'a> {
    desk: &'a mut Desk,
    /// Something was written.
    pub(crate) wrote: bool,
    /// Content was deleted.
    pub(crate) erased: bool,
    /// Files to remove once the transaction is committed.
    pub(crate) remove: Vec<PathBuf>,
}

impl<'a> Work<'a> {
    pub(crate) fn new(desk: &'a mut Desk) -> Self {
        Self {
            desk,
            wrote: false,
            erased: false,
            remove: Vec::new(),
        }
    }

    pub(crate) fn conn(&self) -> &Locking {
        &self.desk.conn
    }

    /// Takes what is known of a session, as it is in this transaction. What is not given back with
    /// [`keep`](Self::keep) is forgotten.
    pub(crate) fn life(&mut self, session: &SessionRef) -> Result<Life> {
        let known = self.desk.lives.remove(session);
        if let Some(life) = known.as_ref()
            && life.epoch == self.desk.epoch
            && let Some(life) = known
        {
            return Ok(life);
        }
        let conn = &self.desk.conn;
        let row = match SessionRow::find(conn, &session.id)? {
            Some(row) if row.session == *session => row,
            _ => return Err(session.gone()),
        };
        let head = event::head(conn, &row)?;
        let ledger = match known {
            Some(life) if life.row.number == row.number => {
                event::advanced(conn, &row, life.ledger, head)?
            }
            _ => Ledger::new(head),
        };
        Ok(Life {
            row,
            ledger,
            epoch: self.desk.epoch,
        })
    }

    /// Remembers a session as it will be once this transaction is committed.
    pub(crate) fn keep(&mut self, session: SessionRef, life: Life) {
        if self.desk.lives.len() >= LIVES {
            self.desk.lives.clear();
        }
        self.desk.lives.insert(session, life);
    }

    /// Forgets what is known of all sessions: a log was changed other than by an append.
    pub(crate) fn forget(&mut self) {
        self.desk.forget();
    }

    /// Changes rows. Gives how many.
    pub(crate) fn change(&mut self, table: &str, sql: &str, params: impl Params) -> Result<usize> {
        self.wrote = true;
        self.desk
            .conn
            .prepare_cached(sql)
            .and_then(|mut s| s.execute(params))
            .map_err(failed("write", table))
    }

    /// Changes exactly one row.
    pub(crate) fn change_one(&mut self, table: &str, sql: &str, params: impl Params) -> Result<()> {
        match self.change(table, sql, params)? {
            1 => Ok(()),
            n => Err(Error::corrupt(
                sessionlog_core::Place::file(table),
                format!("one row was to be changed, but there are {n}"),
            )),
        }
    }
}

/// One row, if it is there.
pub(crate) fn row<T>(
    conn: &rusqlite::Connection,
    table: &str,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>> {
    let found = conn
        .prepare_cached(sql)
        .and_then(|mut s| s.query_row(params, read));
    match found {
        Ok(row) => Ok(Some(row)),
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
        Err(error) => Err(failed("read", table)(error)),
    }
}
