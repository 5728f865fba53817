//! A commit: what is queued becomes one write and one flush.

use std::fs::File;
use std::ops::Range;

use sessionlog_core::{
    Admission, AppendCondition, Error, ErrorKind, Event, FencingToken, Ledger, NewEvent, Result,
    SeqNum, Wanted,
};

use crate::append_lock::AppendLock;
use crate::flushed::Flushed;
use crate::format::{Envelope, Part, encode};
use crate::life::{Known, Life};
use crate::options::Options;
use crate::read::Reader;
use crate::slots::Slots;
use crate::tail::End;
use crate::torn::Rest;
use crate::write::write;
use sessionlog_local::files::{failed, open_write, wide};

/// What one caller wants to append.
pub(crate) struct Request {
    pub(crate) events: Vec<NewEvent>,
    pub(crate) condition: AppendCondition,
}

/// What whoever holds the append lock works with.
#[derive(Default)]
pub(crate) struct Bench {
    /// The names of the session and of its files are flushed.
    pub(crate) named: bool,
    pub(crate) lock: Option<File>,
    writer: Option<Writer>,
    flushed: Flushed,
    buffer: Vec<u8>,
}

impl Bench {
    /// Whether nothing is known here that another handle would not find in the file.
    pub(crate) fn can_go(&self) -> bool {
        !self.flushed.is_in_doubt()
    }
}

struct Writer {
    file: File,
    ledger: Ledger,
}

/// No more than this is written at once, unless one batch is larger.
const GROUP: usize = 8 << 20;
/// How much of the buffer is kept for the next commit.
const KEEP: usize = 1 << 20;
impl AppendLock<'_> {
    /// Makes durable what a failed write of this handle left in the log: nothing that is acknowledged
    /// may rest on what can be lost.
    pub(crate) fn settle(&mut self, life: &Life) -> Result<()> {
        if self.bench.can_go() {
            return Ok(());
        }
        self.ready(life)
    }

    /// Makes durable what this handle has read of the log and not flushed: a killed process may have
    /// written it.
    pub(crate) fn prove(&mut self, life: &Life) -> Result<()> {
        self.settle(life)?;
        let Some(Known { end, .. }) = life.known() else {
            return Ok(());
        };
        let flushed = &mut self.bench.flushed;
        if flushed.covers(end.offset) {
            return Ok(());
        }
        let file = open_write(&life.events).map_err(failed("open", &life.events))?;
        let secured = flushed.secure(life, &file, end.offset);
        secured.map_err(failed("flush", &life.events))
    }

    /// Writes all requests, in order, and gives an outcome for each.
    pub(crate) fn commit(
        mut self,
        life: &Life,
        options: &Options,
        requests: Vec<Request>,
    ) -> Vec<Result<Range<SeqNum>>> {
        let mut outcomes = Vec::with_capacity(requests.len());
        let mut requests = requests.into_iter().peekable();
        while requests.peek().is_some() {
            if let Err(error) = self.ready(life) {
                outcomes.extend(requests.map(|_| Err(error.clone())));
                return outcomes;
            }
            let mut bytes = 0;
            let round = std::iter::from_fn(|| {
                let events = &requests.peek()?.events;
                let size: usize = events
                    .iter()
                    .map(|e| e.data.len() + Envelope::MAX_LEN)
                    .sum();
                let fits = bytes == 0 || bytes + size <= GROUP;
                bytes += size.max(1);
                if fits { requests.next() } else { None }
            });
            let round = round.collect();
            outcomes.extend(self.round(life, options, round));
        }
        outcomes
    }

    /// Brings the writer up to the end of the file.
    pub(crate) fn ready(&mut self, life: &Life) -> Result<()> {
        let size = life.is_current()?;
        // Looked at once: a reader of this handle goes on without the lock, and without the ledger.
        let known = life.known();
        let behind = |known: Known, ledger: &Ledger| ledger.head() != known.end.head;
        if let (Some(known), Some(writer)) = (known, &self.bench.writer)
            && !behind(known, &writer.ledger)
            && life.unchanged(known, size)?
        {
            return Ok(());
        }
        let (file, ledger) = match self.bench.writer.take() {
            Some(Writer { file, ledger }) => (file, Some(ledger)),
            None => {
                let opened = open_write(&life.events).map_err(failed("write to", &life.events))?;
                (opened, None)
            }
        };
        let mut ledger = known.map(|known| match ledger {
            Some(ledger) if !behind(known, &ledger) => ledger,
            _ => Ledger::new(known.end.head),
        });
        let survey = life.survey(known, size, |event| {
            if let Some(ledger) = &mut ledger {
                ledger.advance(event);
            }
        })?;
        let end = survey.known.end;
        match survey.rest {
            Rest::Damaged { at, what } => return Err(life.damage(end, &survey.bytes, at, what)),
            Rest::Torn => {
                let old = survey.bytes.iter().all(|b| matches!(b, 0 | b'\n'));
                if !old {
                    crate::kept::keep_tail(&life.dir, end, &survey.bytes)?;
                }
                let flushed = &mut self.bench.flushed;
                let cut = flushed.cut(&file, end.offset);
                cut.map_err(failed("cut the torn tail of", &life.events))?;
                life.learn(Known {
                    end,
                    size: end.offset,
                    clean: true,
                });
            }
            Rest::Empty => life.learn(survey.known),
        }
        if !self.bench.can_go() {
            let secured = self.bench.flushed.secure(life, &file, end.offset);
            secured.map_err(failed("flush", &life.events))?;
            life.learn(Known {
                end,
                size: end.offset,
                clean: true,
            });
        }
        let ledger = ledger
            .filter(|_| !survey.jumped)
            .unwrap_or_else(|| Ledger::new(end.head));
        self.bench.writer = Some(Writer { file, ledger });
        Ok(())
    }

    /// One write and one flush.
    fn round(
        &mut self,
        life: &Life,
        options: &Options,
        requests: Vec<Request>,
    ) -> Vec<Result<Range<SeqNum>>> {
        let Bench {
            writer: Some(writer),
            buffer,
            flushed,
            ..
        } = &mut *self.bench
        else {
            return Vec::new();
        };
        let Some(before) = life.known() else {
            return Vec::new();
        };
        let mut newest = None;
        let mut sealed: Vec<Event> = Vec::new();
        let mut outcomes: Vec<_> = requests
            .into_iter()
            .map(|request| writer.admit(life, options, request, &mut newest, &mut sealed))
            .collect();
        // What another process wrote may not be durable: it was killed, or could not flush it. It is about to
        // be acknowledged, or written on behind: a power loss that took it and kept what comes behind would
        // leave a hole.
        let matters = !sealed.is_empty() || outcomes.iter().any(is_repeat);
        if matters && let Err(source) = flushed.secure(life, &writer.file, before.end.offset) {
            self.bench.writer = None;
            let error = failed("flush", &life.events)(source);
            let tail = before.end.head.tail;
            fail(&mut outcomes, &error, |o| rests_on_more_than(o, tail));
            let unproven = unproven(life, std::io::Error::other(error));
            fail(&mut outcomes, &unproven, is_repeat);
            return outcomes;
        }
        if sealed.is_empty() {
            return outcomes;
        }
        buffer.clear();
        let mut part = Part {
            at: 1,
            of: wide(sealed.len()),
        };
        for event in &sealed {
            encode(buffer, event, part);
            part = part.next();
        }
        let len = buffer.len();
        let offset = before.end.offset + wide(len);
        // A commit as long as that space pays for its own bytes, not for a file that grows.
        if offset > before.size && len < options.write_ahead {
            buffer.resize(len + options.write_ahead, b'\n');
        }
        let busy = life.busy();
        let head = writer.ledger.head();
        let end = End { offset, head };
        let written = write(&writer.file, buffer, before, end, flushed, life);
        buffer.clear();
        buffer.shrink_to(KEEP);
        match written {
            Ok(known) => life.learn(known),
            Err(error) => {
                let is_flushed = flushed.covers(before.end.offset);
                self.bench.writer = None;
                life.doubt(before);
                let tail = before.end.head.tail;
                fail(&mut outcomes, &error, |outcome| {
                    rests_on_more_than(outcome, tail)
                });
                if !is_flushed {
                    let error = unproven(life, std::io::Error::other(error));
                    fail(&mut outcomes, &error, is_repeat);
                }
            }
        }
        drop(busy);
        outcomes
    }
}

/// Gives an error to those whose outcome does not hold.
fn fail(
    outcomes: &mut [Result<Range<SeqNum>>],
    error: &Error,
    is_void: impl Fn(&Result<Range<SeqNum>>) -> bool,
) {
    let void = outcomes.iter_mut().filter(|outcome| is_void(outcome));
    void.for_each(|outcome| *outcome = Err(error.clone()));
}

/// Whether a batch is said to be in the log: of those that are not to be written, one that is there.
fn is_repeat(outcome: &Result<Range<SeqNum>>) -> bool {
    outcome.as_ref().is_ok_and(|range| !range.is_empty())
}

/// The error for a batch that is there, but perhaps not durably.
fn unproven(life: &Life, source: std::io::Error) -> Error {
    Error::indeterminate(format!(
        "the batch is there, but the log could not be flushed: {}",
        life.events.display()
    ))
    .with_source(source)
}

/// Whether an outcome took for granted what lies behind `tail`.
fn rests_on_more_than(outcome: &Result<Range<SeqNum>>, tail: SeqNum) -> bool {
    match outcome {
        Ok(range) => range.end > tail,
        Err(error) => matches!(error.kind(), ErrorKind::Conflict { tail: t } if *t > tail),
    }
}

impl Writer {
    fn admit(
        &mut self,
        life: &Life,
        options: &Options,
        request: Request,
        newest: &mut Option<FencingToken>,
        sealed: &mut Vec<Event>,
    ) -> Result<Range<SeqNum>> {
        let Request { events, condition } = request;
        let newest = match (*newest, condition.token) {
            (Some(token), _) => token,
            (None, None) => FencingToken::NONE,
            (None, Some(_)) => *newest.insert(Slots::read(&life.dir)?.newest()),
        };
        let stored = match self.ledger.wanted(&events) {
            Some(wanted) => {
                let mut stored = stored(life, &wanted, &events)?;
                stored.extend(sealed.iter().filter(|e| wanted.matches(e)).cloned());
                stored
            }
            None => Vec::new(),
        };
        let admitted = self
            .ledger
            .admit(events, condition, &options.limits, newest, &stored)?;
        match admitted {
            Admission::Repeat(range) => Ok(range),
            Admission::Write(events) => {
                let end = self.ledger.head().tail;
                let start = end.minus(wide(events.len()));
                sealed.extend(events);
                Ok(start..end)
            }
        }
    }
}

/// The stored events that a batch may repeat. Ids are compared with `top`, which only grows along
/// a log: nothing before the first line that reaches the smallest of them can be one of them.
fn stored(life: &Life, wanted: &Wanted, events: &[NewEvent]) -> Result<Vec<Event>> {
    let Some(known) = life.known() else {
        return Ok(Vec::new());
    };
    let end = wanted.range.end.min(known.end.head.tail);
    let smallest = events.iter().map(|event| event.id).min();
    let from = life.first(known.end, None, |envelope| {
        Some(envelope.seq >= wanted.range.start && Some(envelope.top()?) >= smallest)
    })?;
    let mut reader = Reader::at(from, None, end, known.end.offset);
    let mut found = Vec::new();
    while let Some(events) = reader.chunk(life)? {
        found.extend(events.into_iter().filter(|event| wanted.matches(event)));
    }
    Ok(found)
}
