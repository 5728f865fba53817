//! G8: a grant fences what its predecessor has begun, and not only what it begins.

use std::sync::Arc;

use futures_util::TryStreamExt;
use sessionlog_core::{AppendCondition, BlobInfo, ErrorKind, SeqNum};

use crate::bench::{Ask, Bench};
use crate::breach::{Held, ensure, ensure_eq, ensure_err};
use crate::law::law;
use crate::make::{FOLD, events, request, snapshot};
use crate::under_way::{Gate, POLLS, UnderWay};
use crate::{Capability, Law};

pub(super) const LAWS: &[Law] = &[
    law!(
        g08_a_grant_fences_an_append_under_way,
        "An append that is under way when its lease is taken by force, after any number of polls, stands before all that the new holder appends, or is fenced.",
        ForcedLeases
    ),
    law!(
        g08_a_grant_fences_a_snapshot_under_way,
        "A snapshot that is under way when its lease is taken by force was there at the grant, or is fenced.",
        ForcedLeases
    ),
    law!(
        g08_a_grant_fences_a_put_under_way,
        "A blob whose content still comes when its lease is taken by force, on whatever handle, is fenced, and not there.",
        ForcedLeases
    ),
];

async fn g08_a_grant_fences_an_append_under_way(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    for polls in POLLS {
        let n = polls as u64 * 10;
        let stale = store.acquire(&session, request("stale")?.forced()).await?;
        let with = AppendCondition::with(stale.token);
        let append = store.append(&session, events(n..n + 2), with);
        let mut append = UnderWay::polled(append, polls).await;
        let ended = append.is_done();
        let forced = request("operator")?.forced();
        let new = append.beside(store.acquire(&session, forced)).await?;
        let next = store.put_under(&session, events(n + 5..n + 6), &new);
        let next = append.beside(next).await?;
        match append.end().await? {
            Ok(range) => ensure!(
                range.end <= next.start,
                "an append under token {}, polled {polls} times before token {} was granted, stands \
                 behind an append of the new holder: at {range:?}, that one at {next:?}",
                stale.token,
                new.token
            ),
            fenced => {
                ensure_err!(fenced, ErrorKind::Fenced { token } if *token == new.token, "an append that was under way at a grant");
                let tail = store.end(&session).await?.tail;
                ensure_eq!(tail, next.end, "the tail behind a fenced append");
            }
        }
        if ended {
            break;
        }
    }
    Ok(())
}

async fn g08_a_grant_fences_a_snapshot_under_way(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    store.put_events(&session, events(0..2)).await?;
    let log = store.end(&session).await?.sum;
    for polls in POLLS {
        let stale = store.acquire(&session, request("stale")?.forced()).await?;
        let late = snapshot(2, log, format!("{polls} polls"));
        let is_late = |found: Option<_>| found.as_ref() == Some(&late);
        let save = store.save(&session, late.clone(), Some(stale.token));
        let mut save = UnderWay::polled(save, polls).await;
        let ended = save.is_done();
        let forced = request("operator")?.forced();
        let new = save.beside(store.acquire(&session, forced)).await?;
        let latest = async || store.latest(&session, &FOLD, 1, SeqNum::MAX).await;
        let at_grant = is_late(save.beside(latest()).await?);
        let saved = save.end().await?;
        if saved.is_ok() {
            ensure!(
                at_grant,
                "a snapshot under token {}, polled {polls} times before token {} was granted, took \
                 effect behind the grant",
                stale.token,
                new.token
            );
        } else {
            ensure_err!(saved, ErrorKind::Fenced { token } if *token == new.token, "a snapshot that was under way at a grant");
        }
        let latest = latest().await?;
        ensure_eq!(
            is_late(latest),
            saved.is_ok(),
            "whether the snapshot is there in the end"
        );
        if ended {
            break;
        }
    }
    Ok(())
}

async fn g08_a_grant_fences_a_put_under_way(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let mut handles = vec![Arc::clone(&store)];
    if bench.subject.several_handles == Capability::Yes {
        handles.push(bench.open().await?);
    }
    for by in &handles {
        let stale = store.acquire(&session, request("stale")?.forced()).await?;
        let gate = Gate::default();
        let content = gate.between(&b"begun"[..], b"and done");
        let put = store.put(&session, content, Some(stale.token));
        let mut put = UnderWay::at(put, &gate).await;
        let forced = request("operator")?.forced();
        let new = put.beside(by.acquire(&session, forced)).await?;
        let before_it = !put.stood_still();
        let ended = put.end().await?;
        // Who lets nobody have the lease before a put has ended can't be late with it.
        if ended.is_err() || !before_it {
            ensure_err!(ended, ErrorKind::Fenced { token } if *token == new.token, "a blob that was under way at a grant");
            let blobs: Vec<BlobInfo> = store.list(&session).try_collect().await?;
            ensure_eq!(blobs, vec![], "the blobs behind a fenced put");
        }
    }
    Ok(())
}
