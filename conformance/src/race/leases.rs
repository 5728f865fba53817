//! Whether a lease was held by one at a time.

use super::history::{Op, What};
use crate::breach::{Held, ensure};

/// A breach if two held the lease at the same time. Who loses it by force holds it no longer than until
/// that begins.
pub(super) fn one_at_a_time(ops: &[Op]) -> Held {
    let mut held: Vec<(u64, u64, u64)> = Vec::new();
    for op in ops {
        let (
            What::Acquire {
                token: Some(token), ..
            },
            Some(from),
        ) = (&op.what, op.ended)
        else {
            continue;
        };
        let given_back = ops.iter().find(|other| {
            other.who == op.who && matches!(other.what, What::Release { token: t } if t == *token)
        });
        // Who was killed held it to the end of the last thing that it did.
        let last = ops
            .iter()
            .filter(|other| other.who == op.who)
            .map(|other| other.began)
            .max();
        let until = given_back.map(|back| back.began).or(last);
        let until = until.unwrap_or(from).max(from);
        // A grant by force that nobody was told of may have come, too.
        let taken = ops.iter().filter(|other| match other.what {
            What::Acquire {
                forced: true,
                token: newer,
            } => newer.map_or(other.ended.is_none(), |newer| newer > *token),
            _ => false,
        });
        let taken = taken.map(|other| other.began).min();
        let until = until.min(taken.unwrap_or(until));
        // Who is told of a grant behind a newer one never held it.
        if from <= until {
            held.push((from, until, *token));
        }
    }
    held.sort_unstable();
    for (one, next) in held.iter().zip(held.iter().skip(1)) {
        ensure!(
            one.1 <= next.0,
            "token {} was held from ticket {} to {}, and token {} from {} on",
            one.2,
            one.0,
            one.1,
            next.2,
            next.0
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_that_overlap_are_found() {
        let op = |who, began, what| Op {
            who,
            n: began,
            began,
            ended: Some(began + 1),
            what,
        };
        let take = |who, began, token| {
            let what = What::Acquire {
                forced: false,
                token: Some(token),
            };
            op(who, began, what)
        };
        let give = |who, began, token| op(who, began, What::Release { token });
        let apart = [take(1, 1, 1), give(1, 5, 1), take(2, 6, 2), give(2, 9, 2)];
        assert!(one_at_a_time(&apart).is_ok());
        let beside = [take(1, 1, 1), take(2, 3, 2), give(1, 5, 1), give(2, 9, 2)];
        assert!(one_at_a_time(&beside).is_err());
        let forces = |who, began, token| {
            let what = What::Acquire {
                forced: true,
                token,
            };
            op(who, began, what)
        };
        let taken = [
            take(1, 1, 1),
            forces(2, 3, Some(2)),
            give(1, 5, 1),
            give(2, 9, 2),
        ];
        assert!(one_at_a_time(&taken).is_ok());
        let freed = [forces(2, 1, Some(2)), take(3, 5, 3), give(2, 9, 2)];
        assert!(
            one_at_a_time(&freed).is_err(),
            "who took it by force has it"
        );
        let long = |began, ended, what| Op {
            ended: Some(ended),
            ..op(began, began, what)
        };
        let grant = |token| forces(0, 0, Some(token)).what;
        let overtaken = [long(1, 8, grant(1)), long(2, 6, grant(2)), give(2, 9, 2)];
        assert!(
            one_at_a_time(&overtaken).is_ok(),
            "told of it behind the newer one"
        );
        let killed = op(2, 3, forces(2, 3, None).what);
        let untold = |ended| {
            let killed = Op {
                ended,
                ..killed.clone()
            };
            [
                take(1, 1, 1),
                killed,
                take(3, 6, 3),
                give(1, 8, 1),
                give(3, 9, 3),
            ]
        };
        assert!(one_at_a_time(&untold(None)).is_ok());
        assert!(one_at_a_time(&untold(Some(4))).is_err(), "it was refused");
    }
}
