//! All short scripts of faults, then random ones; the shortest that fails is told.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;

use super::Fault;
use super::conductor::{Chance, Conductor, Plan};
use super::play::Play;
use crate::artefact::Artefact;
use crate::bench::Bench;
use crate::breach::{End, Held, breach};
use crate::patience::patient;

/// Faults of a run, by the number of the request.
pub(crate) type Script = BTreeMap<u64, Fault>;

/// Which scripts are tried.
pub(super) struct Search {
    /// The first so many requests meet all faults in all combinations.
    pub(super) depth: u64,
    /// Up to so many requests anywhere meet all faults in all combinations.
    pub(super) few: u64,
    /// So many scripts at most.
    pub(super) most: u64,
    /// So many random scripts more.
    pub(super) random: u64,
}

/// Runs some work with so many clients under all scripts of a search.
pub(super) async fn search(
    bench: &Bench,
    clients: usize,
    search: &Search,
    work: impl AsyncFn(&Play<'_>) -> Held,
) -> Held {
    if let Some(script) = asked(bench)? {
        return told(bench, clients, script, &work).await;
    }
    let mut path = Some(Vec::new());
    let mut scripts = 0;
    while let Some(taken) = path.filter(|_| scripts < search.most) {
        let plan = Plan::Tree {
            path: taken,
            depth: search.depth,
            few: search.few,
        };
        path = one(bench, clients, plan, &work).await?.next_path();
        scripts += 1;
    }
    bench.sometimes("scripts", scripts);
    for seed in 0..search.random {
        let per_mille = 40 + 150 * (seed % 3);
        let plan = Plan::Chance(Chance::new(seed, per_mille));
        one(bench, clients, plan, &work).await?;
    }
    bench.sometimes("random scripts", search.random);
    Ok(())
}

/// The script that is to be replayed, if it is one of this law.
pub(super) fn asked(bench: &Bench) -> Held<Option<Script>> {
    let Some(artefact) = Artefact::asked(bench)? else {
        return Ok(None);
    };
    let script = artefact.faults;
    script
        .map(Some)
        .ok_or_else(|| End::Broken("the file to replay has no faults".into()))
}

async fn one(
    bench: &Bench,
    clients: usize,
    plan: Plan,
    work: &impl AsyncFn(&Play<'_>) -> Held,
) -> Held<Arc<Conductor>> {
    let conductor = Conductor::new(plan);
    let Err(end) = run(bench, clients, &conductor, false, work).await else {
        return Ok(conductor);
    };
    if !matches!(end, End::Breach(_)) {
        return Err(end);
    }
    let fails = async |script: &Script| {
        let conductor = Conductor::new(Plan::Script(script.clone()));
        run(bench, clients, &conductor, false, work).await.is_err()
    };
    let script = shortest(conductor.faults(), fails).await;
    Err(match told(bench, clients, script, work).await {
        Err(end) => end,
        Ok(()) => breach(format!(
            "a failure that does not come back when its faults are replayed: {end:?}"
        )),
    })
}

/// Fewer faults, as long as the run still fails.
pub(super) async fn shortest(mut script: Script, fails: impl AsyncFn(&Script) -> bool) -> Script {
    for number in script.keys().rev().copied().collect::<Vec<_>>() {
        let mut fewer = script.clone();
        fewer.remove(&number);
        if fails(&fewer).await {
            script = fewer;
        }
    }
    script
}

/// Runs a script once more, for its trail; a failure is saved.
async fn told(
    bench: &Bench,
    clients: usize,
    script: Script,
    work: &impl AsyncFn(&Play<'_>) -> Held,
) -> Held {
    bench.trail.clear();
    let conductor = Conductor::new(Plan::Script(script.clone()));
    let ran = run(bench, clients, &conductor, true, work).await;
    let did = spoiled(&conductor);
    ran.map_err(|end| Artefact::of_faults(script).attach(bench, end, &did))
}

/// The requests that were spoiled, in words.
pub(super) fn spoiled(conductor: &Conductor) -> String {
    let taken = conductor.taken();
    let mut lines = vec![format!(
        "the requests that were spoiled, of {}:",
        taken.len()
    )];
    for (n, taken) in taken.iter().enumerate() {
        if taken.fault != Fault::None {
            lines.push(format!(
                "  {n} of client {}: {:?} {}: {}",
                taken.client, taken.request.op, taken.request.key, taken.fault
            ));
        }
    }
    lines.join("\n")
}

/// One run, whatever way it ends.
async fn run(
    bench: &Bench,
    clients: usize,
    conductor: &Arc<Conductor>,
    traced: bool,
    work: &impl AsyncFn(&Play<'_>) -> Held,
) -> Held {
    let run = async {
        let play = Play::new(bench, clients, Arc::clone(conductor), None, traced).await?;
        conductor.arm(true);
        work(&play).await?;
        play.note(|| "from here on no request is spoiled".to_owned());
        play.finish().await
    };
    guarded(bench, run).await
}

/// A panic and an endless wait are breaches.
pub(super) async fn guarded(bench: &Bench, run: impl Future<Output = Held>) -> Held {
    let ran = AssertUnwindSafe(patient(bench.options.patience, run));
    match ran.catch_unwind().await {
        Ok(Some(outcome)) => outcome,
        Ok(None) => Err(breach("an operation waits, and nobody wakes it")),
        Err(_) => Err(breach("an operation panicked")),
    }
}
