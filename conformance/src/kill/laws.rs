//! The laws of killed processes.

use super::child::{GROUP, Told};
use super::explore::{acknowledged, at_every_call, happened, steps_at_every_call};
use super::oracle::{Before, Oracle, again};
use super::parent::Process;
use super::work::{LARGE, Who, steps};
use crate::bench::{Ask, Bench};
use crate::breach::{Held, breach, ensure, ensure_eq};
use crate::law::law;
use crate::make::{event_id, events};
use crate::{Law, Place};
use sessionlog_core::Severity;

pub(crate) const LAWS: &[Law] = &[
    law!(
        Kill,
        g03_killed_appends_leave_a_prefix,
        "Killed at any file call, appends leave every acknowledged batch, and the one under way whole or not at all.",
        Durable,
        Folder,
        Child,
        Calls
    ),
    law!(
        Kill,
        g02_a_killed_group_leaves_whole_batches,
        "Killed at any file call, concurrent appends leave each batch whole or not at all, and every acknowledged one.",
        Durable,
        Folder,
        Child,
        Calls
    ),
    law!(
        Kill,
        g07_a_killed_holder_leaves_its_token,
        "Killed at any file call, a holder leaves its lease free, and its token is never granted again.",
        Durable,
        Folder,
        Child,
        Calls
    ),
    law!(
        Kill,
        g11_killed_snapshots_and_blobs_are_whole_or_absent,
        "Killed at any file call, snapshots and blobs are whole or absent, and no snapshot claims more than the log.",
        Durable,
        Folder,
        Child,
        Calls
    ),
    law!(
        Kill,
        g17_a_killed_delete_leaves_whole_or_gone,
        "Killed at any file call, a delete leaves the session whole or gone, and its name usable.",
        Durable,
        Folder,
        Child,
        Calls
    ),
    law!(
        Kill,
        g03_kills_at_any_time_leave_a_prefix,
        "Killed at any time, wherever it is, a writer leaves every acknowledged batch, and no part of one.",
        Durable,
        Child
    ),
];

async fn g03_killed_appends_leave_a_prefix(bench: &Bench) -> Held {
    let work = match bench.subject.limits.batch_events as u64 {
        most if most >= LARGE.1 - LARGE.0 => "batches",
        _ => "appends",
    };
    steps_at_every_call(bench, work).await
}

async fn g07_a_killed_holder_leaves_its_token(bench: &Bench) -> Held {
    steps_at_every_call(bench, "lease").await
}

async fn g11_killed_snapshots_and_blobs_are_whole_or_absent(bench: &Bench) -> Held {
    steps_at_every_call(bench, "beside").await
}

async fn g17_a_killed_delete_leaves_whole_or_gone(bench: &Bench) -> Held {
    steps_at_every_call(bench, "delete").await
}

async fn g02_a_killed_group_leaves_whole_batches(bench: &Bench) -> Held {
    at_every_call(bench, "group", async |place, ended| {
        let acknowledged: Vec<_> = ended.told.iter().filter_map(done).collect();
        group_is_whole(bench, place, &acknowledged).await
    })
    .await?;
    happened(bench, &["kills", "batches there", "batches absent"])
}

fn done(told: &Told) -> Option<u64> {
    match told {
        Told::Done(n, _) => u64::try_from(*n).ok(),
        _ => None,
    }
}

/// What must hold of a group of appends after a crash.
pub(crate) async fn group_is_whole(bench: &Bench, place: &Place, acknowledged: &[u64]) -> Held {
    let store = bench.open_at(place).await?;
    let session = Who("s", 1).session()?;
    let head = store.head(&session.id).await;
    if head
        .as_ref()
        .is_err_and(sessionlog_core::Error::is_not_found)
    {
        ensure_eq!(
            acknowledged.len(),
            0,
            "acknowledged batches of a session that is gone"
        );
        return Ok(());
    }
    head?;
    let log = store.log(&session).await?;
    let ids: Vec<_> = log.iter().map(|e| e.id).collect();
    let mut expected = 0;
    for n in 0..=GROUP {
        let batch = if n == 0 {
            events(0..1)
        } else {
            events(n * 10..n * 10 + 3)
        };
        let place = ids
            .iter()
            .position(|id| batch.first().is_some_and(|e| e.id == *id));
        let Some(place) = place else {
            ensure!(
                !acknowledged.contains(&n),
                "batch {n} was acknowledged and is gone"
            );
            bench.sometimes("batches absent", 1);
            continue;
        };
        let there: Vec<_> = ids.iter().skip(place).take(batch.len()).copied().collect();
        let whole: Vec<_> = batch.iter().map(|e| e.id).collect();
        ensure_eq!(there, whole, "the events of batch {n}");
        expected += batch.len();
        bench.sometimes("batches there", 1);
    }
    ensure_eq!(ids.len(), expected, "events in the log, and in its batches");
    let found = store.verify(&session.id).await?;
    let damage = found.iter().any(|f| f.severity == Severity::Damage);
    ensure!(!damage, "verification after a kill found {found:?}");
    let store = again(bench, store, place).await?;
    ensure!(
        store.log(&session).await? == log,
        "the log differs when it is opened a second time"
    );
    let range = store.put_events(&session, events(900..902)).await?;
    let last = store.events(&session, range).await?.last().map(|e| e.id);
    ensure_eq!(
        last,
        Some(event_id(901)),
        "the last event of the next append"
    );
    Ok(())
}

async fn g03_kills_at_any_time_leave_a_prefix(bench: &Bench) -> Held {
    let oracle = Oracle::of(steps("endless")).await?;
    let kills = bench.options.budget.of(2, 5, 50);
    for kill in 0..kills {
        bench.trail.clear();
        let place = bench.new_place()?;
        let process = Process::start(bench, &place, "endless", None, None)?;
        // So many acknowledgements are waited for; the child goes on meanwhile.
        let mut told = Vec::new();
        for _ in 0..1 + kill * 7 % 190 {
            match process.next()? {
                Some(next) => told.push(next),
                None => return Err(breach("the child ended before it was killed")),
            }
        }
        let mut ended = process.kill()?;
        told.append(&mut ended.told);
        ended.told = told;
        ended.sound()?;
        let (done, tokens) = acknowledged(&ended)?;
        bench.trail.line(format!(
            "a child was killed after {done} of {} steps",
            oracle.len()
        ));
        oracle
            .check(bench, &place, Before::acknowledged(done), &tokens)
            .await?;
        bench.sometimes("kills", u64::from(ended.killed));
    }
    happened(bench, &["kills"])
}
