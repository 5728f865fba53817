//! Things to store, readable in a trail: event `n` has id, time and payload made from `n`.

use std::ops::Range;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use sessionlog_core::{
    Data, EventId, Incarnation, Kind, LeaseRequest, NewEvent, Owner, Pieces, SeqNum, SessionId,
    SessionRef, Snapshot, Sum, Timestamp,
};

use crate::breach::{End, Held};

/// The kind of most events.
pub(crate) const NOTE: Kind = Kind::from_static("note");
/// The projection of most snapshots.
pub(crate) const FOLD: Kind = Kind::from_static("fold");

/// Event `n`: ids ascend with `n`.
pub(crate) fn event(n: u64) -> NewEvent {
    with_data(n, format!("{{\"n\":{n}}}"))
}

/// Event `n` with another payload, which must be JSON.
pub(crate) fn with_data(n: u64, data: impl Into<Bytes>) -> NewEvent {
    let micros = i64::try_from(n).unwrap_or(0) + 1_700_000_000_000_000;
    NewEvent {
        id: event_id(n),
        at: Timestamp::from_micros(micros).unwrap_or(Timestamp::EPOCH),
        kind: NOTE,
        data: Data::from_stored(data.into()),
    }
}

/// The id of event `n`.
pub(crate) fn event_id(n: u64) -> EventId {
    let mut bytes = [0_u8; 16];
    bytes[0] = 1;
    if let Some(end) = bytes.last_chunk_mut() {
        *end = n.to_be_bytes();
    }
    EventId::from_bytes(bytes)
}

/// The `n` that an id was made from.
pub(crate) fn number_of(id: EventId) -> Option<u64> {
    let n = u64::from_be_bytes(*id.as_bytes().last_chunk()?);
    (event_id(n) == id).then_some(n)
}

/// Events of a range of numbers.
pub(crate) fn events(numbers: Range<u64>) -> Vec<NewEvent> {
    numbers.map(event).collect()
}

/// A session id that is known to be good.
pub(crate) fn id(name: &str) -> Held<SessionId> {
    SessionId::new(name).map_err(|e| End::Broken(format!("a session id of the suite: {e}")))
}

/// A fresh life of a session.
pub(crate) fn fresh(name: &str) -> Held<SessionRef> {
    Ok(SessionRef::fresh(id(name)?))
}

/// A life that depends on nothing but numbers.
pub(crate) fn life(name: &str, n: u64) -> Held<SessionRef> {
    Ok(SessionRef {
        id: id(name)?,
        incarnation: Incarnation::from_bytes(*event_id(n).as_bytes()),
    })
}

/// A lease request of somebody.
pub(crate) fn request(owner: &str) -> Held<LeaseRequest> {
    let owner =
        Owner::new(owner).map_err(|e| End::Broken(format!("an owner of the suite: {e}")))?;
    Ok(LeaseRequest::new(owner))
}

/// A snapshot with a state.
pub(crate) fn snapshot(covers: u64, log: Sum, state: impl Into<Bytes>) -> Snapshot {
    Snapshot {
        projection: FOLD,
        version: 1,
        covers: SeqNum::new(covers),
        log,
        state: state.into(),
    }
}

/// Content in pieces of a size.
pub(crate) fn pieces(content: &[u8], size: usize) -> Pieces {
    let pieces: Vec<_> = content
        .chunks(size.max(1))
        .map(|piece| Ok(Bytes::copy_from_slice(piece)))
        .collect();
    // Unlike `stream::iter` this one panics when it is polled behind its end.
    let next = |mut left: std::vec::IntoIter<_>| async { left.next().map(|piece| (piece, left)) };
    stream::unfold(pieces.into_iter(), next).boxed()
}

/// Bytes that compress badly and differ by seed.
pub(crate) fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = Vec::with_capacity(len + 8);
    while out.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.extend_from_slice(&state.to_le_bytes());
    }
    out.truncate(len);
    out
}

/// Position `n`.
pub(crate) const fn at(n: u64) -> SeqNum {
    SeqNum::new(n)
}

/// A range of positions.
pub(crate) const fn span(from: u64, to: u64) -> Range<SeqNum> {
    at(from)..at(to)
}
