//! G3: what was acknowledged is there after the store was closed, and is flushed before that.

use sessionlog_crashfs::Watch;

use crate::Law;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{End, Held, ensure, ensure_eq};
use crate::dump::Dump;
use crate::law::law;
use crate::make::{self, events, fresh, pieces, snapshot};
use futures_util::future::join_all;
use sessionlog_core::SessionRef;

pub(super) const LAWS: &[Law] = &[
    law!(
        g03_everything_survives_a_reopen,
        "Sessions, events, blobs and snapshots are the same after the store was closed and opened."
    ),
    law!(
        g03_the_folder_is_the_store,
        "A copy of the folder opens as the same store: nothing is kept elsewhere.",
        Folder
    ),
    law!(
        g03_an_append_is_flushed_before_it_is_acknowledged,
        "Each append writes, and flushes a file, before it returns.",
        Folder,
        Calls
    ),
    law!(
        g03_a_lone_append_is_one_write_and_one_flush,
        "A lone append costs exactly one write call and one flush, whatever its size in events.",
        Folder,
        OneWriteOneFlush,
        Calls
    ),
    law!(
        g03_concurrent_appends_share_flushes,
        "64 concurrent appends on a session cost far fewer flushes than appends.",
        Folder,
        GroupCommit,
        Calls
    ),
];

/// Two sessions with something of everything.
pub(super) async fn fill(store: &Handle) -> Held<Vec<SessionRef>> {
    let mut sessions = Vec::new();
    for (n, name) in (0_u64..).zip(["one", "two"]) {
        let session = fresh(name)?;
        store.create(&session).await?;
        for batch in 0..4 {
            let first = n * 100 + batch * 10;
            store.put_events(&session, events(first..first + 3)).await?;
        }
        let head = store.end(&session).await?;
        store
            .save(&session, snapshot(12, head.sum, name), None)
            .await?;
        let content = make::noise(n, 70_000);
        store.put(&session, pieces(&content, 9_000), None).await?;
        sessions.push(session);
    }
    Ok(sessions)
}

async fn g03_everything_survives_a_reopen(bench: &Bench) -> Held {
    let store = bench.open().await?;
    fill(&store).await?;
    let before = Dump::of(&store).await?;
    let store = bench.reopen(store).await?;
    before.same_durable(&Dump::of(&store).await?, "after closing and opening")?;
    let store = bench.reopen(store).await?;
    before.same_durable(&Dump::of(&store).await?, "after closing and opening twice")
}

async fn g03_the_folder_is_the_store(bench: &Bench) -> Held {
    let store = bench.open().await?;
    fill(&store).await?;
    let before = Dump::of(&store).await?;
    drop(store);
    let copy = bench.place.copy()?;
    let store = bench.open_at(&copy).await?;
    before.same_durable(&Dump::of(&store).await?, "in the copy of the folder")
}

/// A watch over the place.
pub(super) fn watch(bench: &Bench) -> Held<Watch> {
    Watch::new(bench.place.dir()).map_err(|e| End::NotMeasured(e.to_string()))
}

async fn g03_an_append_is_flushed_before_it_is_acknowledged(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let watch = watch(bench)?;
    for n in 0..6 {
        let before = watch.counts();
        store.put_events(&session, events(n * 3..n * 3 + 3)).await?;
        let calls = watch.counts().since(&before);
        ensure!(
            calls.shared_maps > 0 || calls.writes > 0 && calls.flushes() > 0,
            "append {n} returned before it was flushed: {calls:?}"
        );
    }
    Ok(())
}

async fn g03_a_lone_append_is_one_write_and_one_flush(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    // The first append may also make what the session needs.
    store.put_events(&session, events(0..1)).await?;
    let watch = watch(bench)?;
    for (n, size) in (1_u64..).zip([1, 5, 200]) {
        let before = watch.counts();
        let batch = events(n * 1000..n * 1000 + size);
        store.put_events(&session, batch).await?;
        let calls = watch.counts().since(&before);
        let cost = (calls.writes, calls.flushes(), calls.calls());
        ensure_eq!(
            cost,
            (1, 1, 2),
            "writes, flushes and all calls of an append of {size}"
        );
    }
    Ok(())
}

async fn g03_concurrent_appends_share_flushes(bench: &Bench) -> Held {
    const APPENDS: u64 = 64;
    let (store, session) = bench.session("s").await?;
    store.put_events(&session, events(1000..1001)).await?;
    let watch = watch(bench)?;
    let appends = (0..APPENDS).map(|n| store.put_events(&session, events(n..n + 1)));
    let all = join_all(appends).await;
    let flushes = watch.counts().flushes();
    for outcome in all {
        outcome?;
    }
    bench.sometimes("flushes", flushes);
    ensure!(
        (1..=APPENDS / 4).contains(&flushes),
        "{APPENDS} concurrent appends cost {flushes} flushes, at most {} are expected",
        APPENDS / 4
    );
    Ok(())
}
