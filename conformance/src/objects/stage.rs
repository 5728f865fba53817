//! Several clients at once, one request at a time, in an order that a seed decides.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use futures_util::future::{LocalBoxFuture, join_all, poll_fn};

use crate::talk::Dice;

/// Where the requests of several clients wait for their turn, of which there is one at a time.
///
/// A [`Watch`](super::Watch) that awaits [`turn`](Self::turn) brings a client onto it. No clock and
/// no thread is in it: the same seed and the same clients give the same order.
///
/// ```
/// use std::sync::Arc;
/// use futures_util::FutureExt;
/// use futures_util::future::BoxFuture;
/// use object_store::{ObjectStoreExt, memory::InMemory};
/// use sessionlog_conformance::objects::{Fault, Request, Stage, Watch, Wrapped};
///
/// struct Client(Stage, usize);
///
/// impl Watch for Client {
///     fn request<'a>(&'a self, _: &'a Request) -> BoxFuture<'a, Fault> {
///         Box::pin(async { self.0.turn(self.1).await; Fault::None })
///     }
/// }
///
/// # pollster::block_on(async {
/// let stage = Stage::new(7, 2);
/// let one = Wrapped::around(Arc::new(InMemory::new()), Client(stage.clone(), 0));
/// let other = one.client(Client(stage.clone(), 1));
/// let (a, b) = ("a".into(), "b".into());
/// let puts = [one.put(&a, "content".into()), other.put(&b, "content".into())];
/// let done = stage.run(puts.map(|put| put.boxed_local()).into()).await;
/// assert!(done.iter().all(Result::is_ok));
/// # });
/// ```
#[derive(Clone)]
pub struct Stage(Arc<Mutex<State>>);

struct State {
    dice: Dice,
    /// The client that goes on while the others wait, so that some wait for long.
    favourite: usize,
    clients: u64,
    waiting: Vec<Ticket>,
    /// The next ticket's number.
    next: u64,
}

struct Ticket {
    number: u64,
    client: usize,
    waker: Waker,
    called: bool,
}

impl Stage {
    /// For so many clients, of which now one goes on for long and now another, as the seed decides.
    pub fn new(seed: u64, clients: usize) -> Self {
        Self(Arc::new(Mutex::new(State {
            dice: Dice::new(seed),
            favourite: 0,
            clients: clients as u64,
            waiting: Vec::new(),
            next: 0,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is the turn of a request of this client. Who drops the future has no turn.
    pub async fn turn(&self, client: usize) {
        let mut leave = Leave(self, None);
        poll_fn(|cx| {
            let mut state = self.lock();
            let Some(number) = leave.1 else {
                let number = state.next;
                state.next += 1;
                leave.1 = Some(number);
                state.waiting.push(Ticket {
                    number,
                    client,
                    waker: cx.waker().clone(),
                    called: false,
                });
                return Poll::Pending;
            };
            match state.waiting.iter_mut().find(|t| t.number == number) {
                Some(ticket) if !ticket.called => {
                    ticket.waker.clone_from(cx.waker());
                    Poll::Pending
                }
                _ => Poll::Ready(()),
            }
        })
        .await;
    }

    /// Runs all, with one request at a time, and gives what each came to.
    pub async fn run<T>(&self, all: Vec<LocalBoxFuture<'_, T>>) -> Vec<T> {
        let mut all = std::pin::pin!(join_all(all));
        poll_fn(|cx| {
            loop {
                if let Poll::Ready(done) = all.as_mut().poll(cx) {
                    return Poll::Ready(done);
                }
                // Nobody waits for a turn: they wait for something else, which wakes them.
                if !self.call() {
                    return Poll::Pending;
                }
            }
        })
        .await
    }

    /// Calls the next request, if one waits.
    fn call(&self) -> bool {
        let mut state = self.lock();
        let state = &mut *state;
        if state.dice.below(6) == 0 {
            let next = state.dice.below(state.clients);
            state.favourite = usize::try_from(next).unwrap_or(0);
        }
        let waiting: Vec<_> = state.waiting.iter().filter(|t| !t.called).collect();
        let preferred = waiting.iter().find(|t| t.client == state.favourite);
        let chosen = preferred.or_else(|| state.dice.pick(&waiting));
        let Some(number) = chosen.map(|t| t.number) else {
            return false;
        };
        if let Some(ticket) = state.waiting.iter_mut().find(|t| t.number == number) {
            ticket.called = true;
            ticket.waker.wake_by_ref();
        }
        true
    }
}

/// Takes a request off the stage, also one that is dropped.
struct Leave<'a>(&'a Stage, Option<u64>);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.1 {
            self.0.lock().waiting.retain(|t| t.number != number);
        }
    }
}
