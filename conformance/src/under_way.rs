//! Operations that are begun, and left alone for a while.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_timer::Delay;
use futures_util::future::{Either, MaybeDone, maybe_done, poll_fn, select};
use futures_util::{StreamExt, stream};
use sessionlog_core::Pieces;

use crate::breach::{End, Held};
use crate::patience::patient;

/// After how many polls an operation is left alone, or dropped: each of the first ones, and some of
/// those that only a medium which is far away has.
pub(crate) const POLLS: [usize; 13] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 20, 36, 64];

/// Ticks without a wake behind which something else counts as waiting for the operation.
const STILL: u32 = 4;
/// Behind so long it does in any case: it may look again and again whether a lock is free.
const LONG: Duration = Duration::from_millis(100);

/// Polls an operation at most so often, then drops it. What it gave, if it came to its end.
pub(crate) async fn given_up<T>(polls: usize, operation: impl Future<Output = T>) -> Option<T> {
    let mut operation = pin!(operation);
    let mut left = polls;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        // It is polled again in any case: dropping comes at a poll, not at a time.
        cx.waker().wake_by_ref();
        operation.as_mut().poll(cx).map(Some)
    })
    .await
}

/// An operation that was begun, and is not polled while others go on.
pub(crate) struct UnderWay<F: Future> {
    operation: Pin<Box<MaybeDone<F>>>,
    gate: Gate,
    stood_still: bool,
}

impl<F: Future> UnderWay<F> {
    /// Polls an operation so often, and leaves it alone.
    pub(crate) async fn polled(operation: F, polls: usize) -> Self {
        Self::begun(operation, polls, Gate::default()).await
    }

    /// Polls an operation until it waits at a gate.
    pub(crate) async fn at(operation: F, gate: &Gate) -> Self {
        Self::begun(operation, 64, gate.clone()).await
    }

    async fn begun(operation: F, polls: usize, gate: Gate) -> Self {
        let mut begun = Self {
            operation: Box::pin(maybe_done(operation)),
            gate,
            stood_still: true,
        };
        let mut left = polls;
        poll_fn(|cx| {
            if left == 0 || begun.gate.is_reached() {
                return Poll::Ready(());
            }
            left -= 1;
            cx.waker().wake_by_ref();
            begun.operation.as_mut().poll(cx)
        })
        .await;
        begun
    }

    /// Whether it came to its end.
    pub(crate) fn is_done(&self) -> bool {
        matches!(*self.operation, MaybeDone::Done(_))
    }

    /// Whether it was left alone all the while.
    pub(crate) fn stood_still(&self) -> bool {
        self.stood_still
    }

    /// Does something else while this one stands still. If that waits for this one, as it may where
    /// both need the same lock, then this one goes on beside it.
    pub(crate) async fn beside<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = pin!(other);
        // Most need no wait, and no timer for one.
        if let Poll::Ready(done) = poll_fn(|cx| Poll::Ready(other.as_mut().poll(cx))).await {
            return done;
        }
        let alone = Box::pin(patient(STILL, other.as_mut()));
        if let Either::Left((Some(done), _)) = select(alone, Delay::new(LONG)).await {
            return done;
        }
        self.stood_still = false;
        self.gate.open();
        poll_fn(|cx| {
            // Once it has ended, a further poll does nothing.
            let _ = self.operation.as_mut().poll(cx);
            other.as_mut().poll(cx)
        })
        .await
    }

    /// Goes on to its end, and what it gave.
    pub(crate) async fn end(mut self) -> Held<F::Output> {
        self.gate.open();
        self.operation.as_mut().await;
        let gave = self.operation.as_mut().take_output();
        gave.ok_or_else(|| End::Broken("an operation ended twice".into()))
    }
}

/// Where content waits until somebody lets it go on.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<[AtomicBool; 2]>);

impl Gate {
    /// Content that waits at the gate behind its first piece.
    pub(crate) fn between(&self, first: impl Into<Bytes>, rest: &'static [u8]) -> Pieces {
        let gate = self.clone();
        let rest = async move {
            poll_fn(|cx| {
                let [reached, open] = &*gate.0;
                reached.store(true, Ordering::SeqCst);
                if open.load(Ordering::SeqCst) {
                    return Poll::Ready(());
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
            Ok(Bytes::from_static(rest))
        };
        let first = stream::iter([Ok(first.into())]);
        first.chain(stream::once(rest)).boxed()
    }

    fn is_reached(&self) -> bool {
        let [reached, _] = &*self.0;
        reached.load(Ordering::SeqCst)
    }

    fn open(&self) {
        let [_, open] = &*self.0;
        open.store(true, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ends_at(poll: usize) -> usize {
        let mut polls = 0;
        poll_fn(move |_| {
            polls += 1;
            if polls < poll {
                return Poll::Pending;
            }
            Poll::Ready(polls)
        })
        .await
    }

    #[test]
    fn an_operation_is_polled_as_often_as_is_said() {
        pollster::block_on(async {
            assert_eq!(given_up(2, ends_at(3)).await, None);
            assert_eq!(given_up(3, ends_at(3)).await, Some(3));
            assert!(!UnderWay::polled(ends_at(3), 2).await.is_done());
            let whole = UnderWay::polled(ends_at(3), 9).await;
            assert!(whole.is_done());
            assert_eq!(whole.end().await.ok(), Some(3));
        });
    }

    #[test]
    fn what_waits_for_an_operation_lets_it_go_on() {
        let lock = futures_util::lock::Mutex::new(());
        let gate = Gate::default();
        let holds = async {
            let _held = lock.lock().await;
            gate.between("a", b"b").count().await
        };
        pollster::block_on(async {
            let mut holds = UnderWay::at(holds, &gate).await;
            assert!(!holds.is_done());
            holds.beside(async {}).await;
            assert!(holds.stood_still());
            holds.beside(async { drop(lock.lock().await) }).await;
            assert!(holds.is_done() && !holds.stood_still());
            assert_eq!(holds.end().await.ok(), Some(2));
        });
    }
}
