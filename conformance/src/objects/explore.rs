//! All short scripts of faults, fewest faults first, then random ones; the shortest that fails is told.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;

use super::Fault;
use super::conductor::{Chance, Conductor, Plan, Taken};
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

impl Search {
    /// The scripts that have one fault more, behind those of a run.
    fn one_more(&self, script: &Script, taken: &[Taken], next: &mut Vec<Script>) {
        let behind = script.keys().next_back().map_or(0, |last| last + 1);
        for (at, taken) in (0..).zip(taken).skip_while(|(at, _)| *at < behind) {
            if at >= self.depth && script.len() as u64 >= self.few {
                break;
            }
            for fault in taken.request.op.faults().iter().skip(1) {
                let mut more = script.clone();
                more.insert(at, *fault);
                next.push(more);
            }
        }
    }
}

/// So many of them, from all over, and how many were left out.
fn spread(all: Vec<Script>, room: usize) -> (Vec<Script>, u64) {
    let len = all.len();
    if len <= room {
        return (all, 0);
    }
    // The n-th of the chosen begins the n-th of `room` stretches of equal length.
    let chosen = all.into_iter().enumerate().filter(|(n, _)| {
        let stretch = |n: usize| (n as u128 * room as u128).div_ceil(len as u128);
        stretch(*n + 1) > stretch(*n)
    });
    let chosen: Vec<_> = chosen.map(|(_, script)| script).collect();
    let left = (len - chosen.len()) as u64;
    (chosen, left)
}

/// Runs some work with so many clients under all scripts of a search: those of no fault, of one, of
/// two, and so on. If there are more than are to be tried, those of most faults are tried in part.
pub(super) async fn search(
    bench: &Bench,
    clients: usize,
    search: &Search,
    work: impl AsyncFn(&Play<'_>) -> Held,
) -> Held {
    if let Some(script) = asked(bench)? {
        return told(bench, clients, script, &work).await;
    }
    let mut scripts = 0;
    let mut level = vec![Script::new()];
    while !level.is_empty() {
        let faults = level.first().map_or(0, Script::len);
        let room = usize::try_from(search.most - scripts).unwrap_or(usize::MAX);
        if faults <= 1 && level.len() > room {
            return Err(End::NotMeasured(format!(
                "{} scripts of one fault are more than the {} that were to be tried",
                level.len(),
                search.most
            )));
        }
        let (some, left) = spread(level, room);
        bench.sometimes("scripts left out", left);
        let mut next = Vec::new();
        for script in some {
            let taken = one(bench, clients, Plan::Script(script.clone()), &work)
                .await?
                .taken();
            scripts += 1;
            search.one_more(&script, &taken, &mut next);
        }
        level = next;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_left_out_everywhere() {
        let all: Vec<_> = (0..100).map(|n| Script::from([(n, Fault::Lost)])).collect();
        for room in [0, 1, 7, 99, 100, 101] {
            let (chosen, left) = spread(all.clone(), room);
            assert_eq!(chosen.len(), room.min(100));
            assert_eq!(left, 100 - chosen.len() as u64);
            let first = |script: &Script| *script.keys().next().unwrap();
            for pair in chosen.windows(2) {
                let step = first(&pair[1]) - first(&pair[0]);
                assert!(step <= 100_u64.div_ceil(room as u64), "a gap of {step}");
            }
        }
    }
}
