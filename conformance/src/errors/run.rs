//! One piece of work on a disk that fails at one of its calls, or at two.

use std::collections::BTreeSet;

use super::fault::FaultAt;
use super::life::Life;
use crate::Place;
use crate::bench::Bench;
use crate::breach::{End, Held, breach};
use crate::kill::oracle::Oracle;
use crate::kill::work::Step;
use crate::power::{Call, Failure, History, Judge, Keeping, Mark, Search, Work, finish};

/// Calls that failed.
pub(super) const DELIVERED: &str = "faults delivered";
/// Steps that failed with their call.
pub(super) const REFUSED: &str = "steps that failed";
/// Failed calls that no step failed for.
const ABSORBED: &str = "faults absorbed";
/// Steps that were acknowledged by a process of which a flush failed behind a kill.
pub(super) const BUILT: &str = "steps acknowledged behind a kill";
/// What shows nothing of faults.
const UNPROVOKED: &str = "a step or the opening was refused, and no file call had failed";

/// So many acknowledgements that rest on a failure have room of their own.
const RESTING: usize = 3;

/// What a fault struck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Struck {
    /// There were fewer calls than that.
    Nothing,
    /// A call, and there were fewer behind it than the second fault was to come at.
    First,
    /// A call, and no flush.
    Call,
    /// A flush, at least.
    Flush,
}

/// What a process does on a disk that fails, until it refuses a step; none if it makes fewer calls.
/// `since` is behind the first step in which one failed.
pub(super) async fn record(
    bench: &Bench,
    steps: &[Step],
    fault: &FaultAt,
) -> Held<Option<History>> {
    let oracle = Oracle::of(steps.to_vec()).await?;
    let place = Place::in_memory(&bench.options.ground)?;
    let mut life = Life::new(bench, &oracle, &place)?;
    fault.inject(&life.recorder)?;
    drop(life.until_refused(None).await?);
    let Life { recorder, seen, .. } = life;
    match seen.since {
        Some(since) => finish(recorder, seen.marks, since).map(Some),
        None => Ok(None),
    }
}

/// Does the steps on a disk that fails, heals it, does the rest, and looks at so many power losses
/// since the fault. `past` is the record of the process that is killed before, if one is.
pub(super) async fn run(
    bench: &Bench,
    steps: &[Step],
    past: &History,
    fault: &FaultAt,
    most: u64,
) -> Held<Struck> {
    let work = Work::Steps(steps.to_vec());
    let oracle = Oracle::of(steps.to_vec()).await?;
    let place = Place::in_memory(&bench.options.ground)?;
    let killed = fault.behind.map_or(0, |kill| kill.call);
    past.left_by_kill(killed).write(place.dir())?;
    let mut life = Life::new(bench, &oracle, &place)?;
    if let Some(kill) = fault.behind {
        life.goes_on_behind(past.acknowledged(killed).count(), kill.again);
    }
    let strikes = match fault.before {
        true => 0,
        false => 1 + u64::from(fault.then.is_some()),
    };
    if strikes > 0 {
        fault.inject(&life.recorder)?;
    }
    let mut refused = life.until_refused(None).await?;
    if strikes > 0 && life.recorder.hits() == 0 {
        return match (refused, fault.behind) {
            (None, _) => Ok(Struck::Nothing),
            (Some(_), None) => Err(breach(UNPROVOKED)),
            (Some(_), Some(_)) => Err(End::NotMeasured(format!("behind a kill, {UNPROVOKED}"))),
        };
    }
    // A second fault is to strike what makes the first one good: the same handle, or else a new one.
    for anew in [false, true] {
        if life.recorder.hits() < strikes
            && let Some(this) = refused.take()
        {
            refused = life.goes_on_failing(this, anew).await?;
        }
    }
    if life.recorder.hits() < strikes {
        return Ok(Struck::First);
    }
    let absorbed = refused.is_none();
    bench.sometimes(DELIVERED, 1);
    bench.sometimes(if absorbed { ABSORBED } else { REFUSED }, 1);
    if let Some(refused) = refused {
        life.goes_on(refused).await?;
    }
    let Life { recorder, seen, .. } = life;
    let resting = seen.resting.into_iter().take(RESTING);
    let history = finish(recorder, seen.marks, seen.since.unwrap_or_default())?;
    drop(place);
    let struck = match fault.before || history.calls.iter().any(Call::fails) {
        true => Struck::Flush,
        false => Struck::Call,
    };
    // Behind a kill, calls that are no flushes fail as they do without one.
    if fault.behind.is_some() && struck == Struck::Call {
        return Ok(struck);
    }
    if fault.behind.is_some() {
        let told = history.marks.iter().filter(|(_, mark)| !mark.open);
        bench.sometimes(BUILT, told.count() as u64);
    }
    let resting: Vec<usize> = resting
        .filter_map(|mark| history.marks.get(mark))
        .map(|(at, _)| at + killed)
        .collect();
    let history = past.then(killed, history)?;
    // What the fault left open is lost now.
    let judge = Judge::of(&work).await?;
    let check = async |place: &Place, marks: &[Mark]| judge.check(bench, place, marks).await;
    let mut search = Search::new(bench, most);
    let end = history.prefixes().pop().unwrap_or_default();
    // What rests on a failure has room of its own, and so has the end, if no step failed for it.
    let mut apart = BTreeSet::from_iter(resting);
    apart.extend(absorbed.then_some(end));
    let few = bench.options.budget.of(2, 2, most);
    let apart = apart.into_iter().map(|at| (at..=at, few));
    for (behind, room) in apart.chain([(history.since..=end, most)]) {
        search.left = room;
        let found = search
            .explore(&history, Keeping::Journaled, behind, &check)
            .await?;
        if let Some((crash, End::Breach(why))) = found {
            let failure = Failure::new(work, crash, history);
            return Err(breach(format!("{why}\n{}", failure.page())));
        }
    }
    Ok(struck)
}

#[cfg(test)]
mod tests {
    use pollster::block_on;
    use sessionlog_core::{Error, Memory, Result};
    use sessionlog_crashfs::FaultKind;

    use super::*;
    use crate::errors::fault::Kill;
    use crate::kill::work::steps;
    use crate::subject::Erased;
    use crate::{Options, Subject};

    /// Can't be opened, whether the disk fails or not.
    struct Refuses;

    impl Subject for Refuses {
        type Backend = Memory;
        const MEDIUM: crate::Medium = crate::Medium::Directory;

        async fn open(_place: &Place) -> Result<Memory> {
            Err(Error::unavailable("it is as it is"))
        }
    }

    #[test]
    fn a_refusal_without_a_fault_is_a_breach_and_behind_a_kill_not_measured() {
        let bench = Bench::new("errors", Erased::of::<Refuses>(), &Options::smoke()).unwrap();
        let fault = FaultAt::new(FaultKind::Eio, 1, false);
        let (call, again) = (0, true);
        let (steps, past) = (steps("killed"), History::default());
        let struck = |fault: FaultAt| block_on(run(&bench, &steps, &past, &fault, 1));
        let told = struck(fault.clone());
        assert!(
            matches!(&told, Err(End::Breach(why)) if why.contains(UNPROVOKED)),
            "{told:?}"
        );
        let told = struck(fault.behind(Kill { call, again }));
        assert!(
            matches!(&told, Err(End::NotMeasured(why)) if why.contains(UNPROVOKED)),
            "{told:?}"
        );
    }
}
