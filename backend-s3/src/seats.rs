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
}
