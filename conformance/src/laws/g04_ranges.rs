//! G4: reads are strictly ascending and without a gap, from any position.

use futures_util::{StreamExt, TryStreamExt};
use sessionlog_core::{ErrorKind, Event, SeqNum, SessionRef};

use crate::Law;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{Held, ensure, ensure_eq, ensure_err};
use crate::law::law;
use crate::make::{FOLD, at, events, fresh, snapshot, span};

pub(super) const LAWS: &[Law] = &[
    law!(
        g04_slices_equal_the_full_read,
        "Every slice of a log of several batches is that part of the full read."
    ),
    law!(
        g04_a_long_log_is_read_whole,
        "A log of thousands of events is read whole and in order, from the start and from any position."
    ),
    law!(
        g04_shortcuts_give_what_plain_looks_give,
        "`heads`, `read_known` and `latest_known` give what `head`, `read` and `latest` give, in the order that was asked for."
    ),
    law!(
        g04_ranges_are_cut_at_the_tail,
        "Ranges that are empty, upside down or reach beyond the tail give what is there, and no error."
    ),
    law!(
        g04_a_read_ends_where_the_log_ended_when_it_began,
        "A read gives no event that was appended after it was first polled."
    ),
];

fn part(log: &[Event], from: u64, to: u64) -> Vec<Event> {
    let from = usize::try_from(from).unwrap_or(usize::MAX);
    let to = usize::try_from(to).unwrap_or(usize::MAX);
    log.iter().take(to).skip(from).cloned().collect()
}

/// Compares without printing whole logs.
fn same(slice: &[Event], expected: &[Event], from: u64, to: u64) -> Held {
    let seqs = |events: &[Event]| events.iter().map(|e| e.seq.get()).collect::<Vec<_>>();
    ensure_eq!(
        seqs(slice),
        seqs(expected),
        "the positions of the slice {from}..{to}"
    );
    ensure!(
        slice == expected,
        "the slice {from}..{to} differs from the full read in its bytes"
    );
    Ok(())
}

async fn g04_slices_equal_the_full_read(bench: &Bench) -> Held {
    const EVENTS: u64 = 24;
    let (store, session) = bench.session("s").await?;
    let mut n = 0;
    for size in [1, 5, 1, 1, 9, 2, 5] {
        store.put_events(&session, events(n..n + size)).await?;
        n += size;
    }
    let log = store.log(&session).await?;
    ensure_eq!(log.len() as u64, EVENTS, "the number of events");
    for from in 0..=EVENTS {
        for to in from..=EVENTS {
            let slice = store.events(&session, span(from, to)).await?;
            same(&slice, &part(&log, from, to), from, to)?;
        }
    }
    Ok(())
}

async fn g04_a_long_log_is_read_whole(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let many = match bench.is_quick() {
        true => 4_200,
        false => 1_500,
    };
    let many = bench.options.budget.of(many, 5_000, 30_000);
    let mut n = 0;
    while n < many {
        let size = (1 + n % 500).min(many - n);
        store.put_events(&session, events(n..n + size)).await?;
        n += size;
    }
    let log = store.log(&session).await?;
    let seqs: Vec<_> = log.iter().map(|e| e.seq.get()).collect();
    ensure!(
        seqs.iter().copied().eq(0..many),
        "the positions are not 0..{many}: {seqs:?}"
    );
    for from in [1, 255, 256, 257, 511, 1_000, many - 1, many] {
        for to in [from, from + 1, from + 300, many] {
            let slice = store.events(&session, span(from, to)).await?;
            same(&slice, &part(&log, from, to), from, to)?;
        }
    }
    // Where chunks of a store may begin and end.
    for edge in [256, 512, 1_024, 4_096]
        .into_iter()
        .filter(|e| e + 4 < many)
    {
        for edge in edge - 1..=edge + 1 {
            for (from, to) in [(edge, edge + 3), (edge - 3, edge)] {
                let slice = store.events(&session, span(from, to)).await?;
                same(&slice, &part(&log, from, to), from, to)?;
            }
        }
    }
    Ok(())
}

async fn g04_shortcuts_give_what_plain_looks_give(bench: &Bench) -> Held {
    let store = bench.open().await?;
    let mut lives = Vec::new();
    // More than are looked at at once.
    for n in 0..18_u64 {
        let life = fresh(&format!("s{n}"))?;
        store.create(&life).await?;
        lives.push(life);
    }
    let (life, gone) = (lives.swap_remove(4), lives.swap_remove(9));
    store.put_events(&life, events(0..37)).await?;
    store.delete(&gone, None).await?;
    heads_are_plain(&store, &lives, &[&gone, &life, &fresh("never")?]).await?;
    let other = bench.beside(&store).await?;
    for end in [40, 43] {
        store.put_events(&life, events(end - 3..end)).await?;
        let (_, head) = other.head(&life.id).await?;
        ensure_eq!(head.tail, at(end), "the tail");
        let log = store.log(&life).await?;
        for (from, to) in [
            (0, end),
            (0, 1),
            (7, 31),
            (end - 2, end),
            (end, end),
            (9, 9),
        ] {
            let read = other.read_known(&life, span(from, to));
            let slice: Vec<Event> = read.try_concat().await?;
            same(&slice, &part(&log, from, to), from, to)?;
        }
    }
    for covers in [3, 10] {
        let state = format!("{covers}");
        let sum = store.end(&life).await?.sum;
        store
            .save(&life, snapshot(covers, sum, state), None)
            .await?;
    }
    for (version, bound) in [(1, 2), (1, 3), (1, 9), (1, 10), (1, u64::MAX), (2, 10)] {
        let bound = at(bound);
        let plain = store.latest(&life, &FOLD, version, bound).await?;
        let known = other.latest_known(&life, &FOLD, version, bound).await?;
        ensure_eq!(
            known,
            plain,
            "`latest_known` of version {version} at {bound}"
        );
    }
    Ok(())
}

/// Compares `heads` of many sessions, some of which are not there, with `head` of each.
async fn heads_are_plain(store: &Handle, lives: &[SessionRef], some: &[&SessionRef]) -> Held {
    let mut ids: Vec<_> = some.iter().map(|life| life.id.clone()).collect();
    for (n, life) in (1_usize..).zip(lives) {
        // In an order that no index has.
        ids.insert(n * 7 % ids.len(), life.id.clone());
    }
    for asked in [&ids[..], &[]] {
        let heads = store.heads(asked).await;
        ensure_eq!(heads.len(), asked.len(), "how many `heads` there are");
        for (id, head) in asked.iter().zip(heads) {
            match (head, store.head(id).await) {
                (Ok(head), plain) => ensure_eq!(head, plain?, "`heads` and `head` of {id}"),
                (head, Ok(_)) => drop(head?),
                (head, Err(_)) => ensure_err!(head, ErrorKind::NotFound, "`heads` of {id}"),
            }
        }
    }
    Ok(())
}

async fn g04_ranges_are_cut_at_the_tail(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    ensure_eq!(
        store.log(&session).await?.len(),
        0,
        "events of an empty log"
    );
    store.put_events(&session, events(0..5)).await?;
    for (from, to, expected) in [
        (0, 5, 5),
        (0, 6, 5),
        (4, u64::MAX, 1),
        (5, 5, 0),
        (5, 9, 0),
        (6, 9, 0),
        (3, 3, 0),
        (4, 2, 0),
        (9, 0, 0),
        (0, 0, 0),
        (u64::MAX, u64::MAX, 0),
        (u64::MAX, 0, 0),
        (u64::MAX - 1, u64::MAX, 0),
    ] {
        let slice = store.events(&session, span(from, to)).await?;
        ensure_eq!(
            slice.len(),
            expected,
            "the number of events in {from}..{to} of 0..5"
        );
        let first = slice.first().map(|e| e.seq);
        ensure_eq!(
            first,
            (expected > 0).then_some(at(from)),
            "the first of {from}..{to}"
        );
    }
    Ok(())
}

async fn g04_a_read_ends_where_the_log_ended_when_it_began(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    store.put_events(&session, events(0..600)).await?;
    let mut read = store.read(&session, SeqNum::all());
    let first = read.next().await.transpose()?.unwrap_or_default();
    store.put_events(&session, events(600..650)).await?;
    let rest: Vec<Event> = read.try_concat().await?;
    let total = first.len() + rest.len();
    ensure_eq!(
        total,
        600,
        "events of a read that began before 50 more were appended"
    );
    ensure_eq!(
        store.log(&session).await?.len(),
        650,
        "events of a read that began after"
    );
    Ok(())
}
