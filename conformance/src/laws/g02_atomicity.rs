//! G2: a batch is visible whole or not at all.

use std::sync::Arc;
use std::task::Poll;

use futures_util::future::{join, poll_fn};

use crate::Law;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{Held, ensure, ensure_eq};
use crate::law::law;
use crate::make::{event, event_id, events};

pub(super) const LAWS: &[Law] = &[
    law!(
        g02_a_reader_sees_whole_batches,
        "Whatever moment a reader looks at, it sees each batch whole or not at all."
    ),
    law!(
        g02_a_dropped_append_leaves_all_or_nothing,
        "An append whose future is dropped after any number of polls is there whole or not at all."
    ),
    law!(
        g02_a_dropped_append_leaves_no_lock,
        "After an append's future was dropped, the next append works."
    ),
];

async fn g02_a_reader_sees_whole_batches(bench: &Bench) -> Held {
    const BATCH: u64 = 7;
    const BATCHES: u64 = 20;
    let (store, session) = bench.session("s").await?;
    let reader = Arc::clone(&store);
    let written = async {
        for n in 0..BATCHES {
            let batch = events(n * BATCH..(n + 1) * BATCH);
            store.put_events(&session, batch).await?;
            pause().await;
        }
        Held::Ok(())
    };
    let read = async {
        // Several looks for each batch, and an end if the writer fails.
        for _ in 0..BATCHES * 8 {
            let tail = reader.end(&session).await?.tail.get();
            ensure!(
                tail.is_multiple_of(BATCH),
                "a part of a batch is in the log: its tail is {tail}"
            );
            let seen = reader.log(&session).await?.len();
            ensure!(
                (seen as u64).is_multiple_of(BATCH),
                "a part of a batch was read: {seen} events of batches of {BATCH}"
            );
            if tail == BATCH * BATCHES {
                break;
            }
            pause().await;
        }
        Ok(())
    };
    let (written, read) = join(written, read).await;
    written.and(read)
}

/// Polls an append at most `polls` times, then drops it. Whether it finished.
async fn polled(polls: usize, append: impl Future) -> bool {
    let mut append = Box::pin(append);
    let mut left = polls;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(false);
        }
        left -= 1;
        match append.as_mut().poll(cx) {
            Poll::Ready(_) => Poll::Ready(true),
            // It is polled again in any case: dropping comes at a poll, not at a time.
            Poll::Pending => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    })
    .await
}

/// Drops appends after 0, 1, 2, … polls until one finishes; `after` runs behind each.
async fn drop_at_every_poll(
    store: &Handle,
    session: &sessionlog_core::SessionRef,
    after: impl AsyncFn(u64, bool) -> Held,
) -> Held {
    const MOST: usize = 64;
    for polls in 0..MOST {
        let n = polls as u64 * 10;
        let append = store.put_events(session, events(n..n + 3));
        let finished = polled(polls, append).await;
        after(n, finished).await?;
        if finished {
            break;
        }
    }
    Ok(())
}

async fn g02_a_dropped_append_leaves_all_or_nothing(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    drop_at_every_poll(&store, &session, async |n, finished| {
        // A dropped append may still be on its way: the next one stands behind it.
        store.put_events(&session, vec![event(n + 9)]).await?;
        let ids: Vec<_> = store.log(&session).await?.iter().map(|e| e.id).collect();
        let there: Vec<_> = (n..n + 3).filter(|n| ids.contains(&event_id(*n))).collect();
        ensure!(
            there.len() == 3 || there.is_empty() && !finished,
            "a dropped append of three events left {there:?}"
        );
        Ok(())
    })
    .await
}

async fn g02_a_dropped_append_leaves_no_lock(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    drop_at_every_poll(&store, &session, async |n, _| {
        let next = store.put_events(&session, vec![event(n + 9)]).await?;
        ensure_eq!(
            next.end,
            store.end(&session).await?.tail,
            "the end of the next append"
        );
        Ok(())
    })
    .await
}

/// Gives the other side a turn.
async fn pause() {
    let mut paused = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
