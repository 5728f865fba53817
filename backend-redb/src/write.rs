//! One write transaction, and what the jobs in it share.

use std::collections::HashMap;
use std::ops::Bound;

use redb::{ReadableTable, Table, WriteTransaction};
use sessionlog_core::{
    Error, Event, Head, Kinds, Ledger, Limits, Place, Result, SeqNum, SessionRef, Wanted, span,
};

use crate::failure::{FILE, failed};
use crate::format::{EVENTS, NEXT, NUMBERS, Raw, Row, SESSIONS, encode_event};
use crate::locks::Locks;
use crate::rows::{Rows, damaged_row};

/// Ledgers by session number, of sessions that were appended to.
pub(crate) type Ledgers = HashMap<u64, (SessionRef, Ledger)>;

/// A ledger may be brought up to date by this many events before a new one is cheaper.
const CATCH_UP: u64 = 4096;
/// So many events are written by a cursor.
const MANY: usize = 64;
/// So many sessions are remembered.
const LEDGERS: usize = 1024;

/// A write transaction with its most used tables open.
///
/// A job that fails must not have written: it looks first. If writing itself fails, nothing of the
/// transaction is committed.
pub(crate) struct Write<'t> {
    pub(crate) txn: &'t WriteTransaction,
    pub(crate) sessions: Table<'t, Raw, Raw>,
    pub(crate) events: Table<'t, (u64, u64), Raw>,
    ledgers: &'t mut Ledgers,
    pub(crate) limits: Limits,
    pub(crate) locks: &'t Locks,
    /// Whether there is something to commit.
    pub(crate) dirty: bool,
    /// Why nothing can be committed.
    pub(crate) broken: Option<Error>,
    buffer: Vec<u8>,
}

impl<'t> Write<'t> {
    pub(crate) fn new(
        txn: &'t WriteTransaction,
        ledgers: &'t mut Ledgers,
        limits: Limits,
        locks: &'t Locks,
    ) -> Result<Self> {
        Ok(Self {
            sessions: txn.open_table(SESSIONS).map_err(failed("write"))?,
            events: txn.open_table(EVENTS).map_err(failed("write"))?,
            txn,
            ledgers,
            limits,
            locks,
            dirty: false,
            broken: None,
            buffer: Vec::new(),
        })
    }

    /// Notes that writing failed.
    pub(crate) fn wrote<T, E: Into<redb::Error>>(
        &mut self,
        outcome: std::result::Result<T, E>,
    ) -> Result<T> {
        self.dirty = true;
        outcome.map_err(|e| {
            let error = failed("write")(e);
            self.broken = Some(error.clone());
            error
        })
    }

    /// The row of a session's life.
    pub(crate) fn life(&self, session: &SessionRef) -> Result<Row> {
        let row = self
            .sessions
            .get(session.id.as_str().as_bytes())
            .map_err(failed("read the session"))?
            .ok_or_else(|| session.gone())?;
        let row = Row::decode(&session.id, row.value()).ok_or_else(|| damaged_row(&session.id))?;
        if row.incarnation == session.incarnation {
            Ok(row)
        } else {
            Err(session.gone())
        }
    }

    pub(crate) fn put_row(&mut self, session: &SessionRef, row: &Row) -> Result<()> {
        let bytes = row.encode(&session.id);
        let key = session.id.as_str().as_bytes();
        let put = self.sessions.insert(key, bytes.as_slice()).map(drop);
        self.wrote(put)
    }

    /// A number that no session and no upload had before.
    pub(crate) fn next_number(&mut self) -> Result<u64> {
        let outcome = (|| {
            let mut numbers = self.txn.open_table(NUMBERS)?;
            let next = numbers.get(NEXT)?.map_or(1, |n| n.value());
            numbers.insert(NEXT, next.saturating_add(1))?;
            Ok::<_, redb::Error>(next)
        })();
        self.wrote(outcome)
    }

    /// Writes events behind each other.
    pub(crate) fn put_events(&mut self, number: u64, events: &[Event]) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        // A cursor is faster, but leaves the page that it ends in half empty.
        let outcome = if events.len() < MANY {
            self.put_few(number, events, &mut buffer)
        } else {
            self.put_many(number, events, &mut buffer)
        };
        self.buffer = buffer;
        let overwrote = self.wrote(outcome)?;
        if overwrote {
            let error = Error::corrupt(
                Place::file(FILE),
                "there are events behind the end of the log",
            );
            self.broken = Some(error.clone());
            return Err(error);
        }
        Ok(())
    }

    fn put_few(
        &mut self,
        number: u64,
        events: &[Event],
        buffer: &mut Vec<u8>,
    ) -> std::result::Result<bool, redb::Error> {
        let mut overwrote = false;
        for event in events {
            encode_event(buffer, event);
            let key = (number, event.seq.get());
            overwrote |= self.events.insert(key, buffer.as_slice())?.is_some();
        }
        Ok(overwrote)
    }

    fn put_many(
        &mut self,
        number: u64,
        events: &[Event],
        buffer: &mut Vec<u8>,
    ) -> std::result::Result<bool, redb::Error> {
        let Some(first) = events.first() else {
            return Ok(false);
        };
        let start = Bound::Excluded((number, first.seq.get()));
        let mut cursor = self.events.lower_bound_mut(start)?;
        for event in events {
            encode_event(buffer, event);
            match cursor.insert_before((number, event.seq.get()), buffer.as_slice()) {
                Err(redb::CursorError::UnorderedKey) => return Ok(true),
                inserted => inserted?,
            }
        }
        cursor.close()?;
        Ok(false)
    }

    /// The ledger of a session, at the end of its log.
    pub(crate) fn ledger(&mut self, session: &SessionRef, row: &Row) -> Result<Ledger> {
        if let Some((life, mut ledger)) = self.ledgers.remove(&row.number)
            && life == *session
        {
            let behind = span(&(ledger.head().tail..row.head.tail));
            if behind > 0 && behind <= CATCH_UP {
                let mut head = ledger.head();
                self.each(row.number, head.tail..row.head.tail, |event| {
                    head.verify(&session.id, &event)?;
                    ledger.advance(&event);
                    Ok(())
                })?;
            }
            if ledger.head() == row.head {
                return Ok(ledger);
            }
        }
        Ok(Ledger::new(row.head))
    }

    /// Keeps a ledger for the next append.
    pub(crate) fn keep(&mut self, session: &SessionRef, row: &Row, ledger: Ledger) {
        if self.ledgers.len() >= LEDGERS {
            self.ledgers.clear();
        }
        self.ledgers.insert(row.number, (session.clone(), ledger));
    }

    /// The stored events that a ledger wants to see.
    pub(crate) fn find(
        &self,
        session: &SessionRef,
        row: &Row,
        wanted: &Wanted,
    ) -> Result<Vec<Event>> {
        let mut found = Vec::new();
        let mut head: Option<Head> = (wanted.range.start == SeqNum::ZERO)
            .then(|| Head::genesis(&session.id, session.incarnation));
        self.each(row.number, wanted.range.clone(), |event| {
            // An id may come from a damaged row: what is unlike its checksum settles nothing.
            match &mut head {
                Some(head) => head.verify(&session.id, &event)?,
                None => head = Some(Head::after(&event)),
            }
            if wanted.matches(&event) {
                found.push(event);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Goes through stored events.
    fn each(
        &self,
        number: u64,
        range: std::ops::Range<SeqNum>,
        mut take: impl FnMut(Event) -> Result<()>,
    ) -> Result<()> {
        let mut kinds = Kinds::default();
        let mut next = range.start;
        while next < range.end {
            let rows = Rows::collect(&self.events, number, next..range.end)?;
            if rows.is_empty() {
                break;
            }
            next = rows.end();
            for event in rows.decode(&mut kinds) {
                take(event.map_err(|seq| {
                    Error::corrupt(Place::default().with_seq(seq), "the event is damaged")
                })?)?;
            }
        }
        Ok(())
    }
}
