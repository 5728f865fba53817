//! G14: nothing done to one session changes another.

use std::time::Duration;

use futures_timer::Delay;
use sessionlog_core::SessionId;

use crate::Law;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{End, Held, ensure_eq};
use crate::dump::Dump;
use crate::law::law;
use crate::make::{event_id, events, fresh, noise, pieces, snapshot};

pub(super) const LAWS: &[Law] = &[
    law!(
        g14_sessions_do_not_touch_each_other,
        "Appends, snapshots, blobs, leases and the deletion of one session leave its neighbours as they were."
    ),
    law!(
        g14_ids_that_file_systems_confuse_are_apart,
        "Ids that differ by case, end with a dot, name a device, or have 128 bytes are different sessions."
    ),
    law!(
        g14_the_list_has_every_session_once,
        "The list names every session once, and none that was deleted."
    ),
    law!(
        g14_the_newest_sessions_are_those_made_last,
        "The newest sessions, where an index tells them, are those that were made last, the newest first, and none that was deleted."
    ),
];

async fn g14_sessions_do_not_touch_each_other(bench: &Bench) -> Held {
    let store = bench.open().await?;
    let names = ["ab", "a", "abc", "a.b", "a-b", "a_b", "ab.", "AB"];
    let mut sessions = Vec::new();
    for name in names {
        let session = fresh(name)?;
        store.create(&session).await?;
        store.put_events(&session, events(0..3)).await?;
        store
            .put(&session, pieces(name.as_bytes(), 9), None)
            .await?;
        sessions.push(session);
    }
    let [busy, neighbours @ ..] = sessions.as_slice() else {
        return Err(End::Broken("no sessions".into()));
    };
    let mut before = Dump::of(&store).await?;
    before.sessions.remove(&busy.id);

    store.put_events(busy, events(3..9)).await?;
    let sum = store.end(busy).await?.sum;
    let shared = pieces(b"a", 1);
    let blob = store.put(busy, shared, None).await?.id;
    let lease = store.lease(busy, "driver").await?;
    store.remove(busy, blob, Some(lease.token)).await?;
    let mut after = Dump::of(&store).await?;
    after.sessions.remove(&busy.id);
    before.same(&after, "after appends, blobs and a lease of another")?;

    store
        .save(busy, snapshot(9, sum, noise(1, 100)), None)
        .await?;
    store.delete(busy, Some(lease.token)).await?;
    drop(lease);
    before.same(&Dump::of(&store).await?, "after another was deleted")?;
    ensure_eq!(
        before.sessions.len(),
        neighbours.len(),
        "how many neighbours there are"
    );
    let store = bench.reopen(store).await?;
    before.same(&Dump::of(&store).await?, "after a reopen")
}

/// Names that some file system would merge, refuse or treat as a device.
pub(crate) fn odd_ids() -> Vec<String> {
    let long = "x".repeat(SessionId::MAX_LEN);
    let long_upper = format!("X{}", "x".repeat(SessionId::MAX_LEN - 1));
    [
        "a",
        "A",
        "aB",
        "Ab",
        "ab",
        "AB",
        "con",
        "CON",
        "nul.txt",
        "aux.json",
        "prn",
        "com1",
        "LPT9",
        "x.",
        "x..",
        "x",
        "x.jsonl",
        "x.tmp",
        "_",
        "__",
        "0",
        "events",
        "lock",
        "index",
        "tmp",
        "sessions",
        "a.b",
        "a_b",
        "a-b",
        "%61",
        "~a",
        &long,
        &long_upper,
    ]
    .into_iter()
    .filter(|name| SessionId::new(name).is_ok())
    .map(str::to_owned)
    .collect()
}

async fn g14_ids_that_file_systems_confuse_are_apart(bench: &Bench) -> Held {
    let store = bench.open().await?;
    let mut sessions = Vec::new();
    for (n, name) in (0..).zip(odd_ids()) {
        let session = fresh(&name)?;
        store.create(&session).await?;
        store.put_events(&session, events(n..n + 1)).await?;
        sessions.push(session);
    }
    let mut expected: Vec<_> = sessions.iter().map(|s| s.id.clone()).collect();
    expected.sort_unstable();
    ensure_eq!(store.ids().await?, expected, "the list");
    let store = bench.reopen(store).await?;
    ensure_eq!(store.ids().await?, expected, "the list after a reopen");
    for (n, session) in (0..).zip(&sessions) {
        let ids: Vec<_> = store.log(session).await?.iter().map(|e| e.id).collect();
        ensure_eq!(ids, vec![event_id(n)], "the events of {}", session.id);
    }
    while let Some(session) = sessions.pop() {
        store.delete(&session, None).await?;
        for (n, other) in (0..).zip(&sessions) {
            let ids: Vec<_> = store.log(other).await?.iter().map(|e| e.id).collect();
            ensure_eq!(
                ids,
                vec![event_id(n)],
                "the events of {} after {} was deleted",
                other.id,
                session.id
            );
        }
    }
    ensure_eq!(
        store.ids().await?.len(),
        0,
        "sessions after all were deleted"
    );
    Ok(())
}

async fn g14_the_list_has_every_session_once(bench: &Bench) -> Held {
    // More than any page has, where that costs little.
    let many = match bench.is_quick() {
        true => 1_060,
        false => bench.options.budget.of(40, 110, 1_500),
    };
    let place = bench.quick_place()?;
    let store = bench.open_at(&place).await?;
    ensure_eq!(store.ids().await?.len(), 0, "sessions of an empty store");
    let mut expected = Vec::new();
    for n in 0..many {
        let session = fresh(&format!("s{n:05}"))?;
        store.create(&session).await?;
        if n % 25 == 3 {
            store.delete(&session, None).await?;
        } else {
            expected.push(session.id);
        }
    }
    ensure_eq!(store.ids().await?, expected, "the list");
    drop(store);
    let store = bench.open_at(&place).await?;
    ensure_eq!(store.ids().await?, expected, "the list after a reopen");
    Ok(())
}

/// What `newest` must give, if it gives anything: `made` in the order of their creation.
async fn newest_are(store: &Handle, made: &[SessionId], when: &str) -> Held {
    for most in [0, 1, 5, made.len(), made.len() + 9] {
        let Some(newest) = store.newest(most).await? else {
            let why = "no index of this storage tells which sessions were made last";
            return Err(End::Skipped(why.into()));
        };
        let expected: Vec<_> = made.iter().rev().take(most).cloned().collect();
        ensure_eq!(newest, expected, "the newest {most} sessions {when}");
    }
    Ok(())
}

async fn g14_the_newest_sessions_are_those_made_last(bench: &Bench) -> Held {
    let store = bench.open().await?;
    let (mut made, mut lives) = (Vec::new(), Vec::new());
    // Their names are in another order.
    for n in 0..9 {
        // What is made within one millisecond has no order.
        Delay::new(Duration::from_millis(2)).await;
        let session = fresh(&format!("s{}", n * 7 % 9))?;
        store.create(&session).await?;
        made.push(session.id.clone());
        lives.push(session);
    }
    newest_are(&store, &made, "of nine").await?;
    for gone in [8, 3] {
        let life = lives.remove(gone);
        made.retain(|id| *id != life.id);
        store.delete(&life, None).await?;
    }
    newest_are(&store, &made, "after two were deleted").await?;
    // A name that is used again counts from its new life.
    let first = lives.remove(0);
    store.delete(&first, None).await?;
    Delay::new(Duration::from_millis(2)).await;
    store.create(&fresh(first.id.as_str())?).await?;
    made.rotate_left(1);
    newest_are(&store, &made, "after the oldest was made anew").await?;
    let store = bench.reopen(store).await?;
    newest_are(&store, &made, "after a reopen").await
}
