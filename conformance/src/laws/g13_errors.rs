//! G13: every error but `Indeterminate` means that nothing changed.

use futures_util::StreamExt;
use sessionlog_core::{
    AppendCondition, BlobId, ErrorKind, Limits, NewEvent, SeqNum, SessionRef, Sum,
};

use crate::Law;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{Held, ensure, ensure_eq, ensure_err};
use crate::dump::Dump;
use crate::law::law;
use crate::make::{FOLD, at, event, events, fresh, id, pieces, request, snapshot, with_data};

pub(super) const LAWS: &[Law] = &[
    law!(
        g13_a_missing_session_is_not_found,
        "Everything that is asked of a session that is not there is `NotFound`, and makes nothing."
    ),
    law!(
        g13_too_large_events_are_refused_with_figures,
        "An event over the limit is invalid input that tells the limit and the size, whatever the condition; at the limit it works."
    ),
    law!(
        g13_too_large_batches_are_refused_with_figures,
        "A batch over a limit is invalid input that tells the limit and the size, whatever the condition; at the limit it works."
    ),
    law!(
        g13_a_refused_append_changes_nothing,
        "After each kind of refused append the store is as before, and the next append works."
    ),
];

async fn g13_a_missing_session_is_not_found(bench: &Bench) -> Held {
    let (store, _) = bench.session("there").await?;
    let ghost = fresh("ghost")?;
    let name = id("ghost")?;
    let head = store.head(&name).await;
    ensure_err!(
        head,
        ErrorKind::NotFound,
        "the head of a session that is not there"
    );
    let append = store.put_events(&ghost, events(0..1)).await;
    ensure_err!(append, ErrorKind::NotFound, "an append");
    let empty = store.put_events(&ghost, Vec::new()).await;
    ensure_err!(empty, ErrorKind::NotFound, "an empty append");
    let read = store.log(&ghost).await;
    ensure_err!(read, ErrorKind::NotFound, "a read");
    let errors = store.read(&ghost, SeqNum::all()).take(3).count().await;
    ensure_eq!(errors, 1, "how often a read says that it failed");
    let changed = store.changed(&ghost, SeqNum::ZERO).await;
    ensure_err!(changed, ErrorKind::NotFound, "waiting for more");
    let delete = store.delete(&ghost, None).await;
    ensure_err!(delete, ErrorKind::NotFound, "a delete");
    let save = store
        .save(&ghost, snapshot(0, Sum::from_u64(0), "x"), None)
        .await;
    ensure_err!(save, ErrorKind::NotFound, "a snapshot");
    let latest = store.latest(&ghost, &FOLD, 1, SeqNum::MAX).await;
    ensure_err!(latest, ErrorKind::NotFound, "the latest snapshot");
    let acquire = store.acquire(&ghost, request("x")?).await;
    ensure_err!(acquire, ErrorKind::NotFound, "a lease");
    let holder = store.holder(&ghost).await;
    ensure_err!(holder, ErrorKind::NotFound, "the probe");
    let put = store.put(&ghost, pieces(b"x", 1), None).await;
    ensure_err!(put, ErrorKind::NotFound, "storing a blob");
    let get = store.blob(&ghost, BlobId::of(b"x"), 0..9).await;
    ensure_err!(get, ErrorKind::NotFound, "reading a blob");
    let list = store.list(&ghost).next().await.transpose();
    ensure_err!(list, ErrorKind::NotFound, "listing the blobs");
    let remove = store.remove(&ghost, BlobId::of(b"x"), None).await;
    ensure_err!(remove, ErrorKind::NotFound, "removing a blob");
    let verify = store.verify(&name).await;
    ensure_err!(verify, ErrorKind::NotFound, "verifying");
    let repair = store.repair(&name, true).await;
    ensure_err!(repair, ErrorKind::NotFound, "repairing");
    ensure_eq!(
        store.ids().await?,
        vec![id("there")?],
        "the sessions behind all of that"
    );
    Ok(())
}

/// Whether an error is `InvalidInput` and its message has both figures.
fn figures<T>(result: &sessionlog_core::Result<T>, limit: usize, given: usize, what: &str) -> Held {
    ensure_err!(*result, ErrorKind::InvalidInput, "{what} over the limit");
    let message = result.as_ref().err().map_or("", |e| e.message());
    ensure!(
        message.contains(&limit.to_string()) && message.contains(&given.to_string()),
        "the refusal of {what} tells neither or only one of the limit {limit} and the size {given}: {message:?}"
    );
    Ok(())
}

/// Whether a batch is refused with both figures under every condition, too.
async fn under_conditions(
    store: &Handle,
    session: &SessionRef,
    batch: &[NewEvent],
    limit: usize,
    given: usize,
) -> Held {
    let before = store.end(session).await?;
    let lease = store.lease(session, "driver").await?;
    let token = AppendCondition::with(lease.token);
    for (condition, what) in [
        (AppendCondition::at(before.tail), "a batch at a tail"),
        (token, "a batch under a token"),
    ] {
        let refused = store.append(session, batch.to_vec(), condition).await;
        figures(&refused, limit, given, what)?;
    }
    store.release(&lease).await?;
    let after = store.end(session).await?;
    ensure_eq!(after, before, "the head after batches over a limit");
    Ok(())
}

/// A JSON text of a length.
fn text(len: usize) -> Vec<u8> {
    if len < 2 {
        return b"7".to_vec();
    }
    let mut text = vec![b'x'; len];
    text.first_mut().into_iter().for_each(|b| *b = b'"');
    text.last_mut().into_iter().for_each(|b| *b = b'"');
    text
}

async fn g13_too_large_events_are_refused_with_figures(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let Limits { event_bytes, .. } = bench.subject.limits;
    let large = with_data(1, text(event_bytes + 1));
    let before = Dump::of(&store).await?;
    let large = vec![event(0), large];
    let refused = store.put_events(&session, large.clone()).await;
    figures(&refused, event_bytes, event_bytes + 1, "an event")?;
    before.same(&Dump::of(&store).await?, "after an event over the limit")?;
    under_conditions(&store, &session, &large, event_bytes, event_bytes + 1).await?;
    if bench.options.budget.of(0, 1, 1) == 1 {
        let most = with_data(2, text(event_bytes));
        store.put_events(&session, vec![most.clone()]).await?;
        let log = store.log(&session).await?;
        ensure!(
            log.first().is_some_and(|e| e.holds(&most)),
            "an event at the limit came back changed"
        );
    }
    Ok(())
}

async fn g13_too_large_batches_are_refused_with_figures(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let Limits {
        batch_events,
        batch_bytes,
        event_bytes,
        ..
    } = bench.subject.limits;
    let before = Dump::of(&store).await?;
    let many = 0..u64::try_from(batch_events).unwrap_or(u64::MAX) + 1;
    let many = events(many);
    let refused = store.put_events(&session, many.clone()).await;
    figures(
        &refused,
        batch_events,
        batch_events + 1,
        "a batch of many events",
    )?;

    let one = with_data(0, text(event_bytes.min(batch_bytes)));
    let enough = u64::try_from(batch_bytes / one.data.len() + 1).unwrap_or(1);
    let share = |n| NewEvent {
        data: one.data.clone(),
        ..event(n)
    };
    let large: Vec<_> = (0..enough).map(share).collect();
    let bytes = large.iter().map(|e| e.data.len()).sum();
    let refused = store.put_events(&session, large.clone()).await;
    figures(&refused, batch_bytes, bytes, "a batch of many bytes")?;
    before.same(&Dump::of(&store).await?, "after batches over the limits")?;
    under_conditions(&store, &session, &many, batch_events, batch_events + 1).await?;
    under_conditions(&store, &session, &large, batch_bytes, bytes).await?;
    // As many bytes as a default limit has would take too long.
    if bench.options.budget.of(4 << 20, 4 << 20, u64::MAX) >= batch_bytes as u64 {
        let mut most = large;
        most.truncate(batch_bytes / one.data.len());
        let rest = batch_bytes % one.data.len();
        if rest > 0 {
            most.push(with_data(enough, text(rest)));
        }
        let fits = most.len() <= batch_events;
        let kept = if fits { most } else { Vec::new() };
        let end = store.end(&session).await?.tail.plus(kept.len() as u64);
        store.put_events(&session, kept).await?;
        let tail = store.end(&session).await?.tail;
        ensure_eq!(tail, end, "the tail behind a batch of bytes at the limit");
    }
    if bench.options.budget.of(0, 1, 1) == 1 {
        let before = store.end(&session).await?.tail;
        let many = u64::try_from(batch_events).unwrap_or(u64::MAX);
        let most = events(100_000..100_000 + many);
        store.put_events(&session, most).await?;
        let tail = store.end(&session).await?.tail;
        ensure_eq!(
            tail,
            before.plus(many),
            "the tail behind a batch at the limit"
        );
    }
    Ok(())
}

async fn g13_a_refused_append_changes_nothing(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    store.put_events(&session, events(0..4)).await?;
    let (stale, _new) = store.stale_and_new(&session).await?;
    let before = Dump::of(&store).await?;
    let tail = AppendCondition::at(at(2));
    let token = AppendCondition::with(stale.token);
    let other = with_data(1, "\"other\"");
    let most = u64::try_from(bench.subject.limits.batch_events).unwrap_or(u64::MAX);
    let mut long = events(1_000..999 + most.min(1_000));
    long.push(event(0));
    let refusals = [
        ("a conflict", events(10..13), tail),
        ("a stale token", events(10..13), token),
        (
            "an id twice",
            vec![event(10), event(11), event(10)],
            AppendCondition::NONE,
        ),
        (
            "another content",
            vec![event(10), other],
            AppendCondition::NONE,
        ),
        (
            "a partial repeat",
            vec![event(3), event(10)],
            AppendCondition::NONE,
        ),
        ("a long partial repeat", long, AppendCondition::NONE),
    ];
    for (what, batch, condition) in refusals {
        let refused = store.append(&session, batch, condition).await;
        ensure!(refused.is_err(), "an append with {what} was not refused");
        before.same(&Dump::of(&store).await?, &format!("after {what}"))?;
    }
    let next = store.put_events(&session, events(10..13)).await?;
    ensure_eq!(next.start, at(4), "where the next append starts");
    Ok(())
}
