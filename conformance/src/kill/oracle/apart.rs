//! Steps of which nobody knows: later ones may be there without them.

use super::{Before, Oracle};
use crate::breach::Held;
use crate::dump::Dump;

/// All ways to lose some of so many are tried.
const MOST: usize = 4;

impl Oracle {
    /// As [`fits`](Self::fits), for a store that has lost some of the loose steps, and has later ones that
    /// do not rest on them. `None` if it is none of these.
    pub(super) async fn fits_apart(&self, found: &Dump, before: &Before) -> Option<bool> {
        let loose = before.loose.get(..MOST).unwrap_or(&before.loose);
        for lost in 1..1_u32 << loose.len() {
            let lost = (0..).zip(loose).filter(|(n, _)| lost >> n & 1 == 1);
            let lost: Vec<usize> = lost.map(|(_, step)| *step).collect();
            if let Ok(further) = self.fits_without(found, before, &lost).await {
                return Some(further);
            }
        }
        None
    }

    /// A snapshot that rests on what is lost is lost with it: it may be at any time.
    async fn fits_without(&self, found: &Dump, before: &Before, lost: &[usize]) -> Held<bool> {
        let step = |n: usize| self.steps.get(n).copied();
        let rests = |n: usize, on: usize| {
            n > on
                && step(n)
                    .zip(step(on))
                    .is_some_and(|(step, before)| step.rests_on(before))
        };
        let rests = |n: usize| lost.iter().any(|on| rests(n, *on));
        let saved = |n: usize| step(n).is_some_and(|step| step.saves());
        let gone = |n: &usize| lost.contains(n) || saved(*n) && rests(*n);
        let kept = (0..self.steps.len()).filter(|n| !gone(n));
        let kept: Vec<usize> = kept.take_while(|n| !rests(*n)).collect();
        let upto = |end: usize| kept.iter().filter(|n| **n < end).count();
        let (done, all) = (upto(before.done), upto(before.done + before.seen));
        let steps = kept.iter().filter_map(|n| step(*n)).collect();
        let without = Box::pin(Self::of(steps)).await?;
        without.fits(found, done, all - done)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pollster::block_on;
    use sessionlog_core::Memory;

    use super::*;
    use crate::bench::Handle;
    use crate::kill::work::Step::{Append, Create, Delete, Put, Remove, Save};
    use crate::kill::work::{Step, Who, Worker};

    const S: Who = Who("s", 1);
    const OTHER: Who = Who("other", 2);

    fn dump(steps: &[Step]) -> Dump {
        let store: Handle = Arc::new(Memory::new());
        let mut worker = Worker::new(Arc::clone(&store));
        for step in steps {
            block_on(worker.perform(*step)).unwrap();
        }
        block_on(Dump::of(&store)).unwrap()
    }

    /// What a store with these of the steps is taken for: `done` were acknowledged, of these or behind
    /// them the second was not, and `seen` more were seen.
    fn fits(steps: &[Step], there: &[usize], done: usize, seen: usize) -> Option<bool> {
        let there: Vec<Step> = there.iter().map(|n| steps[*n]).collect();
        let oracle = block_on(Oracle::of(steps.to_vec())).unwrap();
        let before = Before {
            done,
            seen,
            loose: vec![1],
        };
        block_on(oracle.fits_apart(&dump(&there), &before))
    }

    #[test]
    fn a_blob_may_be_there_without_events_that_were_only_seen() {
        let steps = [Create(S), Append(S, 0, 2), Put(S, 1, 10), Append(S, 2, 3)];
        // The append was seen, and the put is under way.
        assert_eq!(fits(&steps, &[0, 2], 1, 1), Some(true));
        assert_eq!(fits(&steps, &[0], 1, 1), Some(false));
        assert_eq!(fits(&steps, &[0, 1, 2], 1, 1), None);
        // Both were seen, and the second append is under way: it has no place without the first.
        assert_eq!(fits(&steps, &[0, 2], 1, 2), Some(true));
        assert_eq!(fits(&steps, &[0, 3], 1, 2), None);
        assert_eq!(fits(&steps, &[0, 2, 3], 1, 2), None);
        // The put was acknowledged.
        assert_eq!(fits(&steps, &[0, 2], 3, 0), Some(false));
        assert_eq!(fits(&steps, &[0], 3, 0), None);
        assert_eq!(fits(&steps, &[0, 2, 3], 3, 0), None);
    }

    #[test]
    fn a_snapshot_is_lost_with_what_it_covers() {
        let steps = [Create(S), Append(S, 0, 2), Save(S, 2), Put(S, 1, 10)];
        assert_eq!(fits(&steps, &[0], 3, 0), Some(false));
        assert_eq!(fits(&steps, &[0, 3], 3, 0), Some(true));
        assert_eq!(fits(&steps, &[0, 3], 4, 0), Some(false));
        assert_eq!(fits(&steps, &[0], 4, 0), None);
    }

    #[test]
    fn what_rests_on_a_lost_step_ends_what_there_is() {
        let steps = [Create(S), Append(S, 0, 2), Append(S, 2, 3), Put(S, 1, 10)];
        assert_eq!(fits(&steps, &[0, 3], 1, 2), None);
        assert_eq!(fits(&steps, &[0], 1, 2), Some(false));
    }

    #[test]
    fn any_of_several_may_be_lost() {
        let steps = [Create(S), Put(S, 1, 10), Append(S, 0, 1), Put(S, 2, 10)];
        let fits = |there: &[usize]| {
            let there: Vec<Step> = there.iter().map(|n| steps[*n]).collect();
            let oracle = block_on(Oracle::of(steps.to_vec())).unwrap();
            let before = Before {
                done: 1,
                seen: 2,
                loose: vec![1, 2],
            };
            block_on(oracle.fits_apart(&dump(&there), &before))
        };
        assert_eq!(fits(&[0, 2]), Some(true));
        assert_eq!(fits(&[0, 1]), Some(true));
        assert_eq!(fits(&[0]), Some(false));
        // The second blob rests on the first, as far as anybody knows.
        assert_eq!(fits(&[0, 3]), None);
        assert_eq!(fits(&[0, 1, 3]), Some(true));
    }

    #[test]
    fn each_session_and_each_kind_of_thing_is_apart() {
        let log = Append(S, 0, 1);
        let (put, remove, save) = (Put(S, 1, 1), Remove(S, 1, 1), Save(S, 1));
        let (create, delete) = (Create(S), Delete(S));
        for (step, before, rests) in [
            (log, log, true),
            (log, put, false),
            (log, save, false),
            (log, create, true),
            (put, log, false),
            (put, save, false),
            (put, create, true),
            (remove, put, true),
            (remove, log, false),
            (save, log, true),
            (save, put, false),
            (save, delete, true),
            (delete, put, true),
            (create, delete, true),
            (log, Create(OTHER), false),
            (log, Append(OTHER, 0, 1), false),
            (delete, Delete(OTHER), false),
        ] {
            assert_eq!(step.rests_on(before), rests, "{step} on {before}");
        }
    }
}
