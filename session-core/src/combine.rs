//! Group commit: what queued up while one commit ran shares the next.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use crate::{Error, Result};

/// Joins concurrent requests into commits, without a thread or a runtime of its own.
///
/// A request gives its executor one turn, so that all that is ready can queue up with it. The first
/// that is polled behind that turn leads, and commits everything that has queued up. What comes
/// while that commit runs waits, and leads or is committed next. A lone request commits where it is
/// polled.
///
/// Dropping the future of a request that is still queued takes it back; one that is being committed
/// is committed. A future that was polled and is then left alone holds up no other, unless it leads
/// already and waits for what its commit needs.
pub struct Combiner<Req, Out> {
    queue: Mutex<Queue<Req, Out>>,
}

struct Queue<Req, Out> {
    waiting: VecDeque<(Req, Arc<Seat<Out>>)>,
    /// A request waits for what its commit needs, or commits.
    led: bool,
}

/// Where one request waits. Its lock is taken behind that of the queue, never before.
struct Seat<Out>(Mutex<State<Out>>);

enum State<Out> {
    Waiting(Option<Waker>),
    Done(Result<Out>),
    Left,
}

impl<Out> Seat<Out> {
    fn done(&self, outcome: Result<Out>) {
        let before = std::mem::replace(&mut *lock(&self.0), State::Done(outcome));
        // Without a lock: a waker may run anything, the drop of another request even.
        if let State::Waiting(Some(waker)) = before {
            waker.wake();
        }
    }

    fn waker(&self) -> Option<Waker> {
        match &mut *lock(&self.0) {
            State::Waiting(waker) => waker.take(),
            State::Done(_) | State::Left => None,
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
        let lead = loop {
            if let Some(outcome) = ticket.outcome_or_turn().await {
                return outcome;
            }
            yield_once().await;
            if let Some(lead) = ticket.lead() {
                break lead;
            }
        };
        let ready = ready.await;
        let (requests, seats) = lock(&self.queue).waiting.drain(..).unzip();
        let round = Round { _lead: lead, seats };
        match ready {
            Ok(guard) => round.deliver(commit(guard, requests)),
            Err(error) => round.deliver(requests.iter().map(|_| Err(error.clone())).collect()),
        }
        ticket
            .outcome_or_turn()
            .await
            .unwrap_or_else(|| Err(lost()))
    }

    fn queue(&self, request: Req) -> Ticket<'_, Req, Out> {
        let seat = Arc::new(Seat(Mutex::new(State::Waiting(None))));
        let queued = (request, Arc::clone(&seat));
        lock(&self.queue).waiting.push_back(queued);
        Ticket {
            combiner: self,
            seat,
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

impl<'a, Req, Out> Ticket<'a, Req, Out> {
    /// The outcome, or `None` if there is none yet and nobody leads.
    async fn outcome_or_turn(&self) -> Option<Result<Out>> {
        poll_fn(|cx| {
            // Dropped behind the locks, for the waker in it.
            let before;
            let queue = lock(&self.combiner.queue);
            let mut state = lock(&self.seat.0);
            before = std::mem::replace(&mut *state, State::Left);
            match before {
                State::Done(outcome) => Poll::Ready(Some(outcome)),
                State::Waiting(_) if queue.led => {
                    *state = State::Waiting(Some(cx.waker().clone()));
                    Poll::Pending
                }
                State::Waiting(_) => {
                    *state = State::Waiting(None);
                    Poll::Ready(None)
                }
                State::Left => Poll::Ready(Some(Err(lost()))),
            }
        })
        .await
    }

    /// Takes the lead, if nobody has it and this request is still queued.
    fn lead(&self) -> Option<Lead<'a, Req, Out>> {
        let mut queue = lock(&self.combiner.queue);
        if queue.led || !matches!(*lock(&self.seat.0), State::Waiting(_)) {
            return None;
        }
        queue.led = true;
        Some(Lead(self.combiner))
    }
}

impl<Req, Out> Drop for Ticket<'_, Req, Out> {
    fn drop(&mut self) {
        if !matches!(*lock(&self.seat.0), State::Waiting(_)) {
            return;
        }
        let mut queue = lock(&self.combiner.queue);
        let mut queued = queue.waiting.iter();
        let place = queued.position(|(_, seat)| Arc::ptr_eq(seat, &self.seat));
        let taken = place.and_then(|place| queue.waiting.remove(place));
        drop(queue);
        drop(taken);
    }
}

/// The right to commit; given up however that ends.
struct Lead<'a, Req, Out>(&'a Combiner<Req, Out>);

impl<Req, Out> Drop for Lead<'_, Req, Out> {
    fn drop(&mut self) {
        let mut queue = lock(&self.0.queue);
        queue.led = false;
        // All of them, and not one that may be polled no more: who is polled first leads.
        let wakers: Vec<Waker> = (queue.waiting.iter())
            .filter_map(|(_, seat)| seat.waker())
            .collect();
        drop(queue);
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// The requests of one commit. Whatever has no outcome in the end is told so.
struct Round<'a, Req, Out> {
    seats: Vec<Arc<Seat<Out>>>,
    /// Given up behind the seats: who has no outcome then is queued.
    _lead: Lead<'a, Req, Out>,
}

impl<Req, Out> Round<'_, Req, Out> {
    fn deliver(mut self, outcomes: Vec<Result<Out>>) {
        let rest = self.seats.split_off(outcomes.len().min(self.seats.len()));
        for (seat, outcome) in std::mem::replace(&mut self.seats, rest)
            .iter()
            .zip(outcomes)
        {
            seat.done(outcome);
        }
    }
}

impl<Req, Out> Drop for Round<'_, Req, Out> {
    fn drop(&mut self) {
        self.seats.iter().for_each(|seat| seat.done(Err(lost())));
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
mod tests;
