//! A walk over a log that may be damaged anywhere: what is whole, what is lost, and where.

use std::fs::File;
use std::io;
use std::ops::Range;

use bytes::Bytes;
use sessionlog_core::{Event, EventId, Head, Kinds, SeqNum, SessionId, Sum};

use crate::format::{Due, Envelope, Part, scan, sum_of};
use sessionlog_local::files::{read_range, wide};

/// What is met along a log, in order.
#[derive(Debug)]
pub(crate) enum Met {
    /// A whole event.
    Event(Event),
    /// A whole event with damage around its content: in its checksum, its `part`, the newline
    /// before it.
    Mended(Event),
    /// Bytes that are no event, and the positions that are missing there: perhaps none.
    Lost(Lost),
}

/// A damaged stretch of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) from: SeqNum,
    pub(crate) until: SeqNum,
    pub(crate) reason: String,
}

/// A line that had no place in the chain, and those behind it.
struct Bad {
    offset: u64,
    /// Lines that may have been events.
    lines: u64,
    /// NUL bytes among them: the first, and how many.
    nuls: Option<(u64, u64)>,
    /// The line is an event but for its checksum: how it would go on.
    suspect: Option<(Event, Head)>,
    /// The checksum that the last of these lines ends with.
    sum: Option<Sum>,
    /// An event that would stand behind a gap, if the next line agrees.
    tentative: Option<(Event, u64)>,
}

/// The walk.
pub(crate) struct Salvage<'a, F> {
    session: &'a SessionId,
    head: Head,
    bad: Option<Bad>,
    /// What part the next line must be, if it stands behind a whole one.
    due: Option<Due>,
    kinds: Kinds,
    each: F,
}

/// How much is read at a time, and the longest line that is taken for one.
const BLOCK: u64 = 1 << 20;
const LONGEST: u64 = 512 << 20;
/// No loss is so long that a position this far on is believed, whatever a line says: a repair puts an
/// event in the place of each that is lost.
const FAR: u64 = 1 << 20;

/// Walks over the lines in `from..until` of a file, which begin with the event behind `head`. Where
/// `head` can't be trusted, the first event need not stand behind it.
pub(crate) fn walk<E: From<io::Error>>(
    file: &File,
    (from, until): (u64, u64),
    session: &SessionId,
    (head, trusted): (Head, bool),
    each: impl FnMut(Met) -> Result<(), E>,
) -> Result<(), E> {
    let mut salvage = Salvage {
        session,
        head,
        bad: (!trusted).then(|| Bad::at(from)),
        due: trusted.then_some(Due::First),
        kinds: Kinds::default(),
        each,
    };
    let mut offset = from;
    let mut size = BLOCK;
    while offset < until {
        let bytes = Bytes::from(read_range(file, offset, until.min(offset + size))?);
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &bytes) {
            salvage.line(&bytes, start..end, offset + wide(start))?;
            start = end + 1;
        }
        let at_end = offset + wide(bytes.len()) >= until || bytes.is_empty();
        if start == 0 && !at_end && size < LONGEST {
            size *= 4;
            continue;
        }
        if start == 0 || at_end {
            // No newline behind it: the end of the file, or nothing that could be a line.
            if start < bytes.len() {
                salvage.line(&bytes, start..bytes.len(), offset + wide(start))?;
            }
            start = bytes.len();
        }
        if bytes.is_empty() {
            break;
        }
        offset += wide(start);
        size = BLOCK;
    }
    salvage.finish(until)
}

impl Bad {
    fn at(offset: u64) -> Self {
        Self {
            offset,
            lines: 0,
            nuls: None,
            suspect: None,
            sum: None,
            tentative: None,
        }
    }

    /// Takes another line that is no event in its place.
    fn add(&mut self, line: &[u8], offset: u64) {
        for at in memchr::memchr_iter(0, line) {
            let (first, many) = self.nuls.unwrap_or((offset + wide(at), 0));
            self.nuls = Some((first, many + 1));
        }
        let like_an_event =
            line.starts_with(b"{\"seq\":") || sum_of(line).is_some() || line.contains(&0);
        self.lines += u64::from(like_an_event);
        if !line.is_empty() {
            self.sum = sum_of(line);
        }
    }

    fn reason(&self, lost: bool) -> String {
        match (self.nuls, &self.suspect) {
            (Some((at, many)), _) => format!("a run of {many} NUL bytes from byte {at}"),
            (None, Some(_)) => "the event does not match its checksum".to_owned(),
            (None, None) if self.lines > 0 => "the line is not an event".to_owned(),
            (None, None) if lost => "lines are missing".to_owned(),
            (None, None) => "bytes that no append wrote".to_owned(),
        }
    }
}

impl<E, F: FnMut(Met) -> Result<(), E>> Salvage<'_, F> {
    fn line(&mut self, bytes: &Bytes, at: Range<usize>, offset: u64) -> Result<(), E> {
        let line = bytes.get(at.clone()).unwrap_or_default();
        let scanned = scan(bytes, at.clone(), &mut self.kinds);
        let due = self.due.take();
        if let Some(line) = &scanned {
            let mut next = self.head;
            if next.verify(self.session, &line.event).is_ok() {
                self.close(offset, self.head.tail)?;
                self.head = next;
                self.due = Some(Due::behind(line.part));
                let event = line.event.clone();
                return (self.each)(if Due::allows(due, line.part) {
                    Met::Event(event)
                } else {
                    Met::Mended(event)
                });
            }
        }
        if let Some((first, second)) = self.joined(line) {
            let (first, second) = (at.start..at.start + first, at.start + second..at.end);
            let behind = offset + wide(second.start - at.start);
            self.line(bytes, first, offset)?;
            // The newline between them is damage, even if nothing is lost.
            self.due = Some(Due::Part(Part { at: 0, of: 0 }));
            return self.line(bytes, second, behind);
        }
        let event = scanned.map(|line| line.event);
        let Some(mut bad) = self.bad.take() else {
            let mut bad = Bad::at(offset);
            let ahead = |e: &&Event| e.seq > self.head.tail && self.is_near(e.seq);
            if let Some(event) = event.as_ref().filter(ahead) {
                bad.sum = Some(event.sum);
                bad.tentative = Some((event.clone(), offset));
                self.bad = Some(bad);
                return Ok(());
            }
            bad.add(line, offset);
            bad.suspect = event.filter(|e| e.seq == self.head.tail).map(|event| {
                let mut next = self.head;
                (next.seal(event.into_new()), next)
            });
            self.bad = Some(bad);
            return Ok(());
        };
        if let Some(event) = event {
            if let Some((mended, mut next)) = bad.suspect.take_if(|_| bad.lines == 1)
                && next.verify(self.session, &event).is_ok()
            {
                self.head = next;
                (self.each)(Met::Mended(mended))?;
                return (self.each)(Met::Event(event));
            }
            if let Some((before, _)) = &bad.tentative
                && let Some(next) = behind(Head::after(before), self.session, &event)
            {
                return self.accept(bad, Some(event), next);
            }
            if self.is_near(event.seq)
                && let Some(next) = bad
                    .sum
                    .map(|sum| before(&event, sum))
                    .and_then(|head| behind(head, self.session, &event))
            {
                bad.lines += u64::from(bad.tentative.take().is_some());
                self.bad = Some(bad);
                self.close(offset, event.seq)?;
                self.head = next;
                return (self.each)(Met::Event(event));
            }
            bad.lines += u64::from(bad.tentative.take().is_some());
            if self.is_near(event.seq) {
                bad.sum = Some(event.sum);
                bad.tentative = Some((event, offset));
                self.bad = Some(bad);
                return Ok(());
            }
        }
        bad.lines += u64::from(bad.tentative.take().is_some());
        bad.add(line, offset);
        self.bad = Some(bad);
        Ok(())
    }

    /// Whether an event may stand at a position behind the damage.
    fn is_near(&self, seq: SeqNum) -> bool {
        let distance = seq.get().checked_sub(self.head.tail.get());
        distance.is_some_and(|distance| distance <= FAR)
    }

    /// Where two lines that run into one another part: the end of the first, the beginning of the
    /// second. Either the newline between them is another byte now, or the first is a fragment.
    fn joined(&self, line: &[u8]) -> Option<(usize, usize)> {
        let tail = self.head.tail;
        memchr::memmem::find_iter(line, b"{\"seq\":")
            .filter(|at| *at > 0)
            .find_map(|at| {
                let (envelope, _) = Envelope::read(line.get(at..)?)?;
                let before = at - usize::from(envelope.seq == tail.plus(1));
                (envelope.seq == tail || envelope.seq == tail.plus(1)).then_some((before, at))
            })
    }

    /// Takes the tentative event as it is, and the one behind it.
    fn accept(&mut self, mut bad: Bad, event: Option<Event>, next: Head) -> Result<(), E> {
        let Some((first, at)) = bad.tentative.take() else {
            return Ok(());
        };
        self.bad = Some(bad);
        self.close(at, first.seq)?;
        self.head = next;
        (self.each)(Met::Event(first))?;
        event.map_or(Ok(()), |event| (self.each)(Met::Event(event)))
    }

    /// Reports the damaged stretch before `offset`, behind which event `until` stands.
    fn close(&mut self, offset: u64, until: SeqNum) -> Result<(), E> {
        let Some(bad) = self.bad.take() else {
            return Ok(());
        };
        let from = self.head.tail;
        if bad.offset == offset && from == until {
            return Ok(());
        }
        (self.each)(Met::Lost(Lost {
            offset: bad.offset,
            len: offset.saturating_sub(bad.offset),
            from,
            until,
            reason: bad.reason(from < until),
        }))
    }

    fn finish(mut self, end: u64) -> Result<(), E> {
        let Some(mut bad) = self.bad.take() else {
            return Ok(());
        };
        if let Some((event, at)) = bad.tentative.take() {
            // Nothing stands behind it that could agree; no more than the lines before it are
            // missing.
            if event.seq.get() - self.head.tail.get() <= bad.lines {
                let next = Head::after(&event);
                bad.tentative = Some((event, at));
                return self.accept(bad, None, next);
            }
            bad.lines += 1;
        }
        let until = self.head.tail.plus(bad.lines);
        self.bad = Some(bad);
        self.close(end, until)
    }
}

fn behind(mut head: Head, session: &SessionId, event: &Event) -> Option<Head> {
    head.verify(session, event).ok().map(|()| head)
}

/// The end that stood before an event, if the checksum before it was `sum`.
fn before(event: &Event, sum: Sum) -> Head {
    Head::new(event.seq, sum, event.top.unwrap_or(EventId::MIN))
}
