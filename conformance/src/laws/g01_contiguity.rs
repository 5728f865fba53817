//! G1: an append gives its events the positions behind the tail, with no gap and no reuse.

use sessionlog_core::{AppendCondition, ErrorKind, FencingToken};

use crate::Law;
use crate::bench::{Ask, Bench};
use crate::breach::{Held, ensure_eq, ensure_err};
use crate::law::law;
use crate::make::{at, event, events, span};

pub(super) const LAWS: &[Law] = &[
    law!(
        g01_positions_are_dense_from_zero,
        "Each append gives its events the positions right behind the tail, from 0."
    ),
    law!(
        g01_the_head_is_the_end_of_the_log,
        "After each append the head names the session's life, the tail, and the last event's checksum and largest id."
    ),
    law!(
        g01_an_empty_batch_changes_nothing,
        "An empty batch checks its condition and gives the empty range at the tail."
    ),
    law!(
        g01_a_refused_append_uses_no_position,
        "After a refused append the next one gets the position that the refused one would have got."
    ),
];

async fn g01_positions_are_dense_from_zero(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    ensure_eq!(
        store.end(&session).await?.tail,
        at(0),
        "the tail of a new session"
    );
    let mut tail = 0;
    for size in [1, 3, 1, 2, 40, 1] {
        let range = store
            .put_events(&session, events(tail..tail + size))
            .await?;
        ensure_eq!(
            range,
            span(tail, tail + size),
            "the positions of a batch of {size}"
        );
        tail += size;
        ensure_eq!(
            store.end(&session).await?.tail,
            at(tail),
            "the tail behind it"
        );
    }
    let seqs: Vec<_> = store.log(&session).await?.iter().map(|e| e.seq).collect();
    ensure_eq!(
        seqs,
        (0..tail).map(at).collect::<Vec<_>>(),
        "the positions as read"
    );
    Ok(())
}

async fn g01_the_head_is_the_end_of_the_log(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    for batch in [vec![event(5)], vec![event(9), event(7)], vec![event(1)]] {
        store.put_events(&session, batch).await?;
        let (present, head) = store.head(&session.id).await?;
        ensure_eq!(present, session, "the life that the head names");
        let log = store.log(&session).await?;
        let last = log.last().map(sessionlog_core::Head::after);
        ensure_eq!(Some(head), last, "the head, and the end of the log as read");
    }
    Ok(())
}

async fn g01_an_empty_batch_changes_nothing(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let first = store.put_events(&session, Vec::new()).await?;
    ensure_eq!(first, span(0, 0), "an empty batch on an empty log");
    store.put_events(&session, events(0..3)).await?;
    let before = store.end(&session).await?;

    let plain = store.put_events(&session, Vec::new()).await?;
    ensure_eq!(plain, span(3, 3), "an empty batch");
    let right = store.put_at(&session, Vec::new(), 3).await?;
    ensure_eq!(right, span(3, 3), "an empty batch at the right tail");
    let wrong = store.put_at(&session, Vec::new(), 2).await;
    ensure_err!(wrong, ErrorKind::Conflict { tail } if *tail == at(3), "an empty batch at another tail");
    let (stale, new) = store.stale_and_new(&session).await?;
    let refused = store.put_under(&session, Vec::new(), &stale).await;
    ensure_err!(refused, ErrorKind::Fenced { token } if *token == new.token, "an empty batch under a stale token");
    ensure_eq!(
        store.end(&session).await?,
        before,
        "the head behind all of them"
    );
    Ok(())
}

async fn g01_a_refused_append_uses_no_position(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    store.put_events(&session, events(0..2)).await?;
    let conflict = store.put_at(&session, events(2..5), 1).await;
    ensure_err!(
        conflict,
        ErrorKind::Conflict { .. },
        "an append at another tail"
    );
    let unknown = AppendCondition::with(FencingToken::new(77));
    let refused = store.append(&session, events(5..8), unknown).await;
    ensure_err!(
        refused,
        ErrorKind::InvalidInput,
        "an append under a token that never was"
    );
    let twice = store.put_events(&session, vec![event(8), event(8)]).await;
    ensure_err!(twice, ErrorKind::InvalidInput, "a batch with an id twice");
    let next = store.put_events(&session, events(9..11)).await?;
    ensure_eq!(next, span(2, 4), "the positions of the next append");
    let ids: Vec<_> = store.log(&session).await?.iter().map(|e| e.id).collect();
    let expected: Vec<_> = [0, 1, 9, 10].map(crate::make::event_id).into();
    ensure_eq!(ids, expected, "the ids of the log");
    Ok(())
}
