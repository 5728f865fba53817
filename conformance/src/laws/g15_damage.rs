//! G15: every event carries a checksum that is chained to the event before.

use std::sync::Arc;

use sessionlog_core::{Event, EventId, Head, SessionRef, Severity, Store};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::Law;
use crate::bench::{Ask, Bench};
use crate::breach::{Held, ensure, ensure_eq, ensure_err};
use crate::dump::Dump;
use crate::law::law;
use crate::laws::g03_durability::fill;
use crate::make::{at, event, events, span};
use sessionlog_core::ErrorKind;

pub(super) const LAWS: &[Law] = &[
    law!(
        g15_checksums_follow_the_formula,
        "Each event has the checksum of the documented formula, computed here independently, and so has the head."
    ),
    law!(
        g15_every_slice_can_be_verified,
        "The core verifies every slice, from any position, also after a reopen."
    ),
    law!(
        g15_verify_finds_nothing_in_a_whole_store,
        "Verification of a store that is whole finds no damage, and no strays."
    ),
    law!(
        g15_repair_of_a_whole_session_changes_nothing,
        "Repair of a session that is whole loses nothing, or says that it can mend nothing."
    ),
    law!(
        g15_a_repair_disturbs_no_driver,
        "Repair of a whole session that somebody drives is refused with the holder, or finds nothing to mend; the holder goes on."
    ),
];

/// The formula of the core's docs, written anew.
fn checksum(before: u64, event: &Event) -> u64 {
    let mut envelope = Vec::new();
    envelope.extend_from_slice(&event.seq.get().to_le_bytes());
    envelope.extend_from_slice(event.id.as_bytes());
    envelope.extend_from_slice(&event.at.as_micros().to_le_bytes());
    envelope.extend_from_slice(event.top.unwrap_or(EventId::MIN).as_bytes());
    envelope.extend_from_slice(event.kind.as_str().as_bytes());
    xxh3_64_with_seed(event.data.as_bytes(), xxh3_64_with_seed(&envelope, before))
}

fn genesis(session: &SessionRef) -> u64 {
    let mut bytes = session.id.as_str().as_bytes().to_vec();
    bytes.push(0);
    bytes.extend_from_slice(session.incarnation.as_bytes());
    xxh3_64(&bytes)
}

async fn g15_checksums_follow_the_formula(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let empty = store.end(&session).await?;
    ensure_eq!(
        empty.sum.as_u64(),
        genesis(&session),
        "the checksum of an empty log"
    );
    ensure_eq!(empty.top, EventId::MIN, "the largest id of an empty log");
    let batches = [
        events(5..8),
        vec![event(2)],
        vec![event(9), event(1), event(8)],
        events(20..22),
    ];
    for batch in batches {
        store.put_events(&session, batch).await?;
    }
    let (mut sum, mut top) = (genesis(&session), EventId::MIN);
    let log = store.log(&session).await?;
    for event in &log {
        let expected = (top > event.id).then_some(top);
        ensure_eq!(
            event.top,
            expected,
            "the largest id before event {}",
            event.seq
        );
        top = top.max(event.id);
        sum = checksum(sum, event);
        ensure_eq!(
            event.sum.as_u64(),
            sum,
            "the checksum of event {}",
            event.seq
        );
    }
    let expected = Head::new(at(9), sessionlog_core::Sum::from_u64(sum), top);
    ensure_eq!(store.end(&session).await?, expected, "the head");
    Ok(())
}

async fn g15_every_slice_can_be_verified(bench: &Bench) -> Held {
    let (handle, session) = bench.session("s").await?;
    for n in 0..4 {
        handle
            .put_events(&session, events(n * 4..n * 4 + 4))
            .await?;
    }
    let handle = bench.reopen(handle).await?;
    let opened = Store::shared(Arc::clone(&handle) as _)
        .open(&session.id)
        .await?;
    for from in 0..=16 {
        for to in [from, from + 1, from + 5, 16, u64::MAX] {
            let slice = opened.read(span(from, to)).collect().await?;
            let expected = to.min(16).saturating_sub(from);
            ensure_eq!(
                slice.len() as u64,
                expected,
                "verified events of {from}..{to}"
            );
        }
    }
    Ok(())
}

async fn g15_verify_finds_nothing_in_a_whole_store(bench: &Bench) -> Held {
    let store = bench.open().await?;
    let sessions = fill(&store).await?;
    let store = bench.reopen(store).await?;
    for session in &sessions {
        let found = store.verify(&session.id).await?;
        ensure!(
            found.is_empty(),
            "verification of {} found {found:?}",
            session.id
        );
    }
    let strays = store.strays().await?;
    let bad: Vec<_> = strays
        .iter()
        .filter(|f| f.severity > Severity::Note)
        .collect();
    ensure!(bad.is_empty(), "strays in a whole store: {bad:?}");
    Ok(())
}

async fn g15_repair_of_a_whole_session_changes_nothing(bench: &Bench) -> Held {
    let store = bench.open().await?;
    let sessions = fill(&store).await?;
    let before = Dump::of(&store).await?;
    for session in &sessions {
        let tail = store.end(session).await?.tail.get();
        for apply in [false, true] {
            match store.repair(&session.id, apply).await {
                Ok(repair) => {
                    ensure_eq!(
                        (repair.events, repair.lost),
                        (tail, 0),
                        "events that are whole, and lost"
                    );
                }
                unsupported => {
                    ensure_err!(
                        unsupported,
                        ErrorKind::Unsupported,
                        "repair of a whole session"
                    );
                }
            }
            before.same(&Dump::of(&store).await?, "after a repair")?;
        }
    }
    Ok(())
}

async fn g15_a_repair_disturbs_no_driver(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    store.put_events(&session, events(0..2)).await?;
    let lease = store.lease(&session, "driver").await?;
    let before = Dump::of(&store).await?;
    match store.repair(&session.id, true).await {
        Ok(repair) => ensure_eq!(
            (repair.events, repair.lost),
            (2, 0),
            "events that are whole, and lost"
        ),
        Err(error) if *error.kind() == ErrorKind::Unsupported => {}
        refused => {
            ensure_err!(refused, ErrorKind::LeaseHeld { holder, .. } if holder.token == lease.token, "repair of a session that is driven");
        }
    }
    before.same(&Dump::of(&store).await?, "after a repair beside a driver")?;
    store.put_under(&session, events(2..3), &lease).await?;
    store.release(&lease).await?;
    Ok(())
}
