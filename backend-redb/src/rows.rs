//! Event rows, copied out of the database many at a time: one allocation for all their payloads.

use std::cmp::Ordering;
use std::ops::Range;

use bytes::Bytes;
use redb::{AccessGuard, Key, ReadableTable, Value};
use sessionlog_core::{Error, Event, Kinds, Place, Result, SeqNum, SessionId};

use crate::failure::{FILE, failed};
use crate::format::{Raw, decode_event};

/// Bytes in a chunk, unless a single event has more.
const BYTES: usize = 256 << 10;
/// Events in a chunk.
const EVENTS: usize = 4096;

/// Some rows of one session, in order.
pub(crate) struct Rows {
    bytes: Bytes,
    /// The position of each row, and where it ends in `bytes`.
    ends: Vec<(SeqNum, usize)>,
}

impl Rows {
    /// Copies the first rows of a range.
    pub(crate) fn collect(
        table: &impl ReadableTable<(u64, u64), Raw>,
        number: u64,
        range: Range<SeqNum>,
    ) -> Result<Self> {
        let what = "read events";
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        let keys = (number, range.start.get())..(number, range.end.get());
        let entries = if range.start < range.end {
            Some(table.range(keys).map_err(failed(what))?)
        } else {
            None
        };
        let mut next = range.start;
        for entry in entries.into_iter().flatten() {
            let (key, value) = entry.map_err(failed(what))?;
            let (of, seq) = key.value();
            let seq = SeqNum::new(seq);
            // As `ascending`, but without a copy of each key.
            if of != number || !(next..range.end).contains(&seq) {
                return Err(disorder(what));
            }
            next = seq.plus(1);
            let value = value.value();
            if bytes.is_empty() {
                bytes.reserve(BYTES.max(value.len()));
            } else if bytes.len() + value.len() > BYTES {
                break;
            }
            bytes.extend_from_slice(value);
            ends.push((seq, bytes.len()));
            if ends.len() >= EVENTS {
                break;
            }
        }
        Ok(Self {
            bytes: bytes.into(),
            ends,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The position behind the last row.
    pub(crate) fn end(&self) -> SeqNum {
        self.ends
            .last()
            .map_or(SeqNum::ZERO, |(seq, _)| seq.plus(1))
    }

    /// The rows as they are.
    pub(crate) fn raw(&self) -> impl Iterator<Item = (SeqNum, Bytes)> {
        self.places().map(|(seq, at)| (seq, self.bytes.slice(at)))
    }

    /// The rows as events; the position of a row that is none.
    pub(crate) fn decode(
        &self,
        kinds: &mut Kinds,
    ) -> impl Iterator<Item = std::result::Result<Event, SeqNum>> {
        self.places()
            .map(|(seq, at)| decode_event(&self.bytes, at, seq, kinds).ok_or(seq))
    }

    fn places(&self) -> impl Iterator<Item = (SeqNum, Range<usize>)> {
        let mut start = 0;
        self.ends
            .iter()
            .map(move |(seq, end)| (*seq, std::mem::replace(&mut start, *end)..*end))
    }
}

/// The entries of a table, as long as their keys ascend. On damaged pages a walk may come to the same
/// rows again and again, and never to an end.
pub(crate) fn ascending<'a, K: Key + 'static, V: Value + 'static>(
    entries: impl Iterator<Item = Stored<'a, K, V>>,
    what: &'static str,
) -> impl Iterator<Item = Result<(AccessGuard<'a, K>, AccessGuard<'a, V>)>> {
    ordered(entries, Ordering::Less, what)
}

/// The same from the end of a table.
pub(crate) fn descending<'a, K: Key + 'static, V: Value + 'static>(
    entries: impl Iterator<Item = Stored<'a, K, V>>,
    what: &'static str,
) -> impl Iterator<Item = Result<(AccessGuard<'a, K>, AccessGuard<'a, V>)>> {
    ordered(entries, Ordering::Greater, what)
}

/// An entry as redb gives it.
type Stored<'a, K, V> =
    std::result::Result<(AccessGuard<'a, K>, AccessGuard<'a, V>), redb::StorageError>;

fn ordered<'a, K: Key + 'static, V: Value + 'static>(
    entries: impl Iterator<Item = Stored<'a, K, V>>,
    order: Ordering,
    what: &'static str,
) -> impl Iterator<Item = Result<(AccessGuard<'a, K>, AccessGuard<'a, V>)>> {
    let mut before: Option<Vec<u8>> = None;
    entries.map(move |entry| {
        let (key, value) = entry.map_err(failed(what))?;
        let bytes = K::as_bytes(&key.value()).as_ref().to_vec();
        let fits = before
            .as_deref()
            .is_none_or(|before| K::compare(before, &bytes) == order);
        before = Some(bytes);
        if fits {
            Ok((key, value))
        } else {
            Err(disorder(what))
        }
    })
}

/// The error for rows that are not where their keys belong.
pub(crate) fn disorder(what: &str) -> Error {
    Error::corrupt(
        Place::file(FILE),
        format!("can't {what}, the database is damaged: its rows are out of order"),
    )
}

/// The error for a session row that is not what was written.
pub(crate) fn damaged_row(id: &SessionId) -> Error {
    Error::corrupt(
        Place::file(FILE).with_session(id),
        "the row of the session does not match its checksum",
    )
}
