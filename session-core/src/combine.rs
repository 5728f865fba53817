//! Group commit: what queued up while one commit ran shares the next.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use crate::{Error, Result};

/// Joins concurrent requests into commits, without a thread or a runtime of its own.
///
/// The first request leads: it gives its executor one turn, so that all that is ready can queue up
/// behind it, and then commits everything that has. What comes while that commit runs waits, and
/// its first request leads next. A lone request commits at once, where it is polled.
///
/// Dropping the future of a request that is still queued takes it back; one that is being committed
/// is committed.
pub struct Combiner<Req, Out> {
    queue: Mutex<Queue<Req, Out>>,
}

struct Queue<Req, Out> {
    waiting: VecDeque<(Req, Arc<Seat<Out>>)>,
    led: bool,
}

/// Where one request waits.
struct Seat<Out>(Mutex<State<Out>>);

enum State<Out> {
    Waiting(Option<Waker>),
    Leading,
    Done(Result<Out>),
    Left,
}

impl<Out> Seat<Out> {
    fn set(&self, state: State<Out>) {
        if let State::Waiting(Some(waker)) = std::mem::replace(&mut *lock(&self.0), state) {
            waker.wake();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<Req, Out> Default for Combiner<Req, Out> {
    fn default() -> Self {
        Self {
            queue: Mutex::new(Queue {
                waiting: VecDeque::new(),
                led: false,
            }),
        }
    }
}

impl<Req, Out> Combiner<Req, Out> {
    /// Hands in a request and waits for its outcome.
    ///
    /// If this request comes to lead, `ready` is awaited first (a lock that the commit needs, say),
    /// and `commit` is then called with all queued requests, in order; it gives an outcome for each.
    ///
    /// # Errors
    /// What `commit` gave for this request; what `ready` gave, to all that were queued by then;
    /// `Indeterminate` if the commit panicked.
    pub async fn submit<G>(
        &self,
        request: Req,
        ready: impl Future<Output = Result<G>>,
        commit: impl FnOnce(G, Vec<Req>) -> Vec<Result<Out>>,
    ) -> Result<Out> {
        let ticket = self.queue(request);
        if let Some(outcome) = ticket.outcome_or_lead().await {
            return outcome;
        }
        yield_once().await;
        let ready = ready.await;
        let (requests, seats) = lock(&self.queue).waiting.drain(..).unzip();
        let round = Round {
            combiner: self,
            seats,
        };
        match ready {
            Ok(guard) => round.deliver(commit(guard, requests)),
            Err(error) => round.deliver(requests.iter().map(|_| Err(error.clone())).collect()),
        }
        ticket
            .outcome_or_lead()
            .await
            .unwrap_or_else(|| Err(lost()))
    }

    fn queue(&self, request: Req) -> Ticket<'_, Req, Out> {
        let mut queue = lock(&self.queue);
        let state = if queue.led {
            State::Waiting(None)
        } else {
            State::Leading
        };
        queue.led = true;
        let seat = Arc::new(Seat(Mutex::new(state)));
        queue.waiting.push_back((request, Arc::clone(&seat)));
        Ticket {
            combiner: self,
            seat,
        }
    }

    fn hand_over(queue: &mut Queue<Req, Out>) {
        match queue.waiting.front() {
            Some((_, next)) => next.set(State::Leading),
            None => queue.led = false,
        }
    }
}

fn lost() -> Error {
    Error::indeterminate("the commit was broken off before it had an outcome")
}

/// A request that is waited for.
struct Ticket<'a, Req, Out> {
    combiner: &'a Combiner<Req, Out>,
    seat: Arc<Seat<Out>>,
}

impl<Req, Out> Ticket<'_, Req, Out> {
    /// The outcome, or `None` if this request is to lead.
    async fn outcome_or_lead(&self) -> Option<Result<Out>> {
        poll_fn(|cx| {
            let mut state = lock(&self.seat.0);
            match std::mem::replace(&mut *state, State::Left) {
                State::Done(outcome) => Poll::Ready(Some(outcome)),
                State::Leading => {
                    *state = State::Leading;
                    Poll::Ready(None)
                }
                State::Waiting(_) => {
                    *state = State::Waiting(Some(cx.waker().clone()));
                    Poll::Pending
                }
                State::Left => Poll::Ready(Some(Err(lost()))),
            }
        })
        .await
    }
}

impl<Req, Out> Drop for Ticket<'_, Req, Out> {
    fn drop(&mut self) {
        if matches!(*lock(&self.seat.0), State::Done(_) | State::Left) {
            return;
        }
        let mut queue = lock(&self.combiner.queue);
        let before = queue.waiting.len();
        queue
            .waiting
            .retain(|(_, seat)| !Arc::ptr_eq(seat, &self.seat));
        let was_queued = queue.waiting.len() < before;
        let led = matches!(*lock(&self.seat.0), State::Leading);
        if was_queued && led {
            Combiner::hand_over(&mut queue);
        }
    }
}

/// The requests of one commit; hands over when it is done, however it ends.
struct Round<'a, Req, Out> {
    combiner: &'a Combiner<Req, Out>,
    seats: Vec<Arc<Seat<Out>>>,
}

impl<Req, Out> Round<'_, Req, Out> {
    fn deliver(mut self, outcomes: Vec<Result<Out>>) {
        let rest = self.seats.split_off(outcomes.len().min(self.seats.len()));
        for (seat, outcome) in std::mem::replace(&mut self.seats, rest)
            .iter()
            .zip(outcomes)
        {
            seat.set(State::Done(outcome));
        }
    }
}

impl<Req, Out> Drop for Round<'_, Req, Out> {
    fn drop(&mut self) {
        self.seats
            .iter()
            .for_each(|seat| seat.set(State::Done(Err(lost()))));
        Combiner::hand_over(&mut lock(&self.combiner.queue));
    }
}

async fn yield_once() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            Poll::Ready(())
        } else {
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::{FutureExt, join_all, ready};
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn echo(commits: &AtomicUsize) -> impl FnOnce((), Vec<usize>) -> Vec<Result<usize>> + '_ {
        |(), requests| {
            commits.fetch_add(1, Ordering::Relaxed);
            requests.into_iter().map(Ok).collect()
        }
    }

    #[test]
    fn all_that_is_ready_shares_one_commit() {
        let combiner = Combiner::default();
        let commits = AtomicUsize::new(0);
        let all = (0..64).map(|n| combiner.submit(n, ready(Ok(())), echo(&commits)));
        let outcomes: Vec<_> = pollster::block_on(join_all(all))
            .into_iter()
            .flatten()
            .collect();
        assert_eq!(outcomes, (0..64).collect::<Vec<_>>());
        assert_eq!(commits.into_inner(), 1);
    }

    #[test]
    fn a_dropped_request_is_taken_back_and_a_dropped_leader_hands_over() {
        let combiner = Combiner::default();
        let commits = AtomicUsize::new(0);
        let mut leader = Box::pin(combiner.submit(1, ready(Ok(())), echo(&commits)));
        let mut second = Box::pin(combiner.submit(2, ready(Ok(())), echo(&commits)));
        let third = combiner.submit(3, ready(Ok(())), echo(&commits));
        assert!(leader.as_mut().now_or_never().is_none());
        assert!(second.as_mut().now_or_never().is_none());
        drop(leader);
        assert_eq!(pollster::block_on(second).unwrap(), 2);
        assert_eq!(pollster::block_on(third).unwrap(), 3);
    }

    #[test]
    fn an_error_of_the_lock_reaches_all_and_the_next_works() {
        let combiner = Combiner::<u8, u8>::default();
        let refuse = || ready(Err::<(), _>(Error::unavailable("locked")));
        let all = (0..3).map(|n| combiner.submit(n, refuse(), |(), _| Vec::new()));
        assert!(pollster::block_on(join_all(all)).iter().all(Result::is_err));
        let next = combiner.submit(7, ready(Ok(())), |(), r| r.into_iter().map(Ok).collect());
        assert_eq!(pollster::block_on(next).unwrap(), 7);
    }

    #[test]
    fn a_panic_in_a_commit_leaves_nobody_waiting() {
        let combiner = Arc::new(Combiner::<u8, u8>::default());
        let broken = Arc::clone(&combiner);
        let died = std::thread::spawn(move || {
            pollster::block_on(broken.submit(1, ready(Ok(())), |(), _| panic!("on purpose")))
        });
        assert!(died.join().is_err());
        let next = combiner.submit(7, ready(Ok(())), |(), r| r.into_iter().map(Ok).collect());
        assert_eq!(pollster::block_on(next).unwrap(), 7);
    }

    #[test]
    fn many_threads_get_each_their_own_answer() {
        let combiner = Combiner::<usize, usize>::default();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let combiner = &combiner;
                scope.spawn(move || {
                    for n in 0..500 {
                        let n = thread * 1000 + n;
                        let double = |(), r: Vec<usize>| r.into_iter().map(|n| Ok(n * 2)).collect();
                        let got = pollster::block_on(combiner.submit(n, ready(Ok(())), double));
                        assert_eq!(got.unwrap(), n * 2);
                    }
                });
            }
        });
    }
}
