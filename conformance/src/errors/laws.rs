//! The laws of I/O errors.

use std::cell::Cell;

use sessionlog_crashfs::FaultKind;

use super::fault::FaultAt;
use super::killed::g13_a_failed_flush_behind_a_kill_loses_nothing;
use super::run::{DELIVERED, REFUSED, Struck, run};
use crate::Law;
use crate::artefact::Artefact;
use crate::bench::Bench;
use crate::breach::{End, Held};
use crate::kill::happened;
use crate::kill::work::{Step, steps};
use crate::law::law;
use crate::model::fewest;
use crate::patience::guarded;
use crate::power::{Call, History, Work};

pub(crate) const LAWS: &[Law] = &[
    law!(
        Errors,
        g13_a_file_call_that_fails_loses_nothing,
        "Whichever file call fails, once: every error is honest, what was acknowledged outlives a power loss, and the store serves again.",
        Durable,
        Folder,
        Calls
    ),
    law!(
        Errors,
        g13_a_disk_that_goes_on_failing_loses_nothing,
        "From whichever file call on the disk fails: every error is honest, what was acknowledged outlives a power loss, and a healed disk serves again.",
        Durable,
        Folder,
        Calls
    ),
    law!(
        Errors,
        g13_a_failed_flush_behind_a_kill_loses_nothing,
        "A process is killed before a flush, and a flush of the next one fails: what is acknowledged then outlives a power loss, and the store serves again.",
        Durable,
        Folder,
        Calls
    ),
];

async fn g13_a_file_call_that_fails_loses_nothing(bench: &Bench) -> Held {
    at_every_call(bench, false).await?;
    // Whether a step fails for one fault, or the store tries again and settles it, is its choice: the
    // other law has what a failed step must be.
    happened(bench, &[DELIVERED])
}

async fn g13_a_disk_that_goes_on_failing_loses_nothing(bench: &Bench) -> Held {
    at_every_call(bench, true).await?;
    happened(bench, &[DELIVERED, REFUSED])
}

/// Fails a piece of work at every call, or at some that are spread evenly.
async fn at_every_call(bench: &Bench, lasting: bool) -> Held {
    let steps = steps("all");
    if let Some(outcome) = asked(bench).await? {
        return outcome;
    }
    let past = History::default();
    let whole = Work::Steps(steps.clone()).record(bench).await?;
    let calls = whole.calls.len() as u64;
    let most = bench.options.budget.of(12, 24, u64::MAX);
    let stride = (calls / most).max(1);
    for kind in FaultKind::ALL {
        let mut at = 1;
        loop {
            let fault = FaultAt::new(kind, at, lasting);
            match once(bench, &steps, &past, &fault).await {
                Ok(Struck::Nothing) => break,
                Ok(_) => at += stride,
                Err(end) => {
                    let (steps, (fault, end)) = shortest(bench, steps, fault, end).await;
                    return Err(told(bench, &steps, fault, end));
                }
            }
        }
    }
    Ok(())
}

/// Does again what was saved, if the bench's law is asked for it.
pub(super) async fn asked(bench: &Bench) -> Held<Option<Held>> {
    let Some(replay) = Artefact::asked(bench)? else {
        return Ok(None);
    };
    let (Some(fault), Some(steps)) = (replay.fault, replay.steps) else {
        let other = "the file to replay has the commands of another law";
        return Err(End::Broken(other.into()));
    };
    let changed =
        || End::NotMeasured("the store makes other calls now than those that failed".into());
    let past = past(bench, &steps, &fault).await?;
    let kill = fault.behind.map(|kill| past.calls.get(kill.call));
    if kill.is_some_and(|call| !call.is_some_and(Call::flushes)) {
        return Err(changed());
    }
    let held = match once(bench, &steps, &past, &fault).await {
        Ok(Struck::Nothing) => Err(changed()),
        held => held.map(drop),
    };
    Ok(Some(held.map_err(|end| told(bench, &steps, fault, end))))
}

/// The record of the process that is killed, if one is.
async fn past(bench: &Bench, steps: &[Step], fault: &FaultAt) -> Held<History> {
    match fault.behind {
        Some(_) => Work::Steps(steps.to_vec()).record(bench).await,
        None => Ok(History::default()),
    }
}

/// How a failure ends that is made once more: its trail is the one that is told.
pub(super) async fn ends(bench: &Bench, steps: &[Step], fault: &FaultAt) -> Option<End> {
    let past = past(bench, steps, fault).await.ok()?;
    once(bench, steps, &past, fault).await.err()
}

/// The failure on a page, saved for replay.
pub(super) fn told(bench: &Bench, steps: &[Step], fault: FaultAt, end: End) -> End {
    let mut did = format!("the disk failed: {fault}, in");
    for step in steps {
        did += &format!("\n  {step}");
    }
    Artefact::of_fault(fault, steps.to_vec()).attach(bench, end, &did)
}

/// The fewest steps that are found to fail, with a fault of the same kind at the same call, or at
/// one of those just before: without a step its calls are gone.
async fn shortest(
    bench: &Bench,
    steps: Vec<Step>,
    fault: FaultAt,
    end: End,
) -> (Vec<Step>, (FaultAt, End)) {
    let nearby = bench.options.budget.of(5, 12, 40);
    let past = History::default();
    let newest = Cell::new(fault.at);
    let fails = async |fewer: &[Step]| {
        for at in (1..=newest.get()).rev().zip(0..nearby).map(|(at, _)| at) {
            let fault = FaultAt {
                at,
                ..fault.clone()
            };
            match once(bench, fewer, &past, &fault).await {
                Err(end @ End::Breach(_)) => {
                    newest.set(at);
                    return Err((fault, end));
                }
                Ok(_) => {}
                // A list that can't be done shows nothing.
                Err(_) => break,
            }
        }
        Ok(())
    };
    let best = (steps, (fault.clone(), end));
    let (steps, (fault, end)) = fewest(best, fails).await;
    let end = ends(bench, &steps, &fault).await.unwrap_or(end);
    (steps, (fault, end))
}

/// What the fault struck.
pub(super) async fn once(
    bench: &Bench,
    steps: &[Step],
    past: &History,
    fault: &FaultAt,
) -> Held<Struck> {
    bench.trail.clear();
    let most = bench.options.budget.of(4, 6, 40);
    let mut struck = Struck::Nothing;
    let work = async {
        struck = run(bench, steps, past, fault, most).await?;
        Ok(())
    };
    guarded(bench.options.patience, "the store", work).await?;
    Ok(struck)
}

#[cfg(test)]
mod tests {
    use pollster::block_on;

    use super::*;
    use crate::Options;
    use crate::kill::oracle::Oracle;
    use crate::known::Known;

    #[test]
    fn the_fewest_steps_can_be_done_on_a_whole_disk() {
        let subject = Known::Unflushed.subject();
        let bench = Bench::new("errors", subject, &Options::smoke()).unwrap();
        let steps = steps("all");
        let fewest = block_on(async {
            for at in 1..100 {
                let fault = FaultAt::new(FaultKind::ALL[0], at, false);
                if let Err(end) = once(&bench, &steps, &History::default(), &fault).await {
                    return shortest(&bench, steps, fault, end).await.0;
                }
            }
            steps
        });
        assert!(fewest.len() < super::steps("all").len(), "{fewest:?}");
        assert!(block_on(Oracle::of(fewest.clone())).is_ok(), "{fewest:?}");
    }
}
