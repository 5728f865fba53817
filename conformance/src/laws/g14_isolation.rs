//! G14: nothing done to one session changes another.

use sessionlog_core::SessionId;

use crate::Law;
use crate::bench::{Ask, Bench};
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
    let store = bench.open().await?;
    ensure_eq!(store.ids().await?.len(), 0, "sessions of an empty store");
    let mut expected = Vec::new();
    for n in 0..bench.options.budget.of(40, 120, 1_500) {
        let session = fresh(&format!("s{n:05}"))?;
        store.create(&session).await?;
        if n % 5 == 3 {
            store.delete(&session, None).await?;
        } else {
            expected.push(session.id);
        }
    }
    ensure_eq!(store.ids().await?, expected, "the list");
    let store = bench.reopen(store).await?;
    ensure_eq!(store.ids().await?, expected, "the list after a reopen");
    Ok(())
}
