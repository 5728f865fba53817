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
mod tests {
    use super::*;

    fn op(who: u64, began: u64, ended: u64, what: What) -> Op {
        Op {
            who,
            n: began,
            began,
            ended: Some(ended).filter(|ended| *ended > 0),
            what,
        }
    }

    fn append(first: u64, count: u64, got: Got) -> What {
        What::Append {
            first,
            count,
            tail: None,
            token: None,
            got,
        }
    }

    fn head(tail: u64) -> What {
        What::Head { tail: Some(tail) }
    }

    fn read(numbers: &[u64]) -> What {
        What::Read {
            seen: Some(seen(numbers)),
        }
    }

    fn is_log(numbers: &[u64], ops: &[Op]) -> bool {
        let strictly = log(numbers, ops, Looks::BindAll).is_ok();
        // What one log can have the looser one can have.
        assert!(!strictly || log(numbers, ops, Looks::BindTheirOwn).is_ok());
        strictly
    }

    #[test]
    fn what_is_under_way_may_be_shown_to_some_where_that_is_said() {
        let slow = op(1, 1, 20, append(10, 1, Got::Range(0, 1)));
        let loosely = |looks: &[Op]| {
            let ops = [std::slice::from_ref(&slow), looks].concat();
            log(&[10], &ops, Looks::BindTheirOwn).is_ok()
        };
        assert!(loosely(&[op(2, 3, 4, head(1)), op(3, 5, 6, head(0))]));
        assert!(
            !loosely(&[op(2, 3, 4, head(1)), op(2, 5, 6, head(0))]),
            "the same worker"
        );
        assert!(!loosely(&[op(3, 21, 22, head(0))]), "it has ended");
    }

    #[test]
    fn what_overlaps_may_be_seen_or_not() {
        let writes = op(1, 1, 9, append(10, 2, Got::Range(0, 2)));
        for looks in [head(0), head(2), read(&[]), read(&[10, 11])] {
            assert!(is_log(&[10, 11], &[writes.clone(), op(2, 3, 4, looks)]));
        }
        assert!(!is_log(&[10, 11], &[writes.clone(), op(2, 3, 4, head(1))]));
        assert!(!is_log(&[10, 11], &[writes, op(2, 3, 4, read(&[11]))]));
    }

    #[test]
    fn what_ended_before_must_be_seen() {
        let writes = op(1, 1, 2, append(10, 1, Got::Range(0, 1)));
        assert!(is_log(&[10], &[writes.clone(), op(2, 3, 4, head(1))]));
        assert!(!is_log(&[10], &[writes.clone(), op(2, 3, 4, head(0))]));
        // A second look sees no less than the first.
        let slow = op(1, 1, 20, append(10, 1, Got::Range(0, 1)));
        let looks = [op(2, 3, 4, head(1)), op(3, 5, 6, head(0))];
        assert!(!is_log(&[10], &[&[slow], &looks[..]].concat()));
        // What began later can't stand before what had ended.
        let second = op(2, 3, 4, append(20, 1, Got::Range(0, 1)));
        let first = op(1, 1, 2, append(10, 1, Got::Range(1, 2)));
        assert!(!is_log(&[20, 10], &[first, second]));
    }

    #[test]
    fn an_acknowledged_batch_is_there_and_a_refused_one_is_not() {
        let done = op(1, 1, 2, append(10, 2, Got::Range(0, 2)));
        assert!(!is_log(&[], std::slice::from_ref(&done)), "lost");
        assert!(!is_log(&[10], std::slice::from_ref(&done)), "half of it");
        assert!(!is_log(&[10, 11, 12], &[done]), "one too many");
        for got in [Got::Conflict(1), Got::Fenced(2), Got::Nothing] {
            assert!(!is_log(&[10], &[op(1, 1, 2, append(10, 1, got))]));
        }
    }

    #[test]
    fn an_unknown_batch_is_whole_or_absent() {
        let unknown = op(1, 5, 0, append(10, 2, Got::Unknown));
        assert!(is_log(&[], std::slice::from_ref(&unknown)));
        assert!(is_log(&[10, 11], std::slice::from_ref(&unknown)));
        assert!(!is_log(&[10], std::slice::from_ref(&unknown)));
        // It did not begin before what had been seen.
        let before = op(2, 1, 2, append(20, 1, Got::Range(2, 3)));
        assert!(!is_log(&[10, 11, 20], &[unknown, before]));
    }

    #[test]
    fn conditions_hold_where_the_batch_stands() {
        let at = |tail, got| What::Append {
            first: 10,
            count: 1,
            tail: Some(tail),
            token: None,
            got,
        };
        assert!(is_log(&[10], &[op(1, 1, 2, at(0, Got::Range(0, 1)))]));
        let other = op(2, 1, 2, append(20, 1, Got::Range(0, 1)));
        let both = |late| [other.clone(), op(1, 3, 4, late)];
        assert!(is_log(&[20, 10], &both(at(1, Got::Range(1, 2)))));
        assert!(!is_log(&[20, 10], &both(at(0, Got::Range(1, 2)))));
        assert!(is_log(&[20], &both(at(0, Got::Conflict(1)))));
        assert!(!is_log(&[20], &both(at(1, Got::Conflict(1)))));
        assert!(
            !is_log(&[20], &both(at(1, Got::Conflict(0)))),
            "an old tail"
        );
    }

    #[test]
    fn a_grant_ends_what_smaller_tokens_may_do() {
        let grant = |began, token| {
            let what = What::Acquire {
                forced: true,
                token: Some(token),
            };
            op(9, began, began + 1, what)
        };
        let under = |token, got| What::Append {
            first: 10,
            count: 1,
            tail: None,
            token: Some(token),
            got,
        };
        let took = Got::Range(0, 1);
        assert!(is_log(&[10], &[grant(1, 1), op(1, 3, 4, under(1, took))]));
        let late = [grant(1, 1), grant(3, 2), op(1, 6, 7, under(1, took))];
        assert!(!is_log(&[10], &late));
        let beside = [grant(1, 1), grant(5, 2), op(1, 4, 7, under(1, took))];
        assert!(is_log(&[10], &beside));
        // It began before the grant, but stands behind what the new holder appended.
        let newer = What::Append {
            first: 20,
            count: 1,
            tail: None,
            token: Some(2),
            got: Got::Range(0, 1),
        };
        let both = |numbers: &[u64], it: (u64, u64), newer: What| {
            let it = op(1, 4, 12, under(1, Got::Range(it.0, it.1)));
            is_log(numbers, &[grant(1, 1), grant(5, 2), it, op(2, 8, 9, newer)])
        };
        assert!(!both(&[20, 10], (1, 2), newer.clone()));
        let mut behind = newer;
        if let What::Append { got, .. } = &mut behind {
            *got = Got::Range(1, 2);
        }
        assert!(both(&[10, 20], (0, 1), behind));
        let fenced = [grant(1, 1), op(1, 3, 4, under(1, Got::Fenced(2)))];
        assert!(!is_log(&[], &fenced));
        assert!(!is_log(&[], &[grant(1, 2), grant(3, 2)]), "twice");
        assert!(!is_log(&[], &[grant(1, 2), grant(3, 1)]), "back");
    }
}
