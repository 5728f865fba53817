//! The laws of I/O errors.

use sessionlog_crashfs::FaultKind;

use super::run::{DELIVERED, FaultAt, REFUSED, run};
use crate::Law;
use crate::artefact::Artefact;
use crate::bench::Bench;
use crate::breach::{End, Held};
use crate::kill::happened;
use crate::kill::work::{Step, steps};
use crate::law::law;
use crate::patience::guarded;
use crate::power::Work;

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
    if let Some(replay) = Artefact::asked(bench)? {
        let fault = replay.fault.ok_or_else(|| {
            End::Broken("the file to replay has the commands of another law".into())
        })?;
        return once(bench, &steps, &fault).await.map(drop);
    }
    let whole = Work::Steps(steps.clone()).record(bench).await?;
    let calls = whole.calls.len() as u64;
    let most = bench.options.budget.of(12, 24, u64::MAX);
    let stride = (calls / most).max(1);
    for kind in FaultKind::ALL {
        let mut at = 1;
        while once(bench, &steps, &FaultAt::new(kind, at, lasting)).await? {
            at += stride;
        }
    }
    Ok(())
}

async fn once(bench: &Bench, steps: &[Step], fault: &FaultAt) -> Held<bool> {
    bench.trail.clear();
    let most = bench.options.budget.of(4, 6, 40);
    let mut delivered = false;
    let work = async {
        delivered = run(bench, steps, fault, most).await?;
        Ok(())
    };
    let held = guarded(bench.options.patience, "the store", work).await;
    held.map_err(|end| {
        let did = format!("the disk failed: {fault}");
        Artefact::of_fault(fault.clone()).attach(bench, end, &did)
    })?;
    Ok(delivered)
}
