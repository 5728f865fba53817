//! The format of an event's line: FORMAT.md as code.
//!
//! A line has exactly one form, so that a changed byte is either no line at all or another event,
//! which its checksum then betrays. The payload is never parsed.

use std::ops::Range;

use bytes::Bytes;
use sessionlog_core::{Data, Event, EventId, Kind, Kinds, NewEvent, SeqNum, Sum, Timestamp};

/// What comes behind the payload, without the newline: `,"sum":"` 16 digits `"}`.
const SUM_LEN: usize = 8 + Sum::TEXT_LEN + 2;

/// Event `at` (from 1) of `of` that one commit wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) at: u64,
    pub(crate) of: u64,
}

impl Part {
    /// An event that is a commit of its own.
    pub(crate) const ALONE: Self = Self { at: 1, of: 1 };

    /// Whether the commit is whole with this event.
    pub(crate) fn is_last(self) -> bool {
        self.at == self.of
    }

    /// The part behind this one.
    pub(crate) fn next(self) -> Self {
        Self {
            at: self.at.saturating_add(1),
            of: self.of,
        }
    }
}

/// What part the next line must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// The first of a commit.
    First,
    /// This one of the same commit.
    Part(Part),
}

impl Due {
    /// What must follow a part.
    pub(crate) fn behind(part: Part) -> Self {
        if part.is_last() {
            Self::First
        } else {
            Self::Part(part.next())
        }
    }

    /// Whether `part` is what is due, or nothing is known of it.
    pub(crate) fn allows(due: Option<Self>, part: Part) -> bool {
        match due {
            None => true,
            Some(Self::First) => part.at == 1,
            Some(Self::Part(due)) => part == due,
        }
    }
}

/// A line that has the form of an event. Whether it is that event, only its checksum knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) event: Event,
    pub(crate) part: Part,
}

impl Line {
    /// The position at which the commit of this line begins.
    pub(crate) fn commit_start(&self) -> SeqNum {
        self.event.seq.minus(self.part.at.saturating_sub(1))
    }
}

/// Writes the line of an event, with its newline.
pub(crate) fn encode(out: &mut Vec<u8>, event: &Event, part: Part) {
    out.extend_from_slice(b"{\"seq\":");
    number(out, event.seq.get());
    out.extend_from_slice(b",\"id\":\"");
    out.extend_from_slice(&event.id.to_text());
    out.extend_from_slice(b"\",\"at\":\"");
    out.extend_from_slice(&event.at.to_text());
    out.extend_from_slice(b"\",\"kind\":\"");
    out.extend_from_slice(event.kind.as_str().as_bytes());
    out.push(b'"');
    if part.of > 1 {
        out.extend_from_slice(b",\"part\":[");
        number(out, part.at);
        out.push(b',');
        number(out, part.of);
        out.push(b']');
    }
    if let Some(top) = event.top {
        out.extend_from_slice(b",\"top\":\"");
        out.extend_from_slice(&top.to_text());
        out.push(b'"');
    }
    let data = event.data.as_bytes();
    if memchr::memchr2(b'\n', b'\r', data).is_some() {
        out.extend_from_slice(b",\"text\":\"");
        escape(out, data);
        out.push(b'"');
    } else {
        out.extend_from_slice(b",\"data\":");
        out.extend_from_slice(data);
    }
    out.extend_from_slice(b",\"sum\":\"");
    out.extend_from_slice(&event.sum.to_text());
    out.extend_from_slice(b"\"}\n");
}

/// What stands before the payload of a line.
pub(crate) struct Envelope<'a> {
    pub(crate) seq: SeqNum,
    pub(crate) id: &'a [u8],
    at: &'a [u8],
    kind: &'a [u8],
    part: Part,
    top: Option<&'a [u8]>,
}

impl<'a> Envelope<'a> {
    /// No envelope is longer.
    pub(crate) const MAX_LEN: usize = 512;

    /// Reads the beginning of a line, and gives what is behind it.
    pub(crate) fn read(line: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let rest = line.strip_prefix(b"{\"seq\":")?;
        let (seq, rest) = read_number(rest)?;
        let rest = rest.strip_prefix(b",\"id\":\"")?;
        let (id, rest) = rest.split_at_checked(EventId::TEXT_LEN)?;
        let rest = rest.strip_prefix(b"\",\"at\":\"")?;
        let (at, rest) = rest.split_at_checked(Timestamp::TEXT_LEN)?;
        let rest = rest.strip_prefix(b"\",\"kind\":\"")?;
        let kind_len = rest
            .iter()
            .take(Kind::MAX_LEN + 1)
            .position(|b| *b == b'"')?;
        let (kind, rest) = rest.split_at_checked(kind_len)?;
        let mut rest = rest.get(1..)?;
        let mut part = Part::ALONE;
        if let Some(behind) = rest.strip_prefix(b",\"part\":[") {
            let (nth, behind) = read_number(behind)?;
            let (of, behind) = read_number(behind.strip_prefix(b",")?)?;
            rest = behind.strip_prefix(b"]")?;
            part = Part { at: nth, of };
            if of < 2 || nth == 0 || nth > of || nth > seq.saturating_add(1) {
                return None;
            }
        }
        let mut top = None;
        if let Some(behind) = rest.strip_prefix(b",\"top\":\"") {
            let (id, behind) = behind.split_at_checked(EventId::TEXT_LEN)?;
            rest = behind.strip_prefix(b"\"")?;
            top = Some(id);
        }
        let seq = SeqNum::new(seq);
        let envelope = Self {
            seq,
            id,
            at,
            kind,
            part,
            top,
        };
        Some((envelope, rest))
    }

    /// The largest id up to this event.
    pub(crate) fn top(&self) -> Option<EventId> {
        EventId::from_text(self.top.unwrap_or(self.id))
    }
}

/// Reads the line that lies at `at` in `bytes`, without its newline. `None` for anything that
/// [`encode`] would not have written so.
pub(crate) fn scan(bytes: &Bytes, at: Range<usize>, kinds: &mut Kinds) -> Option<Line> {
    let line = bytes.get(at.clone())?;
    let (envelope, rest) = Envelope::read(line)?;
    let (payload, sum) = rest.split_at_checked(rest.len().checked_sub(SUM_LEN)?)?;
    let sum = read_sum(sum)?;
    let data = if let Some(data) = payload.strip_prefix(b",\"data\":") {
        let end = at.end.checked_sub(SUM_LEN)?;
        bytes.slice(end.checked_sub(data.len())?..end)
    } else {
        let text = payload.strip_prefix(b",\"text\":\"")?.strip_suffix(b"\"")?;
        unescape(text)?.into()
    };
    let top = match envelope.top {
        Some(id) => Some(EventId::from_text(id)?),
        None => None,
    };
    let event = NewEvent {
        id: EventId::from_text(envelope.id)?,
        at: Timestamp::from_text(envelope.at)?,
        kind: kinds.intern(envelope.kind)?,
        data: Data::from_stored(data),
    };
    Some(Line {
        event: Event::stored(envelope.seq, event, top, sum),
        part: envelope.part,
    })
}

/// The checksum that a line ends with, whatever stands before it.
pub(crate) fn sum_of(line: &[u8]) -> Option<Sum> {
    let (_, sum) = line.split_at_checked(line.len().checked_sub(SUM_LEN)?)?;
    read_sum(sum)
}

fn read_sum(text: &[u8]) -> Option<Sum> {
    Sum::from_text(text.strip_prefix(b",\"sum\":\"")?.strip_suffix(b"\"}")?)
}

fn number(out: &mut Vec<u8>, mut n: u64) {
    let mut digits = [b'0'; 20];
    let mut len = 0_usize;
    for slot in digits.iter_mut().rev() {
        *slot = b'0' + u8::try_from(n % 10).unwrap_or(0);
        n /= 10;
        len += 1;
        if n == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(digits.len() - len..).unwrap_or(&digits));
}

fn read_number(text: &[u8]) -> Option<(u64, &[u8])> {
    let len = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(len)?;
    if len == 0 || (len > 1 && digits.first() == Some(&b'0')) {
        return None;
    }
    let n = digits.iter().try_fold(0_u64, |n, digit| {
        n.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })?;
    Some((n, rest))
}

fn escape(out: &mut Vec<u8>, text: &[u8]) {
    for byte in text {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(*byte),
        }
    }
}

/// The inverse of [`escape`], for nothing but what it writes.
fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (plain, behind) = rest.split_at_checked(at)?;
        out.extend_from_slice(plain);
        let (byte, len) = match behind.get(1)? {
            b'"' => (b'"', 2),
            b'\\' => (b'\\', 2),
            b'n' => (b'\n', 2),
            b'r' => (b'\r', 2),
            b't' => (b'\t', 2),
            b'u' => {
                let hex = std::str::from_utf8(behind.get(4..6)?).ok()?;
                (u8::from_str_radix(hex, 16).ok()?, 6)
            }
            _ => return None,
        };
        out.push(byte);
        rest = behind.get(len..)?;
    }
    out.extend_from_slice(rest);
    // Whatever else could stand here has another form.
    let mut again = Vec::with_capacity(text.len());
    escape(&mut again, &out);
    let needed = memchr::memchr2(b'\n', b'\r', &out).is_some();
    (needed && again == text).then_some(out)
}

#[cfg(test)]
mod tests;
