//! A call that fails, and a second one among those that make it good.

use sessionlog_crashfs::FaultKind;

use super::fault::FaultAt;
use super::laws::{WORKS, asked, once, shortest, stride, told};
use super::run::{DELIVERED, Struck};
use crate::bench::Bench;
use crate::breach::{End, Held};
use crate::kill::happened;
use crate::kill::work::{Step, steps};
use crate::power::History;

/// What a store does about a failed call is the least tried of all: writing once more, cutting off,
/// flushing again. Each of these calls fails, too, and then the disk is whole.
pub(super) async fn g13_a_second_failing_call_loses_nothing(bench: &Bench) -> Held {
    if let Some(outcome) = asked(bench).await? {
        return outcome;
    }
    let budget = bench.options.budget;
    let (most, behind) = (budget.of(4, 6, u64::MAX), budget.of(2, 3, 12));
    for (work, share) in WORKS {
        let steps = steps(work);
        let stride = stride(bench, &steps, most / 2 * share).await?;
        // An interrupted call is made again, whatever comes then.
        let kinds = FaultKind::ALL.into_iter();
        for kind in kinds.filter(|kind| *kind != FaultKind::Eintr) {
            if let Some((fault, end)) = search(bench, &steps, kind, stride, behind).await? {
                let (steps, (fault, end)) = shortest(bench, steps, fault, end).await;
                return Err(told(bench, &steps, fault, end));
            }
        }
    }
    // A store may try as often as it takes: then no step fails.
    happened(bench, &[DELIVERED])
}

/// Fails calls of a kind, and with each so many of those behind it. The first failure.
async fn search(
    bench: &Bench,
    steps: &[Step],
    kind: FaultKind,
    stride: u64,
    behind: u64,
) -> Held<Option<(FaultAt, End)>> {
    let mut at = 1;
    loop {
        for then in 1..=behind {
            let fault = FaultAt::new(kind, at, false).then(then);
            match once(bench, steps, &History::default(), &fault).await {
                Ok(Struck::Nothing) => return Ok(None),
                Ok(Struck::First) => break,
                Ok(_) => {}
                Err(end @ End::Breach(_)) => return Ok(Some((fault, end))),
                Err(other) => return Err(other),
            }
        }
        at += stride;
    }
}
