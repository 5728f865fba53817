//! Reading a range, a chunk at a time.

use std::sync::Arc;

use bytes::Bytes;
use sessionlog_core::{Error, Event, Kinds, Result, SeqNum};

use crate::format::{Due, scan};
use crate::life::Life;
use sessionlog_local::files::{failed, narrow, read_at, wide};

/// How much is read first, so that a short slice costs little.
const FIRST: u64 = 32 << 10;
/// How much is read later: it stays within the cache of a core.
const CHUNK: u64 = 256 << 10;
/// A buffer that had to be larger than this is not used again.
const MOST: usize = 256 << 10;

/// Reads lines from one place of a log to another.
///
/// Payloads are handed out as slices of the chunk that was read. When all of them have been dropped
/// by the time of the next chunk, its memory is used again.
pub(crate) struct Reader {
    offset: u64,
    /// Where the last whole commit ends.
    limit: u64,
    /// The position that comes next, once known.
    next: Option<SeqNum>,
    until: SeqNum,
    /// What follows within a commit, once known.
    due: Option<Due>,
    size: u64,
    kinds: Kinds,
    last: Option<Bytes>,
}

impl Reader {
    /// Reads from the line at `offset`, which is event `next` if that is known, up to position
    /// `until` or the byte `limit`.
    pub(crate) fn at(offset: u64, next: Option<SeqNum>, until: SeqNum, limit: u64) -> Self {
        Self {
            offset,
            limit,
            next,
            until,
            due: None,
            size: FIRST,
            kinds: Kinds::default(),
            last: None,
        }
    }

    /// The next events; `None` at the end.
    pub(crate) fn chunk(&mut self, life: &Life) -> Result<Option<Vec<Event>>> {
        if self.offset >= self.limit || self.next.is_some_and(|next| next >= self.until) {
            return Ok(None);
        }
        let (bytes, len) = self.fill(life)?;
        let mut events = Vec::with_capacity(len / 512 + 1);
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', bytes.get(..len).unwrap_or_default()) {
            let event = match scan(&bytes, start..end, &mut self.kinds) {
                Some(line) if self.next.is_some_and(|next| next != line.event.seq) => {
                    let what = format!("event {} stands here instead", line.event.seq);
                    return self.stop(life, start, &what, events);
                }
                Some(line) if !Due::allows(self.due, line.part) => {
                    let what = "the event does not belong to the commit that it names";
                    return self.stop(life, start, what, events);
                }
                Some(line) => {
                    self.due = Some(Due::behind(line.part));
                    line.event
                }
                None => return self.stop(life, start, "the line is not an event", events),
            };
            if event.seq >= self.until {
                self.offset = self.limit;
                return Ok(Some(events));
            }
            self.next = Some(event.seq.plus(1));
            events.push(event);
            start = end + 1;
        }
        self.offset += wide(len);
        self.last = Some(bytes);
        Ok(Some(events))
    }

    /// Hands out what came before a damaged line; the damage comes next.
    fn stop(
        &mut self,
        life: &Life,
        start: usize,
        what: &str,
        events: Vec<Event>,
    ) -> Result<Option<Vec<Event>>> {
        self.offset += wide(start);
        if events.is_empty() {
            let place = life
                .place(self.next.unwrap_or_default())
                .with_offset(self.offset);
            self.offset = self.limit;
            return Err(Error::corrupt(place, what));
        }
        Ok(Some(events))
    }

    /// Reads whole lines: a buffer, and how much of it they take.
    fn fill(&mut self, life: &Life) -> Result<(Bytes, usize)> {
        let unread = || failed("read", &life.events);
        loop {
            let want = self.size.min(self.limit - self.offset);
            let mut buffer = self.buffer(narrow(want).map_err(unread())?);
            let read = read_at(&life.file, &mut buffer, self.offset).map_err(unread())?;
            let filled = buffer.get(..read).unwrap_or_default();
            let newline = memchr::memrchr(b'\n', filled);
            match newline {
                Some(newline) => {
                    self.size = CHUNK;
                    return Ok((buffer.into(), newline + 1));
                }
                None if wide(read) < want || self.offset + want >= self.limit => {
                    let place = life
                        .place(self.next.unwrap_or_default())
                        .with_offset(self.offset);
                    return Err(Error::corrupt(place, "the log was cut while it was read"));
                }
                None => self.size = self.size.saturating_mul(2),
            }
        }
    }

    /// A buffer of `len` bytes: that of the chunk before, if nobody holds a part of it any more.
    fn buffer(&mut self, len: usize) -> Vec<u8> {
        match self.last.take() {
            Some(last) if (len..=MOST).contains(&last.len()) && last.is_unique() => {
                let mut buffer = Vec::from(last);
                buffer.truncate(len);
                buffer
            }
            _ => vec![0; len],
        }
    }
}

/// A range that is being read: opened when it is first polled.
pub(crate) struct Slice {
    life: Arc<Life>,
    reader: Reader,
    /// The damage that the log ends with, if the range reaches it.
    fault: Option<Error>,
}

impl Slice {
    /// The events of a range, as far as they are there now.
    pub(crate) fn open(life: Arc<Life>, range: &std::ops::Range<SeqNum>) -> Result<Self> {
        let (end, fault) = life.look()?;
        let until = range.end.min(end.head.tail);
        let offset = if range.start < until {
            life.locate(range.start, end)?
        } else {
            end.offset
        };
        let reader = Reader::at(offset, Some(range.start), until, end.offset);
        Ok(Self {
            life,
            reader,
            fault: fault.filter(|_| range.end > end.head.tail && range.start < range.end),
        })
    }

    /// The next events; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<Result<Vec<Event>>> {
        match self.reader.chunk(&self.life) {
            Ok(Some(events)) => Some(Ok(events)),
            Ok(None) => self.fault.take().map(Err),
            Err(error) => {
                self.fault = None;
                Some(Err(error))
            }
        }
    }
}
