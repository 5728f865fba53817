//! Whether a history is one that a log can have.
//!
//! Every operation on a log has a place in it: an append where its batch stands, a read or a head
//! where the log ended. So no search is needed. The history is linearizable if and only if each
//! operation that ended before another began has the earlier place.
//!
//! A backend may show a batch to others while its append is under way, and not yet to the readers of
//! the handle that writes it. Then a look binds later appends and the later looks of the same worker,
//! but no look of another, until the append has ended.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64;

use super::history::{Got, Op, What};
use crate::breach::{Held, breach, ensure, ensure_eq};

/// What a read of these numbers is written down as.
pub(super) fn seen(numbers: &[u64]) -> (u64, u64) {
    let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    (numbers.len() as u64, xxh3_64(&bytes))
}

/// The place of an operation: from where, to where. An append stands at `from..to`, whatever looks
/// at the log saw it end at `from`.
struct Placed<'a> {
    op: &'a Op,
    from: u64,
    to: u64,
}

/// Where batches stand in the log, by the number of their first event.
struct Log<'a> {
    numbers: &'a [u64],
    starts: BTreeMap<u64, u64>,
}

impl Log<'_> {
    /// Where a batch stands, whole; `None` if no event of it is there.
    fn place(&self, first: u64, count: u64) -> Held<Option<(u64, u64)>> {
        let there = (first..first + count).filter_map(|n| self.starts.get(&n));
        let there: Vec<u64> = there.copied().collect();
        let Some(start) = there.first().copied() else {
            return Ok(None);
        };
        let whole: Vec<u64> = (start..start + count).collect();
        ensure_eq!(
            there,
            whole,
            "the positions of the batch of events {first} and on"
        );
        Ok(Some((start, start + count)))
    }
}

/// Whom a look at the log binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looks {
    /// Everybody: the history is linearizable.
    BindAll,
    /// Appends, and the looks of the same worker.
    BindTheirOwn,
}

/// A breach unless the history is one of a log that holds these numbers in the end.
pub(super) fn log(numbers: &[u64], ops: &[Op], looks: Looks) -> Held {
    let starts: BTreeMap<u64, u64> = numbers.iter().copied().zip(0..).collect();
    ensure_eq!(starts.len(), numbers.len(), "different events in the log");
    let log = Log { numbers, starts };
    let mut placed = Vec::new();
    let mut known = 0;
    for op in ops {
        if let Some((from, to)) = place(&log, op)? {
            known += to - from;
            placed.push(Placed { op, from, to });
        }
    }
    ensure_eq!(
        numbers.len() as u64,
        known,
        "events in the log, and in its batches"
    );
    in_time(&placed, looks)?;
    whole_batches(&placed)?;
    ascending(&placed)?;
    fenced(ops)
}

fn place(log: &Log<'_>, op: &Op) -> Held<Option<(u64, u64)>> {
    Ok(match &op.what {
        What::Append {
            first,
            count,
            tail,
            got,
            ..
        } => {
            let there = log.place(*first, *count)?;
            match got {
                Got::Range(from, to) => {
                    ensure_eq!(
                        there,
                        Some((*from, *to)),
                        "where an acknowledged batch stands, in the end: {op:?}"
                    );
                    let asked = tail.is_none_or(|tail| tail == *from);
                    ensure!(
                        asked,
                        "an append took effect at another tail than it stated: {op:?}"
                    );
                }
                Got::Conflict(found) => {
                    ensure_eq!(there, None, "the batch of a refused append: {op:?}");
                    ensure!(
                        *tail != Some(*found),
                        "a conflict with the stated tail: {op:?}"
                    );
                    return Ok(Some((*found, *found)));
                }
                Got::Fenced(_) | Got::Nothing => {
                    ensure_eq!(there, None, "the batch of a refused append: {op:?}");
                }
                Got::Unknown => {}
            }
            there
        }
        What::Head { tail } => tail.map(|tail| (tail, tail)),
        What::Read { seen: Some(shown) } => {
            let len = usize::try_from(shown.0).unwrap_or(usize::MAX);
            let prefix = log.numbers.get(..len);
            let prefix = prefix.ok_or_else(|| breach(format!("events were lost: {op:?}")))?;
            ensure_eq!(*shown, seen(prefix), "what was read, and the log: {op:?}");
            Some((shown.0, shown.0))
        }
        _ => None,
    })
}

/// Operations that ended before another began stand before it.
fn in_time(placed: &[Placed<'_>], looks: Looks) -> Held {
    let mut moments: Vec<(u64, bool, &Placed<'_>)> = Vec::new();
    for one in placed {
        moments.push((one.op.began, true, one));
        moments.extend(one.op.ended.map(|ended| (ended, false, one)));
    }
    moments.sort_by_key(|(tick, _, _)| *tick);
    // What has ended and reaches furthest: of all, of appends, and of each worker's own.
    let mut all: Option<&Placed<'_>> = None;
    let mut appended: Option<&Placed<'_>> = None;
    let mut own: BTreeMap<u64, &Placed<'_>> = BTreeMap::new();
    let further =
        |known: Option<&Placed<'_>>, one: &Placed<'_>| known.is_none_or(|known| one.to >= known.to);
    for (_, begins, one) in moments {
        let appends = matches!(one.op.what, What::Append { .. });
        if begins {
            let binds = if appends || looks == Looks::BindAll {
                [all, None]
            } else {
                [appended, own.get(&one.op.who).copied()]
            };
            let before = binds
                .into_iter()
                .flatten()
                .find(|before| before.to > one.from);
            ensure!(
                before.is_none(),
                "an operation does not see what had ended before it began\nit:     {:?}\nbefore: {:?}",
                one.op,
                before.map(|before| before.op)
            );
            continue;
        }
        if further(all, one) {
            all = Some(one);
        }
        if one.from < one.to && further(appended, one) {
            appended = Some(one);
        }
        if further(own.get(&one.op.who).copied(), one) {
            own.insert(one.op.who, one);
        }
    }
    Ok(())
}

/// Nobody sees a log end within a batch.
fn whole_batches(placed: &[Placed<'_>]) -> Held {
    let batches: BTreeMap<u64, u64> = placed
        .iter()
        .filter(|one| one.from < one.to)
        .map(|one| (one.from, one.to))
        .collect();
    for one in placed.iter().filter(|one| one.from == one.to) {
        let before = batches.range(..one.from).next_back();
        let within = before.is_some_and(|(_, end)| *end > one.from);
        ensure!(!within, "a part of a batch was seen: {:?}", one.op);
    }
    Ok(())
}

/// Of batches under a token none stands behind one with a larger token.
fn ascending(placed: &[Placed<'_>]) -> Held {
    let under = placed.iter().filter_map(|one| match one.op.what {
        What::Append {
            token: Some(token), ..
        } if one.from < one.to => Some((one.from, token, one.op)),
        _ => None,
    });
    let mut under: Vec<_> = under.collect();
    under.sort_by_key(|(from, _, _)| *from);
    for (before, next) in under.iter().zip(under.iter().skip(1)) {
        ensure!(
            before.1 <= next.1,
            "a batch stands behind one with a larger token\nit:     {:?}\nbefore: {:?}",
            next.2,
            before.2
        );
    }
    Ok(())
}

/// Tokens ascend in time, and from a grant on nothing with a smaller token takes effect.
fn fenced(ops: &[Op]) -> Held {
    let grants = ops.iter().filter_map(|op| match op.what {
        What::Acquire {
            token: Some(token), ..
        } => Some((op, token)),
        _ => None,
    });
    let grants: Vec<_> = grants.collect();
    for (op, token) in &grants {
        for (other, newer) in &grants {
            ensure!(
                op == other || token != newer,
                "a token was granted twice: {op:?}, {other:?}"
            );
            let before = other.ended.is_some_and(|ended| ended < op.began);
            ensure!(
                !before || newer < token,
                "a grant has a smaller token than one before it: {op:?} behind {other:?}"
            );
        }
    }
    for op in ops {
        let What::Append {
            token: Some(token),
            got,
            ..
        } = op.what
        else {
            continue;
        };
        let newer = |(_, other): &&(&Op, u64)| *other > token;
        match got {
            Got::Range(..) => {
                let late = grants
                    .iter()
                    .filter(newer)
                    .find(|(grant, _)| grant.ended.is_some_and(|ended| ended < op.began));
                ensure!(
                    late.is_none(),
                    "a stale token took effect: {op:?} behind {late:?}"
                );
            }
            Got::Fenced(_) => {
                let ended = op.ended.unwrap_or(u64::MAX);
                let fence = grants
                    .iter()
                    .filter(newer)
                    .any(|(grant, _)| grant.began < ended);
                let maybe = |op: &Op| op.ended.is_none() && matches!(op.what, What::Acquire { .. });
                let fence = fence || ops.iter().any(|op| op.began < ended && maybe(op));
                ensure!(
                    fence,
                    "an append is fenced, and there is no newer grant: {op:?}"
                );
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
