//! Waiting for what may never come, without a hang.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures_timer::Delay;
use futures_util::FutureExt;
use futures_util::future::poll_fn;

use crate::breach::{Held, breach};

const TICK: Duration = Duration::from_millis(5);

struct Bell {
    rung: AtomicBool,
    outer: Waker,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.store(true, Ordering::SeqCst);
        self.outer.wake_by_ref();
    }
}

/// Runs a future for as long as somebody wakes it. `None` once nobody did for `ticks` ticks of 5
/// milliseconds in a row: what nobody wakes for that long counts as never.
///
/// The future is polled when it was woken, and at no other time, so that a missing wake is seen.
pub(crate) async fn patient<F: Future>(ticks: u32, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut bell: Option<Arc<Bell>> = None;
    let mut idle = 0;
    // Most need no wait, and no timer for one.
    let mut tick: Option<Delay> = None;
    poll_fn(move |cx| {
        let woken = bell
            .as_ref()
            .is_none_or(|b| b.rung.swap(false, Ordering::SeqCst));
        if woken {
            idle = 0;
            let ring = Arc::new(Bell {
                rung: AtomicBool::new(false),
                outer: cx.waker().clone(),
            });
            let waker = Waker::from(Arc::clone(&ring));
            bell = Some(ring);
            if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return Poll::Ready(Some(value));
            }
            if bell.as_ref().is_some_and(|b| b.rung.load(Ordering::SeqCst)) {
                cx.waker().wake_by_ref();
            }
        }
        let tick = tick.get_or_insert_with(|| Delay::new(TICK));
        while tick.poll_unpin(cx).is_ready() {
            tick.reset(TICK);
            idle += 1;
            if idle >= ticks {
                return Poll::Ready(None);
            }
        }
        Poll::Pending
    })
    .await
}

/// Runs something to its end, whatever way it ends: a wait that nobody ends and a panic are
/// breaches.
pub(crate) async fn guarded(ticks: u32, what: &str, future: impl Future<Output = Held>) -> Held {
    match AssertUnwindSafe(patient(ticks, future))
        .catch_unwind()
        .await
    {
        Ok(Some(outcome)) => outcome,
        Ok(None) => Err(breach(format!("{what} waits, and nobody wakes it"))),
        Err(panic) => Err(breach(format!("{what} panicked: {}", words_of(&*panic)))),
    }
}

/// The words of a panic.
pub(crate) fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|t| (*t).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without words".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::{pending, ready};

    #[test]
    fn what_is_woken_ends_and_what_is_not_is_given_up() {
        assert_eq!(pollster::block_on(patient(2, ready(7))), Some(7));
        assert_eq!(pollster::block_on(patient(2, pending::<()>())), None);
        let slow = Delay::new(Duration::from_millis(12));
        assert_eq!(pollster::block_on(patient(400, slow)), Some(()));
        let mut polls = 0;
        let unwoken = poll_fn(|_| {
            polls += 1;
            if polls > 1 {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        });
        assert_eq!(pollster::block_on(patient(4, unwoken)), None);
    }
}
