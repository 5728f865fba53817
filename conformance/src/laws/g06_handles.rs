//! G6: what was acknowledged is seen by every handle; and a follower gets each event once.

use std::sync::Arc;

use futures_util::future::{join, try_join3};
use sessionlog_core::{ErrorKind, Events, SeqNum, Store};

use crate::Law;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{Held, breach, ensure, ensure_eq, ensure_err};
use crate::law::law;
use crate::make::{at, events, fresh, span};
use crate::patience::patient;

pub(super) const LAWS: &[Law] = &[
    law!(
        g06_each_handle_sees_what_was_acknowledged,
        "Two handles append in turn; each sees everything, also in a grant that tells the end of the log, and positions stay dense.",
        SeveralHandles
    ),
    law!(
        g06_each_handle_sees_creations_and_deletions,
        "What one handle creates or deletes the other has, or has no more, at once.",
        SeveralHandles
    ),
    law!(
        g06_a_follower_gets_each_event_once,
        "A follower gets stored and new events in order, with no gap and no repeat between them."
    ),
    law!(
        g06_a_follower_wakes_up_for_another_handle,
        "A follower on one handle gets each event that another appends, once.",
        SeveralHandles,
        LiveNotification
    ),
    law!(
        g06_a_follower_learns_of_the_end_of_the_life,
        "A follower that waits is told when its session is deleted."
    ),
    law!(
        g06_a_follower_learns_of_another_handles_delete,
        "The same where another handle deletes it.",
        SeveralHandles,
        LiveNotification
    ),
    law!(
        g06_what_is_there_needs_no_waiting,
        "Waiting for more than a position that the log is past returns at once."
    ),
];

async fn g06_each_handle_sees_what_was_acknowledged(bench: &Bench) -> Held {
    let (a, session) = bench.session("s").await?;
    let b = bench.open().await?;
    for n in 0..20 {
        let (writer, reader) = if n % 3 == 0 { (&a, &b) } else { (&b, &a) };
        let range = writer
            .put_events(&session, events(n * 2..n * 2 + 2))
            .await?;
        ensure_eq!(range, span(n * 2, n * 2 + 2), "the positions of append {n}");
        let seen = reader.end(&session).await?;
        ensure_eq!(
            seen,
            writer.end(&session).await?,
            "the head on the other handle"
        );
        let last = reader.events(&session, span(n * 2, n * 2 + 2)).await?;
        ensure_eq!(last.len(), 2, "events of append {n} on the other handle");
    }
    ensure!(
        a.log(&session).await? == b.log(&session).await?,
        "the two handles read different logs"
    );
    // A grant may tell the end of the log, so that nobody has to ask: it is the end that all see.
    for (n, (writer, driver)) in (20..).zip([(&a, &b), (&b, &a), (&a, &b)]) {
        writer
            .put_events(&session, events(n * 2..n * 2 + 2))
            .await?;
        let lease = driver.lease(&session, "driver").await?;
        let end = driver.end(&session).await?;
        ensure_eq!(
            lease.end.unwrap_or(end),
            end,
            "the end of the log at a grant"
        );
        driver.release(&lease).await?;
    }
    Ok(())
}

async fn g06_each_handle_sees_creations_and_deletions(bench: &Bench) -> Held {
    let (a, b) = (bench.open().await?, bench.open().await?);
    let session = fresh("s")?;
    ensure_eq!(
        b.ids().await?.len(),
        0,
        "sessions before the first is created"
    );
    a.create(&session).await?;
    ensure_eq!(
        b.ids().await?,
        vec![session.id.clone()],
        "sessions on the other handle"
    );
    ensure_eq!(
        b.head(&session.id).await?.0,
        session,
        "the life on the other handle"
    );
    b.put_events(&session, events(0..1)).await?;
    b.delete(&session, None).await?;
    ensure_eq!(
        a.ids().await?.len(),
        0,
        "sessions after the other handle's delete"
    );
    let late = a.put_events(&session, events(1..2)).await;
    ensure_err!(
        late,
        ErrorKind::NotFound,
        "an append after the other handle's delete"
    );
    let next = fresh("s")?;
    b.create(&next).await?;
    let late = a.put_events(&session, events(1..2)).await;
    ensure_err!(
        late,
        ErrorKind::NotFound,
        "an append of the deleted life into the next"
    );
    ensure_eq!(a.end(&next).await?.tail, at(0), "the tail of the next life");
    Ok(())
}

/// The next events of a follower, up to a position.
async fn follow_to(bench: &Bench, follower: &mut Events, from: u64, to: u64) -> Held {
    for expected in from..to {
        let Some(next) = patient(bench.options.patience, follower.next()).await else {
            return Err(breach(format!(
                "a follower was not woken\nexpected: event {expected}\nobserved: nothing"
            )));
        };
        let seq = match next {
            Some(event) => Some(event?.seq),
            None => None,
        };
        ensure_eq!(seq, Some(at(expected)), "the next event of a follower");
    }
    Ok(())
}

async fn g06_a_follower_gets_each_event_once(bench: &Bench) -> Held {
    let (handle, session) = bench.session("s").await?;
    let store = Store::shared(Arc::clone(&handle) as _);
    let opened = store.open(&session.id).await?;
    handle.put_events(&session, events(0..5)).await?;
    let mut from_start = opened.follow(SeqNum::ZERO);
    let mut from_middle = opened.follow(at(3));
    let mut from_ahead = opened.follow(at(5));
    let other = fresh("other")?;
    handle.create(&other).await?;
    let mut beside = store.open(&other.id).await?.follow(SeqNum::ZERO);
    follow_to(bench, &mut from_start, 0, 5).await?;
    follow_to(bench, &mut from_middle, 3, 5).await?;
    for n in 5..25 {
        // Several wait on one handle, for one session and for another.
        let waits = try_join3(
            follow_to(bench, &mut from_start, n, n + 1),
            follow_to(bench, &mut from_ahead, n, n + 1),
            follow_to(bench, &mut beside, n - 5, n - 4),
        );
        let appends = async {
            handle.put_events(&session, events(n..n + 1)).await?;
            handle.put_events(&other, events(n..n + 1)).await
        };
        let (waited, appended) = join(waits, appends).await;
        appended?;
        waited?;
    }
    follow_to(bench, &mut from_middle, 5, 25).await
}

async fn g06_a_follower_wakes_up_for_another_handle(bench: &Bench) -> Held {
    let (a, session) = bench.session("s").await?;
    let b = bench.open().await?;
    let mut follower = Store::shared(b)
        .open(&session.id)
        .await?
        .follow(SeqNum::ZERO);
    for n in 0..6 {
        let first = n * 4;
        let waits = follow_to(bench, &mut follower, first, first + 4);
        let appends = appended_in_parts(&a, &session, first);
        let (waited, appended) = join(waits, appends).await;
        appended?;
        waited?;
    }
    Ok(())
}

async fn appended_in_parts(a: &Handle, session: &sessionlog_core::SessionRef, n: u64) -> Held {
    a.put_events(session, events(n..n + 1)).await?;
    a.put_events(session, events(n + 1..n + 4)).await?;
    Ok(())
}

async fn g06_a_follower_learns_of_the_end_of_the_life(bench: &Bench) -> Held {
    let store = bench.open().await?;
    learns_of_the_end(bench, &store, &store).await
}

async fn g06_a_follower_learns_of_another_handles_delete(bench: &Bench) -> Held {
    let (waits, deletes) = (bench.open().await?, bench.open().await?);
    learns_of_the_end(bench, &waits, &deletes).await
}

/// One handle waits for more of a session that another deletes.
async fn learns_of_the_end(bench: &Bench, waiter: &Handle, deleter: &Handle) -> Held {
    let session = fresh("s")?;
    deleter.create(&session).await?;
    deleter.put_events(&session, events(0..2)).await?;
    let waits = patient(bench.options.patience, waiter.changed(&session, at(2)));
    let (waited, deleted) = join(waits, deleter.delete(&session, None)).await;
    deleted?;
    ensure!(
        waited.is_some(),
        "who waited for a session that was deleted was never woken"
    );
    let again = patient(bench.options.patience, waiter.changed(&session, at(2))).await;
    let Some(again) = again else {
        return Err(breach(
            "who waits for a session that was deleted waits for ever",
        ));
    };
    ensure_err!(
        again,
        ErrorKind::NotFound,
        "waiting for a session that was deleted"
    );
    Ok(())
}

async fn g06_what_is_there_needs_no_waiting(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    store.put_events(&session, events(0..3)).await?;
    for seen in 0..3 {
        let waited = patient(bench.options.patience, store.changed(&session, at(seen))).await;
        ensure!(
            waited.is_some(),
            "waiting behind {seen} of a log that ends at 3 never returned"
        );
    }
    Ok(())
}
