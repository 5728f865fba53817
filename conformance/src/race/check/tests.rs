//! What is a history of one log, and what is none.

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
