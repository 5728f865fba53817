//! The table of events: rows that are a log.

use std::ops::Range;

use bytes::Bytes;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};
use sessionlog_core::{
    Data, Error, Event, EventId, Head, Kinds, Ledger, NewEvent, Place, Result, SeqNum, Sum,
    Timestamp, Wanted, span,
};

use crate::desk::{Work, row};
use crate::fault::{disorder, failed};
use crate::schema::{event_key, seq_of};
use crate::session::SessionRow;

/// The name of the table, in messages.
pub(crate) const TABLE: &str = "event";
/// The first chunk of a read ends with the event that makes it this long.
pub(crate) const FIRST_CHUNK: usize = 128 << 10;
/// And the later ones, twice as long each, with the one that makes them this long.
pub(crate) const LARGEST_CHUNK: usize = 256 << 10;
/// And with this many events.
const CHUNK_EVENTS: usize = 4096;

const SELECT: &str = "SELECT key, id, at, kind, top, sum, data FROM event \
                      WHERE key >= ?1 AND key < ?2 ORDER BY key";
const LAST: &str = "SELECT key, last, id, top, sum FROM event \
                    WHERE key >= ?1 AND key < ?2 ORDER BY key DESC LIMIT 1";

/// The keys of a range of positions.
pub(crate) fn keys(number: i64, range: &Range<SeqNum>) -> (i64, i64) {
    let at = |seq: SeqNum| event_key(number, seq.get());
    (at(range.start), at(range.end))
}

/// The error of a row that is not what was written.
pub(crate) fn damaged(of: &SessionRow, seq: SeqNum, why: &str) -> Error {
    let place = Place::file(TABLE).with_session(&of.session.id);
    Error::corrupt(place.with_seq(seq), why)
}

fn id(value: ValueRef<'_>) -> Option<EventId> {
    let bytes = value.as_blob().ok()?.try_into().ok()?;
    Some(EventId::from_bytes(bytes))
}

fn top(value: ValueRef<'_>) -> Option<Option<EventId>> {
    match value {
        ValueRef::Null => Some(None),
        other => id(other).map(Some),
    }
}

fn sum(value: ValueRef<'_>) -> Option<Sum> {
    Some(Sum::from_u64(value.as_i64().ok()?.cast_unsigned()))
}

/// A row without its payload.
pub(crate) fn envelope(row: &Row<'_>, kinds: &mut Kinds) -> Option<Event> {
    let column = |n| row.get_ref(n).ok();
    let seq = SeqNum::new(seq_of(column(0)?.as_i64().ok()?));
    let event = NewEvent {
        id: id(column(1)?)?,
        at: Timestamp::from_micros(column(2)?.as_i64().ok()?)?,
        kind: kinds.intern(column(3)?.as_bytes().ok()?)?,
        data: Data::from_stored(Bytes::new()),
    };
    Some(Event::stored(
        seq,
        event,
        top(column(4)?)?,
        sum(column(5)?)?,
    ))
}

/// The payload of a row.
pub(crate) fn payload<'a>(row: &'a Row<'_>) -> Option<&'a [u8]> {
    row.get_ref(6).ok()?.as_blob().ok()
}

/// The first events of a range, as many as make a chunk. Their payloads are slices of one buffer.
pub(crate) fn chunk(
    conn: &Connection,
    of: &SessionRow,
    range: &Range<SeqNum>,
    most: usize,
    kinds: &mut Kinds,
) -> Result<Vec<Event>> {
    let (from, to) = keys(of.number, range);
    let next = |events: &[Event]| events.last().map_or(range.start, |e| e.seq.plus(1));
    let fault = |events: &[Event]| {
        let place = Place::file(TABLE).with_session(&of.session.id);
        let place = place.with_seq(next(events));
        move |error: rusqlite::Error| match failed("read the log", TABLE)(error) {
            error if error.is_corrupt() => {
                Error::corrupt(place, error.message().to_owned()).with_source(error)
            }
            error => error,
        }
    };
    let mut events: Vec<Event> = Vec::new();
    let mut ends: Vec<usize> = Vec::new();
    let mut bytes: Vec<u8> = Vec::new();
    let mut statement = conn.prepare_cached(SELECT).map_err(fault(&events))?;
    let mut rows = statement.query([from, to]).map_err(fault(&events))?;
    while let Some(row) = rows.next().map_err(|e| fault(&events)(e))? {
        let Some((event, data)) = envelope(row, kinds).zip(payload(row)) else {
            let why = "the event's row is not what was written";
            return Err(damaged(of, next(&events), why));
        };
        if event.seq < next(&events) {
            return Err(fault(&events)(disorder()));
        }
        if events.is_empty() {
            let wanted = usize::try_from(span(range)).unwrap_or(usize::MAX);
            let each = data.len().saturating_add(64);
            let estimate = wanted.saturating_mul(each);
            let estimate = estimate.min(most.saturating_add(each));
            bytes.reserve(estimate);
            events.reserve(wanted.min(estimate / each + 8));
            ends.reserve(events.capacity());
        }
        bytes.extend_from_slice(data);
        events.push(event);
        ends.push(bytes.len());
        if bytes.len() >= most || events.len() >= CHUNK_EVENTS {
            break;
        }
    }
    let bytes = Bytes::from(bytes);
    let mut start = 0;
    for (event, end) in events.iter_mut().zip(ends) {
        event.data = Data::from_stored(bytes.slice(start..end));
        start = end;
    }
    Ok(events)
}

/// The end of a log: its last row, which says that it is the last.
pub(crate) fn head(conn: &Connection, of: &SessionRow) -> Result<Head> {
    let (from, to) = keys(of.number, &SeqNum::all());
    let read = |row: &Row<'_>| {
        let seq = SeqNum::new(seq_of(row.get(0)?));
        let found = || {
            let id = id(row.get_ref(2).ok()?)?;
            Some(Head::new(
                seq.plus(1),
                sum(row.get_ref(4).ok()?)?,
                top(row.get_ref(3).ok()?)?.unwrap_or(id),
            ))
        };
        Ok((seq, row.get_ref(1)? == ValueRef::Integer(1), found()))
    };
    match (row(conn, TABLE, LAST, [from, to], read)?, of.begun) {
        (None, false) => Ok(Head::genesis(&of.session.id, of.session.incarnation)),
        (None, true) => Err(damaged(of, SeqNum::ZERO, "the log has lost its events")),
        (Some((_, true, Some(head))), true) => Ok(head),
        (Some((seq, true, _)), _) => {
            Err(damaged(of, seq, "the event's row is not what was written"))
        }
        (Some((seq, false, _)), _) => Err(damaged(
            of,
            seq.plus(1),
            "the events at the end of the log are lost",
        )),
    }
}

/// A ledger moved to the end of the log, where others appended.
pub(crate) fn advanced(
    conn: &Connection,
    of: &SessionRow,
    mut ledger: Ledger,
    head: Head,
) -> Result<Ledger> {
    const FEW: u64 = 1024;
    let before = ledger.head();
    if before == head {
        return Ok(ledger);
    }
    let behind = before.tail..head.tail;
    if head.tail < before.tail || span(&behind) > FEW {
        return Ok(Ledger::new(head));
    }
    let (from, to) = keys(of.number, &behind);
    let mut statement = conn
        .prepare_cached(SELECT)
        .map_err(failed("read the log", TABLE))?;
    let mut rows = statement
        .query([from, to])
        .map_err(failed("read the log", TABLE))?;
    let mut kinds = Kinds::default();
    while let Some(row) = rows.next().map_err(failed("read the log", TABLE))? {
        match envelope(row, &mut kinds) {
            Some(event) if event.seq == ledger.head().tail => ledger.advance(&event),
            _ => return Ok(Ledger::new(head)),
        }
    }
    if ledger.head() == head {
        Ok(ledger)
    } else {
        Ok(Ledger::new(head))
    }
}

/// The stored events that a ledger wants to see.
pub(crate) fn wanted(conn: &Connection, of: &SessionRow, wanted: &Wanted) -> Result<Vec<Event>> {
    let (from, to) = keys(of.number, &wanted.range);
    let mut statement = conn
        .prepare_cached(SELECT)
        .map_err(failed("read the log", TABLE))?;
    let mut rows = statement
        .query([from, to])
        .map_err(failed("read the log", TABLE))?;
    let mut kinds = Kinds::default();
    let mut found = Vec::new();
    let mut next = wanted.range.start;
    while let Some(row) = rows.next().map_err(failed("read the log", TABLE))? {
        let Some(mut event) = envelope(row, &mut kinds) else {
            return Err(damaged(of, next, "the event's row is not what was written"));
        };
        next = event.seq.plus(1);
        if wanted.matches(&event) {
            let Some(data) = payload(row) else {
                return Err(damaged(
                    of,
                    event.seq,
                    "the event's row is not what was written",
                ));
            };
            event.data = Data::from_stored(Bytes::copy_from_slice(data));
            found.push(event);
        }
    }
    Ok(found)
}

/// Writes events behind the end of a log.
pub(crate) fn write(work: &mut Work<'_>, row: &mut SessionRow, sealed: &[Event]) -> Result<()> {
    let Some(first) = sealed.first() else {
        return Ok(());
    };
    if row.begun {
        let before = event_key(row.number, first.seq.minus(1).get());
        work.change_one(TABLE, "UPDATE event SET last = 0 WHERE key = ?1", [before])?;
    } else {
        row.begun = true;
        row.update(work)?;
    }
    for (event, left) in sealed.iter().zip((0..sealed.len()).rev()) {
        insert(work, row.number, event, left == 0)?;
    }
    Ok(())
}

/// Writes one row.
pub(crate) fn insert(work: &mut Work<'_>, number: i64, event: &Event, last: bool) -> Result<()> {
    let key = event_key(number, event.seq.get());
    if seq_of(key) != event.seq.get() {
        return Err(Error::invalid(
            "the log is full, continue in another session",
        ));
    }
    work.change_one(
        TABLE,
        "INSERT INTO event (key, last, id, at, kind, top, sum, data) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            key,
            last,
            event.id.as_bytes(),
            event.at.as_micros(),
            event.kind.as_str(),
            event.top.as_ref().map(EventId::as_bytes),
            event.sum.as_u64().cast_signed(),
            event.data.as_bytes(),
        ],
    )
}
