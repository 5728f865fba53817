//! Killing a child at every n-th file call.

use sessionlog_crashfs::{Moment, Plan};

use super::child::Told;
use super::oracle::{DONE, NOT_DONE, Oracle};
use super::parent::{Ended, Process};
use super::work::steps;
use crate::artefact::{Artefact, KillAt};
use crate::bench::Bench;
use crate::breach::{End, Held, ensure, ensure_eq};
use crate::files::Files;
use crate::{Budget, Place};

/// A half-written write was met.
const TORN: &str = "half-written write";
/// Kills of a child at one of its file calls.
const KILLS: &str = "kills";

/// Kills a child at each of its calls, and checks what it left each time.
///
/// `check` gets the place, the child's end and whether the child was killed.
pub(crate) async fn at_every_call(
    bench: &Bench,
    work: &str,
    check: impl AsyncFn(&Place, &Ended) -> Held,
) -> Held {
    if let Some(replay) = Artefact::asked(bench)? {
        let KillAt { call, moment } = replay.kill.ok_or_else(|| {
            End::Broken("the file to replay has the commands of another law".into())
        })?;
        let moment = Moment::ALL.into_iter().find(|m| m.name() == moment);
        let moment = moment.ok_or_else(|| End::Broken("no such moment to replay".into()))?;
        return run(bench, work, call, moment, &check).await.map(drop);
    }
    // A run that nothing stops.
    let whole = bench.quick_place()?;
    let plan = Plan::new(whole.dir());
    let ended = Process::start(bench, &whole, work, Some(&plan), None)?.end()?;
    ended.sound()?;
    ensure!(
        ended.finished(),
        "a child that nothing stops did not finish: {ended:?}"
    );
    check(&whole, &ended).await?;

    // Half of a call that is no write is nothing of it: the state before the call.
    let moments: &[Moment] = match bench.options.budget {
        Budget::Smoke => &[Moment::Half],
        Budget::Default => &[Moment::Half, Moment::After],
        Budget::Deep => &[Moment::Half, Moment::After, Moment::Before],
    };
    for moment in moments {
        let mut fillings = Vec::new();
        for call in 1.. {
            let Some(filled) = run(bench, work, call, *moment, &check).await? else {
                break;
            };
            fillings.push(filled);
        }
        // Between the calls before and behind it, a half-written write leaves a filling of its own.
        let grows = |w: &&[usize]| w.is_sorted_by(|a, b| a < b);
        let torn = fillings.windows(3).filter(grows).count();
        if *moment == Moment::Half && torn > 0 {
            bench.sometimes(TORN, torn as u64);
        }
    }
    Ok(())
}

/// One child, and how many bytes it left that are not zero; `None` if it finished before it came to the call.
async fn run(
    bench: &Bench,
    work: &str,
    call: u64,
    moment: Moment,
    check: &impl AsyncFn(&Place, &Ended) -> Held,
) -> Held<Option<usize>> {
    // A failure is told by its own run.
    bench.trail.clear();
    let place = bench.quick_place()?;
    let plan = Plan::new(place.dir()).stop_at(call, moment);
    let ended = Process::start(bench, &place, work, Some(&plan), None)?.end()?;
    let checked = async {
        ended.sound()?;
        if ended.finished() {
            return Ok(None);
        }
        bench.sometimes(KILLS, 1);
        let filled = Files::below(place.dir())?.filled();
        check(&place, &ended).await?;
        Ok(Some(filled))
    };
    checked.await.map_err(|end| {
        let moment = moment.name().to_owned();
        let did = format!(
            "a child that did the work {work:?} was killed at its file call {call}: {moment}"
        );
        Artefact::of_kill(KillAt { call, moment }).attach(bench, end, &did)
    })
}

/// What a child acknowledged: how many steps, one after the other, and which tokens.
pub(crate) fn acknowledged(ended: &Ended) -> Held<(usize, Vec<u64>)> {
    let mut tokens = Vec::new();
    let mut done = 0;
    for told in &ended.told {
        if let Told::Done(step, token) = told {
            ensure_eq!(*step, done, "the next step that the child acknowledged");
            done += 1;
            tokens.extend(*token);
        }
    }
    Ok((done, tokens))
}

/// A workload of single steps, checked against the reference backend.
pub(crate) async fn steps_at_every_call(bench: &Bench, work: &str) -> Held {
    let oracle = Oracle::of(steps(work)).await?;
    at_every_call(bench, work, async |place, ended| {
        let (done, tokens) = acknowledged(ended)?;
        oracle.check(bench, place, (done, 0), &tokens).await
    })
    .await?;
    happened(bench, &[KILLS, TORN, DONE, NOT_DONE])
}

/// A run in which something never happened that must happen sometimes shows nothing.
pub(crate) fn happened(bench: &Bench, names: &[&'static str]) -> Held {
    if bench.options.replay.is_some() {
        return Ok(());
    }
    let counters = bench.counters();
    match names.iter().find(|name| !counters.contains_key(*name)) {
        Some(name) => Err(End::NotMeasured(format!("it never happened: {name}"))),
        None => Ok(()),
    }
}
