//! Sessions that a handle remembers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sessionlog_core::SessionId;

use crate::seat::Seat;

/// Sessions that are remembered; those in use are, however many they are.
const MOST: usize = 4096;

/// What is known and under way of each session, and when it was asked for last.
pub(crate) struct Seats(Mutex<Kept>);

struct Kept {
    by_id: HashMap<SessionId, (u64, Arc<Seat>)>,
    /// Counts whoever asks for a seat.
    asked: u64,
    /// Above so many, those are forgotten that were asked for the longest ago.
    most: usize,
}

impl Seats {
    /// The seat of a session, made if there is none.
    pub(crate) fn seat(&self, id: &SessionId, make: impl FnOnce() -> Seat) -> Arc<Seat> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.asked += 1;
        let asked = kept.asked;
        if let Some((last, seat)) = kept.by_id.get_mut(id) {
            *last = asked;
            return Arc::clone(seat);
        }
        if kept.by_id.len() >= kept.most {
            kept.forget();
        }
        let seat = Arc::new(make());
        kept.by_id.insert(id.clone(), (asked, Arc::clone(&seat)));
        seat
    }
}

impl Kept {
    /// Forgets half of the sessions: of those that nobody uses the ones that were asked for the
    /// longest ago. Half of them at a time, so that what it costs is shared by as many.
    fn forget(&mut self) {
        let idle = |seat: &Arc<Seat>| Arc::strong_count(seat) == 1 && !seat.is_busy();
        let all = self.by_id.values();
        let mut ages: Vec<u64> = all
            .filter(|(_, s)| idle(s))
            .map(|(last, _)| *last)
            .collect();
        let half = (self.by_id.len() / 2).min(ages.len());
        if let Some(at) = half.checked_sub(1) {
            let (_, youngest, _) = ages.select_nth_unstable(at);
            let youngest = *youngest;
            self.by_id
                .retain(|_, (last, seat)| *last > youngest || !idle(seat));
        }
        // If almost all are in use the next look is put off.
        self.most = MOST.max(2 * self.by_id.len());
    }
}

impl Default for Seats {
    fn default() -> Self {
        Self(Mutex::new(Kept {
            by_id: HashMap::new(),
            asked: 0,
            most: MOST,
        }))
    }
}

impl Drop for Seats {
    fn drop(&mut self) {
        // A commit that nobody waits for any more holds its seat, which holds it.
        let kept = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        kept.by_id.values().for_each(|(_, seat)| seat.let_go());
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures_util::FutureExt;
    use object_store::memory::InMemory;

    use super::*;
    use crate::{Bucket, Options};

    #[test]
    fn those_that_were_used_last_are_remembered() {
        let bucket = Bucket::new(Arc::new(InMemory::new()), "", Options::default());
        let id = |n: usize| SessionId::new(&format!("s{n}")).unwrap();
        let seats: Vec<_> = (0..MOST)
            .map(|n| Arc::downgrade(&bucket.seat(&id(n))))
            .collect();
        let there = |n: usize| seats[n].strong_count() > 0;
        let held = bucket.seat(&id(1));
        drop(bucket.seat(&id(0)));
        assert!((0..MOST).all(there));
        drop(bucket.seat(&id(MOST)));
        assert!(there(0), "asked for again");
        assert!(there(1), "in use");
        let forgotten = (0..MOST).filter(|n| !there(*n)).collect::<Vec<_>>();
        assert_eq!(forgotten, (2..MOST / 2 + 2).collect::<Vec<_>>());
        assert!(Arc::ptr_eq(&held, &bucket.seat(&id(1))));
    }

    /// Of a session that nobody waits for: a run that nobody drives, a write whose outcome is not known,
    /// and a run that came to its end.
    #[test]
    fn what_is_under_way_or_to_be_settled_is_not_forgotten() {
        let bucket = Bucket::new(Arc::new(InMemory::new()), "", Options::default());
        let id = |n: usize| SessionId::new(&format!("s{n}")).unwrap();
        let seats: Vec<_> = (0..MOST).map(|n| bucket.seat(&id(n))).collect();
        seats[0].under_way(pending().boxed());
        seats[1].unsettled();
        seats[2].under_way(ready(Arc::new(Vec::new())).boxed());
        let weak: Vec<_> = seats.iter().map(Arc::downgrade).collect();
        drop(seats);
        drop(bucket.seat(&id(MOST)));
        let forgotten = |n: usize| weak[n].strong_count() == 0;
        assert_eq!([0, 1, 2, 3].map(forgotten), [false, false, true, true]);
    }

    #[test]
    fn a_run_that_nobody_drives_does_not_keep_its_seat_for_ever() {
        let bucket = Bucket::new(Arc::new(InMemory::new()), "", Options::default());
        let seat = bucket.seat(&SessionId::new("s").unwrap());
        let (run, weak) = (Arc::clone(&seat), Arc::downgrade(&seat));
        let run = async move {
            let _seat = run;
            pending().await
        };
        seat.under_way(run.boxed());
        drop(seat);
        assert_eq!(weak.strong_count(), 2);
        drop(bucket);
        assert_eq!(weak.strong_count(), 0);
    }
}
