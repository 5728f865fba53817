//! The format of tables and rows: FORMAT.md as code.

use std::ops::Range;

use bytes::Bytes;
use redb::TableDefinition;
use sessionlog_core::{
    BlobId, Data, Event, EventId, FencingToken, Head, Holder, Incarnation, Kinds, NewEvent, Owner,
    SeqNum, SessionId, SessionRef, Sum, Timestamp,
};

/// The name of this backend in the marker.
pub(crate) const BACKEND: &str = "redb";
/// The format that this version writes, and the newest that it reads.
pub(crate) const FORMAT: u64 = 1;

/// Bytes, as a key or a value.
pub(crate) type Raw = &'static [u8];
/// The key of a snapshot: projection, version, session's id, covers.
pub(crate) type SnapshotKey = (Raw, u32, Raw, u64);
/// The key of a blob: the session's number, the content's hash.
pub(crate) type BlobKey = (u64, &'static [u8; 32]);

/// The marker.
pub(crate) const MARKER: TableDefinition<'_, &str, &str> = TableDefinition::new("sessionlog");
/// Counters.
pub(crate) const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
/// The counter of sessions and uploads.
pub(crate) const NEXT: &str = "next";
/// Session rows.
pub(crate) const SESSIONS: TableDefinition<'_, Raw, Raw> = TableDefinition::new("sessions");
/// Event rows.
pub(crate) const EVENTS: TableDefinition<'_, (u64, u64), Raw> = TableDefinition::new("events");
/// Lease rows.
pub(crate) const LEASES: TableDefinition<'_, u64, Raw> = TableDefinition::new("leases");
/// Snapshots.
pub(crate) const SNAPSHOTS: TableDefinition<'_, SnapshotKey, Raw> =
    TableDefinition::new("snapshots");
/// Blobs: where their content is.
pub(crate) const BLOBS: TableDefinition<'_, BlobKey, (u64, u64)> = TableDefinition::new("blobs");
/// The content of blobs.
pub(crate) const CHUNKS: TableDefinition<'_, (u64, u32), Raw> = TableDefinition::new("chunks");
/// Uploads that are not whole.
pub(crate) const UPLOADS: TableDefinition<'_, u64, u64> = TableDefinition::new("uploads");
/// Rows that a repair replaced.
pub(crate) const KEPT: TableDefinition<'_, (u64, u64), Raw> = TableDefinition::new("kept");

/// Bytes of content in a row: with its key, what fits a page of 256 KiB.
pub(crate) const CHUNK: usize = 252 << 10;

/// The name of a blob as a key.
pub(crate) fn key_of(id: BlobId) -> [u8; 32] {
    let text = id.to_string();
    let mut key = [0; 32];
    for (byte, digits) in key.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let digits = std::str::from_utf8(digits).unwrap_or_default();
        *byte = u8::from_str_radix(digits, 16).unwrap_or_default();
    }
    key
}

/// The name of the blob with this key.
pub(crate) fn id_of(key: &[u8; 32]) -> Option<BlobId> {
    let text: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    text.parse().ok()
}

/// What is stored of a session beside its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The name of this life in the other tables.
    pub(crate) number: u64,
    pub(crate) incarnation: Incarnation,
    pub(crate) created: Timestamp,
    pub(crate) head: Head,
    /// The token of the newest grant.
    pub(crate) token: FencingToken,
}

impl Row {
    const FIELDS: usize = 72;

    /// The row of a session that begins.
    pub(crate) fn new(session: &SessionRef, number: u64) -> Self {
        Self {
            number,
            incarnation: session.incarnation,
            created: Timestamp::now(),
            head: Head::genesis(&session.id, session.incarnation),
            token: FencingToken::NONE,
        }
    }

    /// The life of the session that this is the row of.
    pub(crate) fn of(&self, id: &SessionId) -> SessionRef {
        SessionRef {
            id: id.clone(),
            incarnation: self.incarnation,
        }
    }

    pub(crate) fn encode(&self, id: &SessionId) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::FIELDS + 8);
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(self.incarnation.as_bytes());
        out.extend_from_slice(&self.created.as_micros().to_le_bytes());
        out.extend_from_slice(&self.head.tail.get().to_le_bytes());
        out.extend_from_slice(&self.head.sum.as_u64().to_le_bytes());
        out.extend_from_slice(self.head.top.as_bytes());
        out.extend_from_slice(&self.token.get().to_le_bytes());
        let sum = row_sum(id, &out);
        out.extend_from_slice(&sum.as_u64().to_le_bytes());
        out
    }

    /// The row, if it is whole.
    pub(crate) fn decode(id: &SessionId, bytes: &[u8]) -> Option<Self> {
        let (fields, sum) = bytes.split_at_checked(Self::FIELDS)?;
        let sum = Sum::from_u64(u64::from_le_bytes(sum.try_into().ok()?));
        (row_sum(id, fields) == sum)
            .then(|| Self::salvage(bytes))
            .flatten()
    }

    /// What a row says, whether or not it is whole.
    pub(crate) fn salvage(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        Some(Self {
            number: fields.u64()?,
            incarnation: Incarnation::from_bytes(fields.array()?),
            created: fields.time()?,
            head: Head::new(
                SeqNum::new(fields.u64()?),
                Sum::from_u64(fields.u64()?),
                EventId::from_bytes(fields.array()?),
            ),
            token: FencingToken::new(fields.u64()?),
        })
    }
}

fn row_sum(id: &SessionId, fields: &[u8]) -> Sum {
    Sum::from_u64(0).then(id.as_str().as_bytes()).then(fields)
}

/// Fields one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*field)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn time(&mut self) -> Option<Timestamp> {
        Timestamp::from_micros(i64::from_le_bytes(self.array()?))
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (field, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(field)
    }
}

const HAS_TOP: u8 = 0x80;

/// Writes the row of an event.
pub(crate) fn encode_event(out: &mut Vec<u8>, event: &Event) {
    let kind = event.kind.as_str().as_bytes();
    out.clear();
    out.reserve(49 + kind.len() + event.data.len());
    out.extend_from_slice(event.id.as_bytes());
    out.extend_from_slice(&event.at.as_micros().to_le_bytes());
    out.extend_from_slice(&event.sum.as_u64().to_le_bytes());
    // A kind has at most 64 bytes.
    let len = u8::try_from(kind.len()).unwrap_or(0);
    out.push(event.top.map_or(len, |_| len | HAS_TOP));
    if let Some(top) = event.top {
        out.extend_from_slice(top.as_bytes());
    }
    out.extend_from_slice(kind);
    out.extend_from_slice(event.data.as_bytes());
}

/// Reads the event whose row lies at `at` in `bytes`. `None` for what is no event row; whether it is
/// the event that was written, only its checksum knows.
pub(crate) fn decode_event(
    bytes: &Bytes,
    at: Range<usize>,
    seq: SeqNum,
    kinds: &mut Kinds,
) -> Option<Event> {
    let mut fields = Fields(bytes.get(at.clone())?);
    let id = EventId::from_bytes(fields.array()?);
    let time = fields.time()?;
    let sum = Sum::from_u64(fields.u64()?);
    let [len] = fields.array()?;
    let top = match len & HAS_TOP {
        0 => None,
        _ => Some(EventId::from_bytes(fields.array()?)),
    };
    let kind = kinds.intern(fields.take(usize::from(len & !HAS_TOP))?)?;
    let data = bytes.slice(at.end.checked_sub(fields.0.len())?..at.end);
    let event = NewEvent {
        id,
        at: time,
        kind,
        data: Data::from_stored(data),
    };
    Some(Event::stored(seq, event, top, sum))
}

/// The checksum that a row holds, whatever the rest of it is.
pub(crate) fn event_sum(row: &[u8]) -> Option<Sum> {
    let sum = row.get(24..32)?;
    Some(Sum::from_u64(u64::from_le_bytes(sum.try_into().ok()?)))
}

/// Writes the row that says who holds a lease.
pub(crate) fn encode_holder(number: u64, holder: &Holder) -> Vec<u8> {
    let mut out = Vec::with_capacity(24 + holder.owner.as_str().len());
    out.extend_from_slice(&holder.token.get().to_le_bytes());
    out.extend_from_slice(&holder.since.as_micros().to_le_bytes());
    out.extend_from_slice(holder.owner.as_str().as_bytes());
    let sum = Sum::from_u64(number).then(&out);
    out.extend_from_slice(&sum.as_u64().to_le_bytes());
    out
}

/// Reads the row that says who holds a lease, if it is whole.
pub(crate) fn decode_holder(number: u64, row: &[u8]) -> Option<Holder> {
    let (said, sum) = row.split_last_chunk()?;
    if Sum::from_u64(number).then(said) != Sum::from_u64(u64::from_le_bytes(*sum)) {
        return None;
    }
    let mut fields = Fields(said);
    let token = FencingToken::new(fields.u64()?);
    let since = fields.time()?;
    let owner = Owner::new(std::str::from_utf8(fields.0).ok()?).ok()?;
    Some(Holder::new(owner, token, since))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sessionlog_core::Kind;

    #[test]
    fn a_session_row_round_trips_and_every_changed_bit_is_found() {
        let session = SessionRef::fresh(SessionId::new("a").unwrap());
        let row = Row::new(&session, 7);
        let bytes = row.encode(&session.id);
        assert_eq!(bytes.len(), 80);
        assert_eq!(Row::decode(&session.id, &bytes), Some(row));
        assert_eq!(Row::decode(&SessionId::new("b").unwrap(), &bytes), None);
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Row::decode(&session.id, &changed), None);
        }
    }

    #[test]
    fn an_event_row_round_trips_with_and_without_a_larger_id_before() {
        let session = SessionRef::fresh(SessionId::new("a").unwrap());
        let mut head = Head::genesis(&session.id, session.incarnation);
        let kind = Kind::from_static("message");
        let late = NewEvent::json(kind.clone(), "1").unwrap();
        let early = NewEvent::json(kind, "[2]").unwrap();
        let early = early.with_id(EventId::from_bytes([1; 16]));
        for new in [late, early] {
            let event = head.seal(new);
            let mut row = Vec::new();
            encode_event(&mut row, &event);
            assert_eq!(event_sum(&row), Some(event.sum));
            let bytes = Bytes::from(row);
            let kinds = &mut Kinds::default();
            let read = decode_event(&bytes, 0..bytes.len(), event.seq, kinds);
            assert_eq!(read, Some(event));
            for cut in 0..33 {
                assert_eq!(decode_event(&bytes, 0..cut, SeqNum::ZERO, kinds), None);
            }
        }
    }

    #[test]
    fn the_name_of_a_blob_round_trips() {
        let id = BlobId::of(b"content");
        assert_eq!(id_of(&key_of(id)), Some(id));
    }

    #[test]
    fn a_lease_row_round_trips_and_every_changed_bit_is_found() {
        let holder = Holder::new(
            Owner::new("me").unwrap(),
            FencingToken::new(3),
            Timestamp::now(),
        );
        let row = encode_holder(9, &holder);
        assert_eq!(decode_holder(9, &row), Some(holder));
        assert_eq!(decode_holder(8, &row), None);
        for bit in 0..row.len() * 8 {
            let mut changed = row.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode_holder(9, &changed), None);
        }
    }
}
