//! G2: a batch is visible whole or not at all.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;
use std::task::Poll;

use futures_util::future::{join, poll_fn};
use sessionlog_core::SeqNum;

use crate::Law;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{Held, ensure, ensure_eq};
use crate::law::law;
use crate::make::{event, event_id, events, fresh};
use crate::under_way::given_up;

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

/// More events than a store would take for a small batch.
fn large_batch(bench: &Bench) -> u64 {
    let limit = bench.subject.limits.batch_events;
    u64::try_from(limit).unwrap_or(u64::MAX).min(300)
}

async fn g02_a_reader_sees_whole_batches(bench: &Bench) -> Held {
    const BATCHES: usize = 20;
    let (store, session) = bench.session("s").await?;
    let reader = Arc::clone(&store);
    // Where batches end: most are small, and every fifth is large.
    let large = large_batch(bench);
    let sizes = (1..=BATCHES).map(|n| if n.is_multiple_of(5) { large } else { 7 });
    let ends = sizes.scan(0, |end, size| {
        *end += size;
        Some(*end)
    });
    let ends: Vec<u64> = std::iter::once(0).chain(ends).collect();
    let written = async {
        for (from, to) in ends.iter().zip(ends.iter().skip(1)) {
            store.put_events(&session, events(*from..*to)).await?;
            pause().await;
        }
        Held::Ok(())
    };
    let read = async {
        // Several looks for each batch, and an end if the writer fails.
        for _ in 0..BATCHES * 8 {
            let tail = reader.end(&session).await?.tail.get();
            ensure!(
                ends.contains(&tail),
                "a part of a batch is in the log: its tail is {tail}"
            );
            let seen = reader.log(&session).await?.len() as u64;
            ensure!(
                ends.contains(&seen),
                "a part of a batch was read: {seen} events of batches that end at {ends:?}"
            );
            if Some(&tail) == ends.last() {
                break;
            }
            pause().await;
        }
        Ok(())
    };
    let (written, read) = join(written, read).await;
    written.and(read)
}

/// Drops appends of `size` events after 0, 1, 2, … polls until one finishes; `after` runs behind each,
/// with the number of the first event.
async fn drop_at_every_poll(
    store: &Handle,
    session: &sessionlog_core::SessionRef,
    size: u64,
    after: impl AsyncFn(u64, bool) -> Held,
) -> Held {
    const MOST: usize = 64;
    for polls in 0..MOST {
        let n = polls as u64 * 1_000;
        let append = store.put_events(session, events(n..n + size));
        let finished = given_up(polls, append).await.is_some();
        after(n, finished).await?;
        if finished {
            break;
        }
    }
    Ok(())
}

async fn g02_a_dropped_append_leaves_all_or_nothing(bench: &Bench) -> Held {
    let store = bench.open().await?;
    for size in [3, large_batch(bench)] {
        let session = fresh(&format!("s{size}"))?;
        store.create(&session).await?;
        let before = Cell::new(SeqNum::ZERO);
        drop_at_every_poll(&store, &session, size, async |n, finished| {
            // A dropped append may still be on its way: the next one stands behind it.
            let next = store.put_events(&session, vec![event(n + 900)]).await?;
            let new = store.events(&session, before.get()..SeqNum::MAX).await?;
            let ids: HashSet<_> = new.iter().map(|e| e.id).collect();
            let there = (n..n + size).filter(|n| ids.contains(&event_id(*n)));
            let there = there.count() as u64;
            ensure!(
                there == size || there == 0 && !finished,
                "a dropped append of {size} events left {there} of them"
            );
            before.set(next.end);
            Ok(())
        })
        .await?;
    }
    Ok(())
}

async fn g02_a_dropped_append_leaves_no_lock(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    drop_at_every_poll(&store, &session, 3, async |n, _| {
        let next = store.put_events(&session, vec![event(n + 900)]).await?;
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
