//! Steps of which nobody knows: one may be there without an earlier one that it does not rest on.

use super::Oracle;
use crate::dump::Dump;

/// All ways to lose some of so many are tried.
const MOST: usize = 6;

/// How many of the loose steps come behind those that were acknowledged.
pub(super) fn behind(done: usize, loose: &[usize]) -> usize {
    loose.iter().filter(|n| **n >= done).count()
}

impl Oracle {
    /// As [`fits`](Self::fits) where one of the `loose` steps may be there without an earlier one that it
    /// does not rest on. `None` if nothing of that fits.
    pub(super) async fn fits_apart(
        &self,
        found: &Dump,
        done: usize,
        loose: &[usize],
    ) -> Option<bool> {
        let upto = done + behind(done, loose);
        let all = || (0..=upto).take(self.steps.len());
        let open = all().filter(|n| *n == upto || loose.contains(n));
        let open: Vec<usize> = open.take(MOST).collect();
        for lost in 0..1_u32 << open.len() {
            let lost = (0..).zip(&open).filter(|(n, _)| lost >> n & 1 == 1);
            let lost: Vec<usize> = lost.map(|(_, step)| *step).collect();
            let rests = |n: usize, on: usize| match (self.steps.get(n), self.steps.get(on)) {
                (Some(step), Some(before)) => on < n && step.rests_on(*before),
                _ => false,
            };
            let kept: Vec<usize> = all().filter(|n| !lost.contains(n)).collect();
            if kept.iter().any(|n| lost.iter().any(|on| rests(*n, *on))) {
                continue;
            }
            let steps: Vec<_> = kept.iter().filter_map(|n| self.steps.get(*n)).collect();
            let left = steps.len();
            let Ok(apart) = Box::pin(Self::of(steps.into_iter().copied().collect())).await else {
                continue;
            };
            if apart.fits(found, left, 0).is_ok() {
                return Some(kept.iter().any(|n| *n >= done));
            }
        }
        None
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

    /// What a store with these of the steps is taken for.
    fn fits(steps: &[Step], there: &[usize], done: usize, loose: &[usize]) -> Option<bool> {
        let there: Vec<Step> = there.iter().map(|n| steps[*n]).collect();
        let oracle = block_on(Oracle::of(steps.to_vec())).unwrap();
        block_on(oracle.fits_apart(&dump(&there), done, loose))
    }

    #[test]
    fn a_blob_may_be_there_without_events_that_were_only_seen() {
        let steps = [Create(S), Append(S, 0, 2), Put(S, 1, 10), Append(S, 2, 3)];
        // The first append was seen, and the put is under way.
        assert_eq!(fits(&steps, &[0, 2], 1, &[1]), Some(true));
        assert_eq!(fits(&steps, &[0, 1], 1, &[1]), Some(true));
        assert_eq!(fits(&steps, &[0], 1, &[1]), Some(false));
        // Both were seen, and the second append is under way: it has no place without the first.
        assert_eq!(fits(&steps, &[0, 2], 1, &[1, 2]), Some(true));
        assert_eq!(fits(&steps, &[0, 1, 3], 1, &[1, 2]), Some(true));
        assert_eq!(fits(&steps, &[0, 3], 1, &[1, 2]), None);
        // The put was acknowledged.
        assert_eq!(fits(&steps, &[0, 2], 3, &[1]), Some(false));
        assert_eq!(fits(&steps, &[0, 1], 3, &[1]), None);
        assert_eq!(fits(&steps, &[0, 1, 2], 3, &[1]), Some(false));
        // Nothing comes behind the last one.
        assert_eq!(fits(&steps, &[0, 1, 2], 3, &[3]), Some(false));
        assert_eq!(fits(&steps, &[0, 1, 2, 3], 3, &[3]), Some(true));
        assert_eq!(fits(&steps, &[0, 1, 3], 3, &[3]), None);
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

    #[test]
    fn what_is_loose_behind_the_acknowledged_is_counted() {
        assert_eq!(behind(3, &[]), 0);
        assert_eq!(behind(3, &[1, 2]), 0);
        assert_eq!(behind(3, &[1, 3, 4]), 2);
    }
}
