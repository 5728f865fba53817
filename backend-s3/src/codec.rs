//! Fields and frames: how numbers, ids and events become bytes.

use bytes::Bytes;
use sessionlog_core::{
    Data, Event, EventId, Head, Incarnation, Kinds, NewEvent, SeqNum, Sum, Timestamp,
};

/// Fields that are read one after the other; `None` where the bytes end too early.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*field)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn time(&mut self) -> Option<Timestamp> {
        Timestamp::from_micros(i64::from_le_bytes(self.array()?))
    }

    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (field, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(field)
    }

    /// A length of 32 bits, and so many bytes.
    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.u32()?;
        self.take(usize::try_from(len).ok()?)
    }

    pub(crate) fn log(&mut self) -> Option<Head> {
        let (tail, sum) = (SeqNum::new(self.u64()?), Sum::from_u64(self.u64()?));
        Some(Head::new(tail, sum, EventId::from_bytes(self.array()?)))
    }

    pub(crate) fn incarnation(&mut self) -> Option<Incarnation> {
        self.array().map(Incarnation::from_bytes)
    }
}

/// A length of 32 bits, and the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(bytes);
}

pub(crate) fn put_log(out: &mut Vec<u8>, head: &Head) {
    out.extend_from_slice(&head.tail.get().to_le_bytes());
    out.extend_from_slice(&head.sum.as_u64().to_le_bytes());
    out.extend_from_slice(head.top.as_bytes());
}

/// The checksum of some bytes under a name, so that what was copied to another place is found.
pub(crate) fn checksum(name: &str, bytes: &[u8]) -> u64 {
    Sum::from_u64(0).then(name.as_bytes()).then(bytes).as_u64()
}

/// A number that nobody else comes to.
pub(crate) fn random() -> u64 {
    Sum::from_u64(0)
        .then(EventId::generate().as_bytes())
        .as_u64()
}

/// A length as a number of 64 bits.
pub(crate) fn wide(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

/// A number as a length; what no memory can hold becomes a length that nothing has.
pub(crate) fn narrow(len: u64) -> usize {
    usize::try_from(len).unwrap_or(usize::MAX)
}

const HAS_TOP: u8 = 0x80;

/// Writes the frame of an event: its length, then its fields.
pub(crate) fn put_event(out: &mut Vec<u8>, event: &Event) {
    let kind = event.kind.as_str().as_bytes();
    let top_len = if event.top.is_some() { 16 } else { 0 };
    let len = 33 + top_len + kind.len() + event.data.len();
    out.extend_from_slice(&u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(event.id.as_bytes());
    out.extend_from_slice(&event.at.as_micros().to_le_bytes());
    out.extend_from_slice(&event.sum.as_u64().to_le_bytes());
    // A kind has at most 64 bytes.
    let kind_len = u8::try_from(kind.len()).unwrap_or(0);
    out.push(event.top.map_or(kind_len, |_| kind_len | HAS_TOP));
    if let Some(top) = event.top {
        out.extend_from_slice(top.as_bytes());
    }
    out.extend_from_slice(kind);
    out.extend_from_slice(event.data.as_bytes());
}

/// How long the frame of an event is.
pub(crate) fn frame_len(event: &Event) -> usize {
    let top = if event.top.is_some() { 16 } else { 0 };
    37 + top + event.kind.as_str().len() + event.data.len()
}

/// Reads frames that lie behind each other in `bytes`, from position `first` on. `None` for what is
/// no such sequence; whether they are the events that were written, only their checksums know.
pub(crate) fn events(bytes: &Bytes, first: SeqNum, kinds: &mut Kinds) -> Option<Vec<Event>> {
    let mut events = Vec::new();
    let mut fields = Fields(bytes);
    while !fields.0.is_empty() {
        let frame = fields.bytes()?;
        let end = bytes.len().checked_sub(fields.0.len())?;
        let seq = first.plus(wide(events.len()));
        events.push(event(bytes, frame, end, seq, kinds)?);
    }
    Some(events)
}

fn event(bytes: &Bytes, frame: &[u8], end: usize, seq: SeqNum, kinds: &mut Kinds) -> Option<Event> {
    let mut fields = Fields(frame);
    let id = EventId::from_bytes(fields.array()?);
    let at = fields.time()?;
    let sum = Sum::from_u64(fields.u64()?);
    let len = fields.u8()?;
    let top = match len & HAS_TOP {
        0 => None,
        _ => Some(EventId::from_bytes(fields.array()?)),
    };
    let kind = kinds.intern(fields.take(usize::from(len & !HAS_TOP))?)?;
    let data = bytes.slice(end.checked_sub(fields.0.len())?..end);
    let data = Data::from_stored(data);
    let event = NewEvent { id, at, kind, data };
    Some(Event::stored(seq, event, top, sum))
}
