//! A walk over a log that may be damaged anywhere: what is whole, what is lost, and where.

use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};

use bytes::Bytes;
use sessionlog_core::{Event, EventId, Head, Kinds, SeqNum, SessionId, Sum};

use crate::format::{Due, Envelope, Part, scan, sum_of};
use crate::{lines, order};
use sessionlog_local::files::wide;

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
    /// Bytes with which the log goes on, that lie elsewhere in the file.
    Moved(Range<u64>),
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

/// Where a walk begins.
#[derive(Clone, Copy)]
struct Begin {
    offset: u64,
    /// What part the line there must be, if that is known.
    due: Option<Due>,
    /// Whether the event there must stand behind the head.
    trusted: bool,
}

/// A line that had no place in the chain, and those behind it.
struct Bad {
    begin: Begin,
    /// Where the piece of the file ends in which it began.
    limit: u64,
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
    /// What is read of the file.
    piece: Range<u64>,
    /// Whether pieces of the log may have changed places, for all that is known.
    unsorted: bool,
    /// Where the first gap begins, in a log of which that is not known.
    gap: Option<Begin>,
    kinds: Kinds,
    each: F,
}

/// No loss is so long that a position this far on is believed, whatever a line says: a repair puts an
/// event in the place of each that is lost.
const FAR: u64 = 1 << 20;

/// Walks over the lines in `range` of a file, which begin with the event behind `head`. Where `head`
/// can't be trusted, the first event need not stand behind it. Where events are missing, the rest is
/// read in the order of its positions.
pub(crate) fn walk<E: From<io::Error>>(
    file: &File,
    range: Range<u64>,
    session: &SessionId,
    (head, trusted): (Head, bool),
    each: impl FnMut(Met) -> Result<(), E>,
) -> Result<(), E> {
    let begin = Begin {
        offset: range.start,
        due: trusted.then_some(Due::First),
        trusted,
    };
    let mut salvage = Salvage {
        session,
        head,
        bad: None,
        due: None,
        piece: range.clone(),
        unsorted: true,
        gap: None,
        kinds: Kinds::default(),
        each,
    };
    salvage.begin(begin);
    if let Some(begin) = salvage.read(file)? {
        let rest = begin.offset..range.end;
        salvage.unsorted = false;
        salvage.piece.end = begin.offset;
        for piece in order::of(file, rest, session, salvage.head.tail)? {
            let before = std::mem::replace(&mut salvage.piece, piece.clone());
            if before.end != piece.start {
                (salvage.each)(Met::Moved(piece))?;
            } else if piece.start == begin.offset {
                salvage.begin(begin);
            }
            salvage.read(file)?;
        }
    }
    salvage.finish()
}

impl Bad {
    fn at(begin: Begin, piece: &Range<u64>) -> Self {
        Self {
            begin,
            limit: piece.end,
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

impl<E: From<io::Error>, F: FnMut(Met) -> Result<(), E>> Salvage<'_, F> {
    fn begin(&mut self, begin: Begin) {
        self.due = begin.due;
        self.bad = (!begin.trusted).then(|| Bad::at(begin, &self.piece));
    }

    /// Reads the piece. Where the walk must begin anew if it stopped before a gap.
    fn read(&mut self, file: &File) -> Result<Option<Begin>, E> {
        lines::each(file, self.piece.clone(), |bytes, line, offset| {
            self.line(bytes, line, offset)?;
            Ok(match self.gap {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            })
        })
        .map(|_| self.gap.take())
    }

    /// Whether the walk stops before events that are missing: the rest may be out of order.
    fn stops(&mut self, bad: &Bad, until: SeqNum) -> bool {
        let stops = self.unsorted && until > self.head.tail;
        if stops {
            self.gap = Some(bad.begin);
        }
        stops
    }

    fn line(&mut self, bytes: &Bytes, at: Range<usize>, offset: u64) -> Result<(), E> {
        if self.gap.is_some() {
            return Ok(());
        }
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
            let begin = Begin {
                offset,
                due,
                trusted: true,
            };
            let mut bad = Bad::at(begin, &self.piece);
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
                if self.stops(&bad, event.seq) {
                    return Ok(());
                }
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
        if self.stops(&bad, first.seq) {
            return Ok(());
        }
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
        let begin = bad.begin.offset;
        if begin == offset && from == until {
            return Ok(());
        }
        let here = (begin..=bad.limit).contains(&offset);
        let end = if here { offset } else { bad.limit };
        (self.each)(Met::Lost(Lost {
            offset: begin,
            len: end.saturating_sub(begin),
            from,
            until,
            reason: bad.reason(from < until),
        }))
    }

    fn finish(mut self) -> Result<(), E> {
        self.unsorted = false;
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
        self.close(self.piece.end, until)
    }
}

fn behind(mut head: Head, session: &SessionId, event: &Event) -> Option<Head> {
    head.verify(session, event).ok().map(|()| head)
}

/// The end that stood before an event, if the checksum before it was `sum`.
fn before(event: &Event, sum: Sum) -> Head {
    Head::new(event.seq, sum, event.top.unwrap_or(EventId::MIN))
}
