//! A flush that fails where a process was killed before its own.

use sessionlog_crashfs::FaultKind;

use super::fault::{FaultAt, Kill};
use super::laws::{asked, ends, once, told};
use super::run::{BUILT, Struck};
use crate::Budget;
use crate::bench::Bench;
use crate::breach::{End, Held};
use crate::kill::happened;
use crate::kill::work::{Step, steps};
use crate::model::fewest;
use crate::power::{Call, History, Mark, Work};

/// Flushes of the second process that failed.
const FLUSHES: &str = "failed flushes behind a kill";

/// What the killed process wrote is in the memory of the system, and a flush that fails may drop it: no
/// later flush brings it back, and no look at the file shows it.
pub(super) async fn g13_a_failed_flush_behind_a_kill_loses_nothing(bench: &Bench) -> Held {
    if let Some(outcome) = asked(bench).await? {
        return outcome;
    }
    let steps = steps("killed");
    let past = Work::Steps(steps.clone()).record(bench).await?;
    for call in kills(bench, &steps, &past) {
        for again in [true, false] {
            let kill = Kill { call, again };
            if let Some((fault, end)) = behind(bench, &steps, &past, kill).await? {
                let (steps, (fault, end)) = shortest(bench, steps, fault, end).await;
                return Err(told(bench, &steps, fault, end));
            }
        }
    }
    happened(bench, &[FLUSHES, BUILT])
}

/// The moments before flushes: of each step the last one that it waits for, appends first; in the deep
/// budget before every flush.
fn kills(bench: &Bench, steps: &[Step], past: &History) -> Vec<usize> {
    let flushes =
        || (0..past.calls.len()).filter(|n| past.calls.get(*n).is_some_and(Call::flushes));
    let most = match bench.options.budget {
        Budget::Smoke => 2,
        Budget::Default => 3,
        Budget::Deep => return flushes().collect(),
    };
    let of_step = |(mark, step): (&(usize, Mark), &Step)| {
        let last = flushes().take_while(|n| *n < mark.0).last()?;
        Some((!matches!(step, Step::Append(..)), last))
    };
    let mut last: Vec<_> = past.marks.iter().zip(steps).filter_map(of_step).collect();
    last.sort_unstable();
    last.dedup();
    last.into_iter().map(|(_, call)| call).take(most).collect()
}

/// Fails each flush of a process behind one that was killed there. The first failure.
async fn behind(
    bench: &Bench,
    steps: &[Step],
    past: &History,
    kill: Kill,
) -> Held<Option<(FaultAt, End)>> {
    for at in 1.. {
        let mut struck = Struck::Nothing;
        // One that goes on failing takes ways that one which fails once does not.
        for lasting in [false, true] {
            let fault = FaultAt::new(FaultKind::Eio, at, lasting).behind(kill);
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
    Ok(None)
}

/// The fewest steps that are found to fail, wherever the first process is killed.
async fn shortest(
    bench: &Bench,
    steps: Vec<Step>,
    fault: FaultAt,
    end: End,
) -> (Vec<Step>, (FaultAt, End)) {
    let again = fault.behind.is_some_and(|kill| kill.again);
    let fails = async |fewer: &[Step]| {
        // A list that can't be done shows nothing.
        let Ok(past) = Work::Steps(fewer.to_vec()).record(bench).await else {
            return Ok(());
        };
        for call in kills(bench, fewer, &past) {
            match behind(bench, fewer, &past, Kill { call, again }).await {
                Ok(Some(failure)) => return Err(failure),
                Ok(None) => {}
                Err(_) => break,
            }
        }
        Ok(())
    };
    let (steps, (fault, end)) = fewest((steps, (fault, end)), fails).await;
    let end = ends(bench, &steps, &fault).await.unwrap_or(end);
    (steps, (fault, end))
}
