//! G18: a batch that is there already, with the same content, is the same append.

use std::ops::Range;
use std::sync::Arc;

use futures_util::future::join_all;
use sessionlog_core::{AppendCondition, ErrorKind, Kind, NewEvent, SeqNum, SessionRef, Timestamp};

use crate::Law;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{Held, ensure_eq, ensure_err};
use crate::law::law;
use crate::make::{at, event, events, fresh, span, with_data};

pub(super) const LAWS: &[Law] = &[
    law!(
        g18_the_same_batch_is_the_same_append,
        "Repeating a batch, wherever it stands in the log, gives its positions and adds nothing."
    ),
    law!(
        g18_other_content_under_a_known_id_is_refused,
        "A known id with another payload, kind or time is invalid input, and changes nothing."
    ),
    law!(
        g18_a_partial_repeat_is_refused,
        "A batch of stored and new ids, or of stored ids in another order, is invalid input, and changes nothing."
    ),
    law!(
        g18_an_id_twice_in_a_batch_is_refused,
        "A batch that has an id twice is invalid input, and changes nothing."
    ),
    law!(
        g18_the_same_id_in_two_sessions_is_two_events,
        "An id that one session has is new to another."
    ),
    law!(
        g18_ids_in_any_order_are_told_apart,
        "Ids that do not ascend are new where they are new, and found where they are stored."
    ),
    law!(
        g18_repeats_are_found_after_a_reopen,
        "A batch that was appended before a reopen is found after it."
    ),
    law!(
        g18_old_ids_are_found_behind_thousands_of_events,
        "An id is found, and a small new id is new, also behind more events than any window holds."
    ),
    law!(
        g18_a_repeat_is_found_whatever_its_condition,
        "A repeat is found although its tail has passed or its writer was fenced: so an unknown outcome is settled."
    ),
    law!(
        g18_concurrent_repeats_yield_one_copy,
        "The same batch appended many times at once is there once, and each gets its positions."
    ),
];

async fn repeated(
    store: &Handle,
    session: &SessionRef,
    batch: Vec<NewEvent>,
    expected: Range<SeqNum>,
) -> Held {
    let before = store.end(session).await?;
    let range = store.put_events(session, batch).await?;
    ensure_eq!(range, expected, "the positions of a repeated batch");
    ensure_eq!(
        store.end(session).await?,
        before,
        "the head after a repeated batch"
    );
    Ok(())
}

async fn refused(store: &Handle, session: &SessionRef, batch: Vec<NewEvent>, what: &str) -> Held {
    let before = store.end(session).await?;
    let outcome = store.put_events(session, batch).await;
    ensure_err!(outcome, ErrorKind::InvalidInput, "{what}");
    ensure_eq!(store.end(session).await?, before, "the head after {what}");
    Ok(())
}

async fn g18_the_same_batch_is_the_same_append(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    for n in 0..5 {
        store
            .put_events(&session, events(n * 10..n * 10 + 3))
            .await?;
        repeated(
            &store,
            &session,
            events(n * 10..n * 10 + 3),
            span(n * 3, n * 3 + 3),
        )
        .await?;
    }
    for n in 0..5 {
        repeated(
            &store,
            &session,
            events(n * 10..n * 10 + 3),
            span(n * 3, n * 3 + 3),
        )
        .await?;
    }
    ensure_eq!(store.log(&session).await?.len(), 15, "events in the log");
    Ok(())
}

async fn g18_other_content_under_a_known_id_is_refused(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    store.put_events(&session, events(0..2)).await?;
    store.put_events(&session, events(2..3)).await?;
    let kind = Kind::from_static("another");
    for n in [0, 2] {
        let pair = |changed: NewEvent| match n {
            0 => vec![changed, event(1)],
            _ => vec![changed],
        };
        let payload = with_data(n, format!("{{\"n\": {n}}}"));
        refused(
            &store,
            &session,
            pair(payload),
            "a known id with another payload",
        )
        .await?;
        let kind = NewEvent {
            kind: kind.clone(),
            ..event(n)
        };
        refused(&store, &session, pair(kind), "a known id with another kind").await?;
        let time = event(n).with_time(Timestamp::EPOCH);
        refused(&store, &session, pair(time), "a known id with another time").await?;
    }
    Ok(())
}

async fn g18_a_partial_repeat_is_refused(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    store.put_events(&session, events(0..3)).await?;
    store.put_events(&session, events(3..5)).await?;
    for batch in [
        vec![event(0), event(9)],
        vec![event(9), event(0)],
        vec![event(2), event(3), event(9)],
        vec![event(9), event(3), event(4)],
        vec![event(1), event(0)],
        vec![event(0), event(2)],
        vec![event(4), event(3)],
    ] {
        refused(
            &store,
            &session,
            batch,
            "a batch that is stored in part, or otherwise",
        )
        .await?;
    }
    // However late in a batch the stored one comes, none of those before it is written.
    let many = u64::try_from(bench.subject.limits.batch_events).unwrap_or(u64::MAX);
    let mut long = events(1_000..999 + many.min(1_000));
    long.push(event(0));
    refused(
        &store,
        &session,
        long,
        "a long batch that ends with a stored id",
    )
    .await?;
    repeated(&store, &session, events(0..3), span(0, 3)).await
}

async fn g18_an_id_twice_in_a_batch_is_refused(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    store.put_events(&session, events(0..1)).await?;
    for batch in [
        vec![event(1), event(1)],
        vec![event(1), event(2), event(1)],
        vec![event(0), event(0)],
        vec![event(1), with_data(1, "null")],
    ] {
        refused(&store, &session, batch, "a batch that has an id twice").await?;
    }
    ensure_eq!(
        store.put_events(&session, events(1..2)).await?,
        span(1, 2),
        "the next append"
    );
    Ok(())
}

async fn g18_the_same_id_in_two_sessions_is_two_events(bench: &Bench) -> Held {
    let (store, one) = bench.session("one").await?;
    let two = fresh("two")?;
    store.create(&two).await?;
    store.put_events(&one, events(0..3)).await?;
    let range = store.put_events(&two, events(0..3)).await?;
    ensure_eq!(range, span(0, 3), "the same ids in another session");
    let other = store.put_events(&two, events(3..4)).await?;
    ensure_eq!(other, span(3, 4), "a further id");
    ensure_eq!(
        store.end(&one).await?.tail,
        at(3),
        "the tail of the first session"
    );
    Ok(())
}

async fn g18_ids_in_any_order_are_told_apart(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let order = [50, 40, 60, 10, 55, 30, 70, 5];
    for (n, id) in (0..).zip(order) {
        let range = store.put_events(&session, vec![event(id)]).await?;
        ensure_eq!(range, span(n, n + 1), "the positions of new id {id}");
    }
    for (n, id) in (0..).zip(order) {
        repeated(&store, &session, vec![event(id)], span(n, n + 1)).await?;
    }
    let store = bench.reopen(store).await?;
    for (n, id) in (0..).zip(order) {
        repeated(&store, &session, vec![event(id)], span(n, n + 1)).await?;
    }
    let range = store
        .put_events(&session, vec![event(7), event(45)])
        .await?;
    ensure_eq!(
        range,
        span(8, 10),
        "new ids between stored ones, after a reopen"
    );
    Ok(())
}

async fn g18_repeats_are_found_after_a_reopen(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    store.put_events(&session, events(0..3)).await?;
    store.put_events(&session, events(3..4)).await?;
    let store = bench.reopen(store).await?;
    repeated(&store, &session, events(3..4), span(3, 4)).await?;
    repeated(&store, &session, events(0..3), span(0, 3)).await?;
    refused(
        &store,
        &session,
        vec![with_data(3, "0")],
        "other content after a reopen",
    )
    .await?;
    ensure_eq!(
        store.put_events(&session, events(4..5)).await?,
        span(4, 5),
        "the next append"
    );
    Ok(())
}

async fn g18_old_ids_are_found_behind_thousands_of_events(bench: &Bench) -> Held {
    const BATCH: u64 = 500;
    const BATCHES: u64 = 10;
    let (store, session) = bench.session("s").await?;
    store
        .put_events(&session, vec![event(100), event(90)])
        .await?;
    for n in 0..BATCHES {
        let first = 1_000 + n * BATCH;
        store
            .put_events(&session, events(first..first + BATCH))
            .await?;
    }
    repeated(&store, &session, vec![event(100), event(90)], span(0, 2)).await?;
    repeated(&store, &session, events(1_000..1_500), span(2, 502)).await?;
    refused(
        &store,
        &session,
        vec![with_data(90, "0")],
        "other content under an old id",
    )
    .await?;
    let tail = 2 + BATCH * BATCHES;
    let between = store.put_events(&session, vec![event(95)]).await?;
    ensure_eq!(between, span(tail, tail + 1), "a new id between old ones");
    repeated(&store, &session, vec![event(95)], span(tail, tail + 1)).await?;
    let store = bench.reopen(store).await?;
    repeated(&store, &session, vec![event(100), event(90)], span(0, 2)).await?;
    repeated(&store, &session, events(1_000..1_500), span(2, 502)).await?;
    repeated(&store, &session, vec![event(95)], span(tail, tail + 1)).await?;
    refused(
        &store,
        &session,
        vec![with_data(90, "0")],
        "other content under an old id after a reopen",
    )
    .await?;
    let next = store.put_events(&session, vec![event(97)]).await?;
    ensure_eq!(
        next,
        span(tail + 1, tail + 2),
        "a new id between old ones after a reopen"
    );
    Ok(())
}

async fn g18_a_repeat_is_found_whatever_its_condition(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let lease = store.lease(&session, "first").await?;
    let condition = AppendCondition::new(Some(at(0)), Some(lease.token));
    store.append(&session, events(0..2), condition).await?;
    store.release(&lease).await?;
    let _newer = store.lease(&session, "second").await?;
    store.put_events(&session, events(2..3)).await?;
    let again = store.append(&session, events(0..2), condition).await?;
    ensure_eq!(
        again,
        span(0, 2),
        "a repeat whose tail has passed and whose writer was fenced"
    );
    let other = store.append(&session, events(5..6), condition).await;
    ensure_err!(
        other,
        ErrorKind::Fenced { .. },
        "another batch under the same condition"
    );
    Ok(())
}

async fn g18_concurrent_repeats_yield_one_copy(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    store.put_events(&session, events(0..2)).await?;
    let appends = (0..12).map(|_| {
        let (store, session) = (Arc::clone(&store), session.clone());
        async move { store.put_events(&session, events(5..8)).await }
    });
    for outcome in join_all(appends).await {
        ensure_eq!(
            outcome?,
            span(2, 5),
            "the positions that a concurrent repeat got"
        );
    }
    ensure_eq!(store.end(&session).await?.tail, at(5), "the tail");
    // Threads meet where what one task does is one step: over two handles, if there can be two.
    let handles = [Arc::clone(&store), bench.beside(&store).await?];
    for round in 0..bench.options.budget.of(2, 4, 50) {
        let (first, start) = (10 + round * 10, 5 + round * 3);
        let appends = handles.iter().cycle().take(8).map(|handle| {
            let (store, session) = (Arc::clone(handle), session.clone());
            async move {
                let range = store.put_events(&session, events(first..first + 3));
                ensure_eq!(
                    range.await?,
                    span(start, start + 3),
                    "the positions that a repeat on another thread got"
                );
                Ok(true)
            }
        });
        for outcome in bench.on_threads(appends) {
            outcome?;
        }
        let tail = store.end(&session).await?.tail;
        ensure_eq!(tail, at(start + 3), "the tail behind repeats of threads");
    }
    Ok(())
}
