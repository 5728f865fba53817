//! Whether one log is the beginning of another.

use crate::{Error, ErrorKind, Head, Result, SeqNum, Session, SessionRef};

/// The destination must hold the same life of the session.
pub(super) fn same_life(wanted: &SessionRef, present: &SessionRef, head: Head) -> Result<()> {
    if wanted == present {
        return Ok(());
    }
    Err(conflict(
        head,
        format!("the destination has another session of this name: {wanted}"),
    ))
}

/// The destination's log, which ends at `base`, must be the beginning of the source's, which ends
/// at `end`. Checksums are chained, so one event tells.
pub(super) async fn begins(from: &Session, end: Head, there: &Session, base: Head) -> Result<()> {
    let same = if base.tail >= end.tail {
        base == end
    } else {
        head_at(from, base.tail).await? == base
    };
    if same {
        return Ok(());
    }
    let common = common(from, there, base.tail.min(end.tail)).await?;
    let id = from.id();
    Err(conflict(
        base,
        if common == end.tail {
            format!(
                "the destination has {} events more than the source, copy them the other way: {id}",
                crate::span(&(end.tail..base.tail))
            )
        } else {
            format!("the destination has other events than the source, from {common} on: {id}")
        },
    ))
}

/// The end of the first events of a session.
async fn head_at(session: &Session, tail: SeqNum) -> Result<Head> {
    if tail == SeqNum::ZERO {
        return Ok(Head::genesis(session.id(), session.incarnation()));
    }
    Ok(Head::after(&session.event(tail.minus(1)).await?))
}

/// How many events two logs share, of the first `end`: equal checksums vouch for all before them.
async fn common(one: &Session, other: &Session, end: SeqNum) -> Result<SeqNum> {
    // The first `low` events are the same.
    let (mut low, mut high) = (SeqNum::ZERO, end);
    while low < high {
        let middle = low.plus(crate::span(&(low..high)).div_ceil(2));
        if head_at(one, middle).await? == head_at(other, middle).await? {
            low = middle;
        } else {
            high = middle.minus(1);
        }
    }
    Ok(low)
}

pub(super) fn conflict(head: Head, message: String) -> Error {
    Error::new(ErrorKind::Conflict { tail: head.tail }, message)
}
