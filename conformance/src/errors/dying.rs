//! A flush that fails in a process which is killed soon after.

use sessionlog_crashfs::FaultKind;

use super::fault::{FaultAt, Kill};
use super::laws::{asked, ends, once, told};
use super::run::{BUILT, record};
use crate::bench::Bench;
use crate::breach::{End, Held};
use crate::kill::happened;
use crate::kill::work::{Step, steps};
use crate::model::fewest;
use crate::power::{Call, History};

/// Flushes of the killed process that failed.
const FLUSHES: &str = "failed flushes before a kill";

/// What could not be flushed can be read, and counts as clean, for as long as the system runs. Only the
/// process that saw the flush fail knows of it, and that is gone: the next one must not take what it finds
/// for durable once its own flush succeeds.
pub(super) async fn g13_a_failed_flush_before_a_kill_loses_nothing(bench: &Bench) -> Held {
    if let Some(outcome) = asked(bench).await? {
        return outcome;
    }
    let steps = steps("killed");
    if let Some((fault, end)) = search(bench, &steps).await? {
        let fails = async |fewer: &[Step]| match search(bench, fewer).await {
            Ok(Some(failure)) => Err(failure),
            // A list that can't be done shows nothing.
            Ok(None) | Err(_) => Ok(()),
        };
        let (steps, (fault, end)) = fewest((steps, (fault, end)), fails).await;
        let end = ends(bench, &steps, &fault).await.unwrap_or(end);
        return Err(told(bench, &steps, fault, end));
    }
    happened(bench, &[FLUSHES, BUILT])
}

/// Fails the flushes of a process, kills it behind each, and lets the next one work. The first failure.
async fn search(bench: &Bench, steps: &[Step]) -> Held<Option<(FaultAt, End)>> {
    let stride = bench.options.budget.of(3, 2, 1);
    let mut flushes = 0_u64;
    for at in 1.. {
        let fault = FaultAt::new(FaultKind::Eio, at, false);
        let Some(past) = record(bench, steps, &fault).await? else {
            break;
        };
        let Some(failed) = past.calls.iter().position(Call::fails) else {
            continue;
        };
        flushes += 1;
        if !flushes.is_multiple_of(stride) {
            continue;
        }
        bench.sometimes(FLUSHES, 1);
        if let Some(failure) = killed(bench, steps, &past, failed, &fault).await? {
            return Ok(Some(failure));
        }
    }
    Ok(None)
}

/// Kills the process right behind the failed flush, and where the step ends that it is of.
async fn killed(
    bench: &Bench,
    steps: &[Step],
    past: &History,
    failed: usize,
    fault: &FaultAt,
) -> Held<Option<(FaultAt, End)>> {
    let mut calls = vec![failed + 1, past.since];
    calls.dedup();
    for call in calls {
        for again in [true, false] {
            let fault = fault.clone().before(Kill { call, again });
            match once(bench, steps, past, &fault).await {
                Ok(_) => {}
                Err(end @ End::Breach(_)) => return Ok(Some((fault, end))),
                Err(other) => return Err(other),
            }
        }
    }
    Ok(None)
}
