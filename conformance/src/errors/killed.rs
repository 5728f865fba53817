//! A flush that fails where a process was killed before its own.

use sessionlog_crashfs::FaultKind;

use super::fault::{FaultAt, Kill};
use super::laws::{asked, once, told};
use super::run::Struck;
use crate::bench::Bench;
use crate::breach::{End, Held};
use crate::kill::happened;
use crate::kill::work::{Step, steps};
use crate::model::fewest;
use crate::power::{History, Work};

/// Flushes of the second process that failed.
const FLUSHES: &str = "failed flushes behind a kill";

/// What the killed process wrote is in the memory of the system, and a flush that fails may drop it: no
/// later flush brings it back, and no look at the file shows it.
pub(super) async fn g13_a_failed_flush_behind_a_kill_loses_nothing(bench: &Bench) -> Held {
    if let Some(outcome) = asked(bench).await? {
        return outcome;
    }
    let steps = steps("all");
    let past = Work::Steps(steps.clone()).record(bench).await?;
    let most = bench.options.budget.of(3, 4, u64::MAX);
    for kill in spread(kills(&past), most) {
        if let Some((fault, end)) = behind(bench, &steps, &past, kill).await? {
            let (steps, (fault, end)) = shortest(bench, steps, fault, end).await;
            return Err(told(bench, &steps, fault, end));
        }
    }
    happened(bench, &[FLUSHES])
}

/// The moments before each flush.
fn kills(past: &History) -> Vec<usize> {
    let flushes = past.calls.iter().enumerate();
    let flushes = flushes.filter(|(_, call)| call.flushes());
    flushes.map(|(n, _)| n).collect()
}

/// At most so many of them, spread evenly.
fn spread(all: Vec<usize>, most: u64) -> impl Iterator<Item = usize> {
    let stride = (all.len() as u64).div_ceil(most.max(1)).max(1);
    let stride = usize::try_from(stride).unwrap_or(usize::MAX);
    all.into_iter().step_by(stride)
}

/// Fails each flush of a process behind one that was killed there. The first failure.
async fn behind(
    bench: &Bench,
    steps: &[Step],
    past: &History,
    call: usize,
) -> Held<Option<(FaultAt, End)>> {
    for again in [true, false] {
        for at in 1.. {
            let mut struck = Struck::Nothing;
            // One that goes on failing takes ways that one which fails once does not.
            for lasting in [false, true] {
                let fault = FaultAt::new(FaultKind::Eio, at, lasting).behind(Kill { call, again });
                struck = match once(bench, steps, past, &fault).await {
                    Ok(struck) => struck,
                    Err(end @ End::Breach(_)) => return Ok(Some((fault, end))),
                    Err(other) => return Err(other),
                };
                if struck != Struck::Flush {
                    break;
                }
                bench.sometimes(FLUSHES, 1);
            }
            if struck == Struck::Nothing {
                break;
            }
        }
    }
    Ok(None)
}

/// The fewest steps that are found to fail, whatever call it is behind.
async fn shortest(
    bench: &Bench,
    steps: Vec<Step>,
    fault: FaultAt,
    end: End,
) -> (Vec<Step>, (FaultAt, End)) {
    let most = bench.options.budget.of(3, 4, 20);
    let fails = async |fewer: &[Step]| {
        // A list that can't be done shows nothing.
        let Ok(past) = Work::Steps(fewer.to_vec()).record(bench).await else {
            return Ok(());
        };
        for kill in spread(kills(&past), most) {
            match behind(bench, fewer, &past, kill).await {
                Ok(Some(failure)) => return Err(failure),
                Ok(None) => {}
                Err(_) => break,
            }
        }
        Ok(())
    };
    fewest((steps, (fault, end)), fails).await
}
