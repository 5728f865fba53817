//! G2: an operation whose future is dropped was done or was not, and stands in nobody's way.

use sessionlog_core::{ErrorKind, SeqNum, SessionRef};

use crate::bench::{Ask, Bench, Handle};
use crate::breach::{Held, ensure, ensure_eq, ensure_err};
use crate::dump::Session;
use crate::law::law;
use crate::laws::g17_delete::{gone, marked};
use crate::make::{FOLD, events, fresh, request, snapshot, span};
use crate::under_way::{POLLS, given_up};
use crate::{Capability, Law};

pub(super) const LAWS: &[Law] = &[law!(
    g02_a_dropped_operation_was_done_or_was_not,
    "A create, delete, grant or snapshot whose future is dropped after any number of polls was done or was not, and the next one works."
)];

async fn g02_a_dropped_operation_was_done_or_was_not(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    store.put_events(&session, events(0..2)).await?;
    at_every_poll(async |polls| creates(&store, polls).await).await?;
    at_every_poll(async |polls| deletes(&store, polls).await).await?;
    at_every_poll(async |polls| saves(&store, &session, polls).await).await?;
    if bench.subject.forced_leases == Capability::Yes {
        at_every_poll(async |polls| acquires(&store, &session, polls).await).await?;
    }
    Ok(())
}

/// Does something that is dropped after 0, 1, 2, … polls, until it comes to its end.
async fn at_every_poll(drops: impl AsyncFn(usize) -> Held<bool>) -> Held {
    for polls in POLLS {
        if drops(polls).await? {
            break;
        }
    }
    Ok(())
}

async fn creates(store: &Handle, polls: usize) -> Held<bool> {
    let session = fresh(&format!("create-{polls}"))?;
    let made = given_up(polls, store.create(&session)).await.transpose()?;
    // It may still be on its way: the next one stands behind it.
    let again = store.create(&session).await;
    if made.is_some() || again.is_err() {
        ensure_err!(
            again,
            ErrorKind::Conflict { .. },
            "a create behind one that was dropped after {polls} polls"
        );
    }
    ensure_eq!(
        store.head(&session.id).await?.0,
        session,
        "the life that was made"
    );
    let range = store.put_events(&session, events(0..1)).await?;
    ensure_eq!(range, span(0, 1), "the first positions of what was made");
    Ok(made.is_some())
}

async fn deletes(store: &Handle, polls: usize) -> Held<bool> {
    let session = fresh(&format!("delete-{polls}"))?;
    marked(store, &session).await?;
    let mut whole = Session::of(store, &session.id).await?;
    let ended = given_up(polls, store.delete(&session, None)).await;
    let ended = ended.transpose()?.is_some();
    let next = store.put_events(&session, events(9..10)).await;
    if next.is_ok() {
        whole.append(events(9..10));
        let left = Session::of(store, &session.id).await?;
        ensure_eq!(
            left,
            whole,
            "a session whose delete was dropped after {polls} polls"
        );
        store.delete(&session, None).await?;
    } else {
        ensure_err!(
            next,
            ErrorKind::NotFound,
            "an append behind a dropped delete"
        );
    }
    ensure!(
        next.is_err() || !ended,
        "an append to a deleted session took effect"
    );
    gone(store, &session, "after a delete that was dropped").await?;
    store.create(&fresh(session.id.as_str())?).await?;
    Ok(ended)
}

async fn saves(store: &Handle, session: &SessionRef, polls: usize) -> Held<bool> {
    let log = store.end(session).await?.sum;
    let latest = async || store.latest(session, &FOLD, 1, SeqNum::MAX).await;
    let (before, new) = (latest().await?, snapshot(2, log, format!("{polls} polls")));
    let save = store.save(session, new.clone(), None);
    let saved = given_up(polls, save).await.transpose()?.is_some();
    store.save(session, snapshot(1, log, "next"), None).await?;
    let after = latest().await?;
    let right = after.as_ref() == Some(&new) || !saved && after == before;
    // There was none before the first.
    let right = right || !saved && before.is_none() && after.is_some_and(|s| s.state == "next");
    ensure!(
        right,
        "a snapshot that was dropped after {polls} polls is neither there nor not"
    );
    Ok(saved)
}

async fn acquires(store: &Handle, session: &SessionRef, polls: usize) -> Held<bool> {
    let granted = given_up(polls, store.acquire(session, request("dropped")?)).await;
    let ended = granted.is_some();
    let before = granted.transpose()?.map(|lease| lease.token);
    // A grant that nobody got may hold the lease.
    let lease = store.acquire(session, request("next")?.forced()).await?;
    ensure!(
        before.is_none_or(|before| before < lease.token),
        "a grant has token {}, the one before it {before:?}",
        lease.token
    );
    let n = 10 + polls as u64;
    store.put_under(session, events(n..n + 1), &lease).await?;
    store.release(&lease).await?;
    store.release(&store.lease(session, "after").await?).await?;
    Ok(ended)
}
