//! G5: an append at another tail than the stated one is a conflict, and changes nothing.

use std::sync::Arc;

use futures_util::future::join_all;
use sessionlog_core::{AppendCondition, ErrorKind};

use crate::Law;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{Held, breach, ensure_eq, ensure_err, shown};
use crate::law::law;
use crate::make::{at, event_id, events, fresh, span};

pub(super) const LAWS: &[Law] = &[
    law!(
        g05_the_stated_tail_must_be_the_tail,
        "An append that states a smaller or larger tail is a conflict that names the tail; at the tail it works."
    ),
    law!(
        g05_one_of_n_racing_appends_wins,
        "Of many concurrent appends that state one tail exactly one takes effect."
    ),
    law!(
        g05_one_of_n_racing_threads_wins,
        "The same over several threads."
    ),
    law!(
        g05_one_of_n_racing_handles_wins,
        "The same over several handles.",
        SeveralHandles
    ),
    law!(
        g05_tail_and_token_are_both_checked,
        "With both conditions, a stale token is refused at the right tail, and a stale tail under the right token."
    ),
    law!(
        g05_creating_twice_is_a_conflict,
        "Creating an id that is in use is a conflict that names its tail, and changes nothing."
    ),
];

async fn g05_the_stated_tail_must_be_the_tail(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let first = store.put_at(&session, events(0..3), 0).await?;
    ensure_eq!(first, span(0, 3), "an append at the tail of an empty log");
    for wrong in [0, 2, 4, u64::MAX] {
        let refused = store.put_at(&session, events(10..12), wrong).await;
        ensure_err!(refused, ErrorKind::Conflict { tail } if *tail == at(3), "an append at tail {wrong} of a log that ends at 3");
        bench.sometimes("conflicts", 1);
    }
    ensure_eq!(store.log(&session).await?.len(), 3, "events in the log");
    let next = store.put_at(&session, events(10..12), 3).await?;
    ensure_eq!(next, span(3, 5), "an append at the tail");
    Ok(())
}

const RACERS: u64 = 16;

/// Appends event by event number at tail 2; whether it won.
async fn race(store: Handle, session: sessionlog_core::SessionRef, n: u64) -> Held<bool> {
    let outcome = store.put_at(&session, events(n * 10..n * 10 + 2), 2).await;
    match &outcome {
        Ok(range) => {
            ensure_eq!(*range, span(2, 4), "the positions of the winner");
            Ok(true)
        }
        Err(error) if *error.kind() == (ErrorKind::Conflict { tail: at(4) }) => Ok(false),
        Err(_) => Err(breach(format!(
            "the outcome of a racing append\nexpected: positions, or a conflict at 4\nobserved: {}",
            shown(&outcome)
        ))),
    }
}

async fn one_won(
    store: &Handle,
    session: &sessionlog_core::SessionRef,
    outcomes: Vec<Held<bool>>,
) -> Held {
    let mut winners = Vec::new();
    for (n, outcome) in (1_u64..).zip(outcomes) {
        if outcome? {
            winners.push(n);
        }
    }
    ensure_eq!(
        winners.len(),
        1,
        "how many of {RACERS} racing appends took effect: {winners:?}"
    );
    let n = winners.first().copied().unwrap_or(0);
    let ids: Vec<_> = store.log(session).await?.iter().map(|e| e.id).collect();
    let expected: Vec<_> = [0, 1, n * 10, n * 10 + 1].map(event_id).into();
    ensure_eq!(ids, expected, "the ids in the log");
    Ok(())
}

async fn g05_one_of_n_racing_appends_wins(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    store.put_events(&session, events(0..2)).await?;
    let racers = (1..=RACERS).map(|n| race(Arc::clone(&store), session.clone(), n));
    let outcomes = join_all(racers).await;
    one_won(&store, &session, outcomes).await
}

async fn g05_one_of_n_racing_threads_wins(bench: &Bench) -> Held {
    for round in 0..bench.options.budget.of(2, 8, 100) {
        let store = bench.open().await?;
        let session = fresh(&format!("s{round}"))?;
        store.create(&session).await?;
        store.put_events(&session, events(0..2)).await?;
        let racers = (1..=RACERS).map(|n| race(Arc::clone(&store), session.clone(), n));
        let outcomes = bench.on_threads(racers);
        one_won(&store, &session, outcomes).await?;
    }
    Ok(())
}

async fn g05_one_of_n_racing_handles_wins(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    store.put_events(&session, events(0..2)).await?;
    let mut handles = Vec::new();
    for _ in 0..4 {
        handles.push(bench.open().await?);
    }
    let racers = (1..=RACERS).zip(handles.iter().cycle());
    let racers: Vec<_> = racers
        .map(|(n, handle)| race(Arc::clone(handle), session.clone(), n))
        .collect();
    let outcomes = bench.on_threads(racers.into_iter());
    one_won(&store, &session, outcomes).await
}

async fn g05_tail_and_token_are_both_checked(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    store.put_events(&session, events(0..2)).await?;
    let (stale, new) = store.stale_and_new(&session).await?;
    let both = |tail, token| AppendCondition::new(Some(at(tail)), Some(token));
    let fenced = store
        .append(&session, events(2..3), both(2, stale.token))
        .await;
    ensure_err!(fenced, ErrorKind::Fenced { token } if *token == new.token, "a stale token at the right tail");
    let conflict = store
        .append(&session, events(2..3), both(1, new.token))
        .await;
    ensure_err!(conflict, ErrorKind::Conflict { tail } if *tail == at(2), "the newest token at another tail");
    ensure_eq!(store.log(&session).await?.len(), 2, "events in the log");
    let works = store
        .append(&session, events(2..3), both(2, new.token))
        .await?;
    ensure_eq!(works, span(2, 3), "the newest token at the right tail");
    Ok(())
}

async fn g05_creating_twice_is_a_conflict(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    store.put_events(&session, events(0..3)).await?;
    let again = store.create(&session).await;
    ensure_err!(again, ErrorKind::Conflict { tail } if *tail == at(3), "creating the same life again");
    let other = store.create(&fresh("s")?).await;
    ensure_err!(other, ErrorKind::Conflict { tail } if *tail == at(3), "creating another life of the id");
    let store = bench.reopen(store).await?;
    let other = store.create(&fresh("s")?).await;
    ensure_err!(other, ErrorKind::Conflict { tail } if *tail == at(3), "creating it after a reopen");
    let (present, head) = store.head(&session.id).await?;
    ensure_eq!(
        (present, head.tail),
        (session, at(3)),
        "the life and the tail"
    );
    Ok(())
}
