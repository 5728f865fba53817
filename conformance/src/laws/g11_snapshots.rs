//! G11, G12: snapshots are a cache, and what is in it is what was put there.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};
use sessionlog_core::{
    Event, Kind, Projection, SeqNum, SessionId, SessionRef, Snapshot, Store, Sum,
};

use crate::Law;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{Held, ensure, ensure_eq};
use crate::law::law;
use crate::make::{FOLD, at, events, fresh, noise, request, snapshot};

pub(super) const LAWS: &[Law] = &[
    law!(
        g11_the_latest_at_or_before_is_given,
        "Of the snapshots that cover no more than was asked, the latest is given; with none, nothing."
    ),
    law!(
        g11_the_last_two_snapshots_are_kept,
        "However many are saved, the last two of a projection and version are there."
    ),
    law!(
        g11_projections_and_versions_are_apart,
        "A snapshot is given for its own projection and version only."
    ),
    law!(
        g11_the_same_place_is_replaced,
        "A snapshot that covers the same is replaced by the newer one."
    ),
    law!(
        g11_a_scan_gives_the_latest_of_each_session,
        "A scan gives the latest snapshot of each session that has one, once."
    ),
    law!(
        g12_snapshots_come_back_whole,
        "Every field and every byte of a snapshot comes back, also after a reopen."
    ),
    law!(
        g12_snapshot_and_tail_equal_full_replay,
        "At every position, replay with the store's snapshots equals replay of the log alone."
    ),
];

async fn latest(store: &Handle, session: &SessionRef, bound: u64) -> Held<Option<u64>> {
    let found = store.latest(session, &FOLD, 1, at(bound)).await?;
    Ok(found.map(|s| s.covers.get()))
}

async fn filled(bench: &Bench) -> Held<(Handle, SessionRef, Sum)> {
    let (store, session) = bench.session("s").await?;
    store.put_events(&session, events(0..12)).await?;
    let sum = store.end(&session).await?.sum;
    Ok((store, session, sum))
}

async fn g11_the_latest_at_or_before_is_given(bench: &Bench) -> Held {
    let (store, session, sum) = filled(bench).await?;
    ensure_eq!(
        latest(&store, &session, u64::MAX).await?,
        None,
        "before any was saved"
    );
    store.save(&session, snapshot(3, sum, "a"), None).await?;
    store.save(&session, snapshot(10, sum, "b"), None).await?;
    for (bound, expected) in [
        (0, None),
        (2, None),
        (3, Some(3)),
        (9, Some(3)),
        (10, Some(10)),
        (11, Some(10)),
        (u64::MAX, Some(10)),
    ] {
        let found = latest(&store, &session, bound).await?;
        ensure_eq!(
            found,
            expected,
            "the latest of 3 and 10 at or before {bound}"
        );
    }
    Ok(())
}

async fn g11_the_last_two_snapshots_are_kept(bench: &Bench) -> Held {
    const OTHER: Kind = Kind::from_static("other");
    let (store, session, sum) = filled(bench).await?;
    for covers in 1..=8 {
        // In turn with those of another projection.
        for projection in [FOLD, OTHER] {
            let saved = Snapshot {
                projection,
                ..snapshot(covers, sum, format!("state {covers}"))
            };
            store.save(&session, saved, None).await?;
        }
        for projection in [FOLD, OTHER] {
            for (bound, what) in [(u64::MAX, covers), (covers - 1, covers - 1)] {
                let found = store.latest(&session, &projection, 1, at(bound)).await?;
                let found = found.map(|s| s.covers.get());
                let expected = (what > 0).then_some(what);
                ensure_eq!(
                    found,
                    expected,
                    "the latest of {projection} up to {bound} after saving {covers}"
                );
            }
        }
    }
    Ok(())
}

async fn g11_projections_and_versions_are_apart(bench: &Bench) -> Held {
    const OTHER: Kind = Kind::from_static("other");
    let (store, session, sum) = filled(bench).await?;
    let one = snapshot(5, sum, "fold 1");
    let two = Snapshot {
        version: 2,
        ..snapshot(4, sum, "fold 2")
    };
    let other = Snapshot {
        projection: OTHER,
        ..snapshot(6, sum, "other 1")
    };
    for saved in [&one, &two, &other] {
        store.save(&session, saved.clone(), None).await?;
    }
    for (projection, version, expected) in [
        (FOLD, 2, Some(two)),
        (OTHER, 1, Some(other)),
        (OTHER, 2, None),
        (FOLD, 3, None),
        (FOLD, 0, None),
        (Kind::from_static("fold.x"), 1, None),
        (Kind::from_static("fol"), 1, None),
    ] {
        let found = store
            .latest(&session, &projection, version, SeqNum::MAX)
            .await?;
        ensure_eq!(
            found,
            expected,
            "the latest of {projection} version {version}"
        );
    }
    // Those of smaller versions may be dropped: none, or the right one.
    let found = store.latest(&session, &FOLD, 1, SeqNum::MAX).await?;
    ensure!(
        found.is_none() || found == Some(one),
        "version 1 gave another snapshot: {found:?}"
    );
    Ok(())
}

async fn g11_the_same_place_is_replaced(bench: &Bench) -> Held {
    let (store, session, sum) = filled(bench).await?;
    store
        .save(&session, snapshot(7, sum, "a longer state"), None)
        .await?;
    let newer = snapshot(7, sum, "newer");
    store.save(&session, newer.clone(), None).await?;
    let found = store.latest(&session, &FOLD, 1, SeqNum::MAX).await?;
    ensure_eq!(found, Some(newer), "the snapshot that covers 7");
    ensure_eq!(latest(&store, &session, 6).await?, None, "one before it");
    Ok(())
}

async fn g11_a_scan_gives_the_latest_of_each_session(bench: &Bench) -> Held {
    // More than a page may have, where that costs little.
    let many = match bench.is_quick() {
        true => 27,
        false => bench.options.budget.of(6, 27, 60),
    };
    let place = bench.quick_place()?;
    let store = bench.open_at(&place).await?;
    let mut expected = Vec::new();
    for n in 0..many {
        let session = fresh(&format!("s{n}"))?;
        store.create(&session).await?;
        store.put_events(&session, events(0..9)).await?;
        let sum = store.end(&session).await?.sum;
        for k in 0..n % 3 {
            let saved = snapshot(1 + k + n % 6, sum, format!("{n} {k}"));
            store.save(&session, saved.clone(), None).await?;
            if k + 1 == n % 3 {
                expected.push((session.id.clone(), saved));
            }
        }
    }
    let mut scanned: Vec<(SessionId, Snapshot)> = store.scan(&FOLD, 1).try_collect().await?;
    scanned.sort_by(|a, b| a.0.cmp(&b.0));
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    ensure_eq!(scanned, expected, "the snapshots of a scan");
    let none: Vec<_> = store.scan(&FOLD, 2).try_collect().await?;
    ensure_eq!(none.len(), 0, "snapshots of a version that nobody saved");
    Ok(())
}

async fn g12_snapshots_come_back_whole(bench: &Bench) -> Held {
    let (store, session, _) = filled(bench).await?;
    let long = bench.options.budget.of(200_000, 1 << 20, 4 << 20);
    let long = usize::try_from(long).unwrap_or(0);
    let states = [
        Bytes::new(),
        Bytes::from_static(b"\n"),
        Bytes::from_static(b"{\"json\": [1,\n2]}\0\xff"),
        noise(1, long).into(),
    ];
    let mut saved = Vec::new();
    for (version, state) in (1..).zip(states) {
        let one = Snapshot {
            version,
            ..snapshot(u64::from(version) + 3, Sum::from_u64(u64::MAX - 5), state)
        };
        store.save(&session, one.clone(), None).await?;
        // A larger version may drop this one, so it is looked at now.
        let found = store.latest(&session, &FOLD, version, SeqNum::MAX).await?;
        ensure!(
            found.as_ref() == Some(&one),
            "version {version} came back changed: {found:?}"
        );
        saved.push(one);
    }
    let store = bench.reopen(store).await?;
    let largest = saved.last();
    let version = largest.map_or(0, |s| s.version);
    let found = store.latest(&session, &FOLD, version, SeqNum::MAX).await?;
    ensure!(
        found.as_ref() == largest,
        "the largest came back changed after a reopen"
    );
    Ok(())
}

/// Something that is wrong whenever an event is missed, doubled or swapped.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Digest {
    count: u64,
    hash: u64,
}

impl Projection for Digest {
    const NAME: &'static str = "digest";
    const VERSION: u32 = 1;

    fn apply(&mut self, event: &Event) {
        self.count += 1;
        let seed = Sum::from_u64(self.hash.rotate_left(7));
        self.hash = seed.then(event.data.as_bytes()).as_u64();
    }
}

async fn g12_snapshot_and_tail_equal_full_replay(bench: &Bench) -> Held {
    const EVENTS: u64 = 20;
    let (handle, at_session) = bench.session("s").await?;
    let store = Store::shared(Arc::clone(&handle) as _);
    let session = store.open(&at_session.id).await?;
    let writer = session.acquire(request("driver")?).await?;
    let mut folds = vec![Digest::default()];
    for n in 0..EVENTS {
        writer.append(events(n..n + 1)).await?;
        if n % 3 == 1 {
            writer.save(&session.project::<Digest>().await?).await?;
        }
        let mut next = Digest::default();
        session
            .read(SeqNum::all())
            .collect()
            .await?
            .iter()
            .for_each(|e| next.apply(e));
        folds.push(next);
        for (until, expected) in (0..).zip(&folds) {
            let projected = session.project_until::<Digest>(at(until)).await?;
            ensure_eq!(
                projected.state,
                *expected,
                "replay until {until} of {}",
                n + 1
            );
            ensure_eq!(projected.head.tail, at(until), "how far it reached");
        }
    }
    Ok(())
}
