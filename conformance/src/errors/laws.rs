//! The laws of I/O errors.

use std::cell::Cell;

use sessionlog_crashfs::FaultKind;

use super::dying::g13_a_failed_flush_before_a_kill_loses_nothing;
use super::fault::FaultAt;
use super::killed::g13_a_failed_flush_behind_a_kill_loses_nothing;
use super::run::{DELIVERED, REFUSED, Struck, record, run};
use super::twice::g13_a_second_failing_call_loses_nothing;
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
        g13_a_second_failing_call_loses_nothing,
        "A file call fails, and then one of those with which the store makes it good: what was acknowledged outlives a power loss, and the store serves again.",
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
    law!(
        Errors,
        g13_a_failed_flush_before_a_kill_loses_nothing,
        "A flush fails, and the process is killed: what the next one acknowledges outlives a power loss.",
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

/// The work that is done on a failing disk, and how much of the room each has: whatever a store does, and
/// grants.
pub(super) const WORKS: [(&str, u64); 2] = [("all", 2), ("lease", 1)];

/// With about so many calls a store is opened, and a session made.
const BEGIN: u64 = 10;

/// Fails some work at every call, or at some that are spread evenly.
async fn at_every_call(bench: &Bench, lasting: bool) -> Held {
    if let Some(outcome) = asked(bench).await? {
        return outcome;
    }
    let most = bench.options.budget.of(6, 10, u64::MAX);
    for (work, share) in WORKS {
        let steps = steps(work);
        let stride = stride(bench, &steps, most / 2 * share).await?;
        for (n, kind) in (0..).zip(FaultKind::ALL) {
            // Other calls for each kind, and with the first one all of those with which a store begins.
            let mut at = 1 + n % stride;
            loop {
                let fault = FaultAt::new(kind, at, lasting);
                match once(bench, &steps, &History::default(), &fault).await {
                    Ok(Struck::Nothing) => break,
                    Ok(_) if n == 0 && at < BEGIN => at += 1,
                    Ok(_) => at += stride,
                    Err(end) => {
                        let (steps, (fault, end)) = shortest(bench, steps, fault, end).await;
                        return Err(told(bench, &steps, fault, end));
                    }
                }
            }
        }
    }
    Ok(())
}

/// The distance between calls of which there are about so many in a piece of work.
pub(super) async fn stride(bench: &Bench, steps: &[Step], most: u64) -> Held<u64> {
    let whole = Work::Steps(steps.to_vec()).record(bench).await?;
    let calls = whole.calls.len() as u64;
    Ok((calls / most.max(1)).max(1))
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
    // What is cut off ends before a flush, or behind one that failed.
    let cut = |call: usize| match fault.before {
        true => past.calls.iter().take(call).any(Call::fails),
        false => past.calls.get(call).is_some_and(Call::flushes),
    };
    if fault.behind.is_some_and(|kill| !cut(kill.call)) {
        return Err(changed());
    }
    let held = match once(bench, &steps, &past, &fault).await {
        Ok(Struck::Nothing | Struck::First) => Err(changed()),
        held => held.map(drop),
    };
    Ok(Some(held.map_err(|end| told(bench, &steps, fault, end))))
}

/// The record of the process that is killed, if one is.
pub(super) async fn past(bench: &Bench, steps: &[Step], fault: &FaultAt) -> Held<History> {
    match (fault.before, fault.behind) {
        (true, _) => Ok(record(bench, steps, fault).await?.unwrap_or_default()),
        (false, Some(_)) => Work::Steps(steps.to_vec()).record(bench).await,
        (false, None) => Ok(History::default()),
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
pub(super) async fn shortest(
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
    let most = bench.options.budget.of(3, 4, 40);
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
    use crate::stack::on_a_large_stack;

    #[test]
    fn the_fewest_steps_can_be_done_on_a_whole_disk() {
        let subject = Known::Unflushed.subject();
        let bench = Bench::new("errors", subject, &Options::smoke()).unwrap();
        let steps = steps("all");
        let search = async || {
            for at in 1..100 {
                let fault = FaultAt::new(FaultKind::ALL[0], at, false);
                if let Err(end) = once(&bench, &steps, &History::default(), &fault).await {
                    return shortest(&bench, steps.clone(), fault, end).await.0;
                }
            }
            steps.clone()
        };
        let fewest = on_a_large_stack(|| block_on(search())).unwrap().unwrap();
        assert!(fewest.len() < super::steps("all").len(), "{fewest:?}");
        assert!(block_on(Oracle::of(fewest.clone())).is_ok(), "{fewest:?}");
    }
}
