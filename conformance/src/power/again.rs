//! A second power loss, behind the first: in the recovery, or in the next steps.

use std::cell::RefCell;

use sessionlog_core::FencingToken;

use super::failure::Failure;
use super::history::{History, Mark};
use super::recorded::{finish, recorder};
use super::search::{Crash, Search};
use super::work::{Judge, Work};
use crate::Place;
use crate::bench::Bench;
use crate::breach::{End, Held};
use crate::dump::Dump;
use crate::kill::oracle::Oracle;
use crate::kill::work::{Step, Worker};

/// The recovery of a first power loss wrote something.
pub(crate) const REPAIRED: &str = "recoveries that wrote";
/// A second power loss came in the recovery of the first, or in the steps behind it.
pub(crate) const SECOND: &str = "second power losses";

/// How many steps are done behind a recovery.
const STEPS: usize = 2;

/// Looks for a power loss behind a power loss that breaks the law: `first` of the first kind, and
/// behind each so many of the second.
pub(crate) async fn twice(
    bench: &Bench,
    steps: &[Step],
    crash: super::names::Keeping,
    (first, second): (u64, u64),
) -> Held<Option<(Failure, End)>> {
    let work = Work::Steps(steps.to_vec());
    let oracle = Oracle::of(steps.to_vec()).await?;
    let history = work.record(bench).await?;
    let judge = Judge::Steps(oracle);
    let Judge::Steps(oracle) = &judge else {
        return Ok(None);
    };
    let found = RefCell::new(None);
    let check = async |place: &Place, marks: &[Mark]| {
        let (next, recovery) = live(bench, oracle, place, marks).await?;
        bench.sometimes(REPAIRED, u64::from(recovery));
        let check = async |place: &Place, marks: &[Mark]| judge.check(bench, place, marks).await;
        let mut search = Search::new(bench, second);
        let broken = search.explore(&next, crash, 1.., &check).await?;
        bench.sometimes(SECOND, second - search.left);
        let Some((crash, end)) = broken else {
            return Ok(());
        };
        found.replace(Some((next, crash)));
        Err(end)
    };
    let mut search = Search::new(bench, first);
    let Some((crash, end)) = search.explore(&history, crash, .., &check).await? else {
        return Ok(None);
    };
    // What failed is the second power loss, or the life between the two.
    let (history, crash): (History, Crash) = found.take().unwrap_or((history, crash));
    let failure = Failure::new(work, crash, history);
    Ok(Some((failure, end)))
}

/// The life behind a power loss, recorded: opened, read, and some steps on. What was read counts
/// as acknowledged. Also whether the opening wrote anything.
async fn live(
    bench: &Bench,
    oracle: &Oracle,
    place: &Place,
    before: &[Mark],
) -> Held<(History, bool)> {
    let recorder = recorder(place.dir())?;
    let store = bench.open_at(place).await?;
    let found = Dump::of(&store).await?;
    let mut marks: Vec<_> = before.iter().map(|mark| (0, *mark)).collect();
    let mut mark = |step, token: Option<FencingToken>| {
        let token = token.map(FencingToken::get);
        let mark = Mark {
            step,
            token,
            ..Mark::default()
        };
        marks.push((recorder.mark(), mark));
    };
    let mut done = before.len();
    if oracle.fits(&found, done, 0)? && done < oracle.len() {
        mark(done, None);
        done += 1;
    }
    let shown = recorder.mark();
    let mut worker = Worker::new(store);
    for (n, step) in oracle.steps().iter().enumerate().skip(done).take(STEPS) {
        let token = worker.perform(*step).await?;
        mark(n, token);
    }
    drop(worker);
    let history = finish(recorder, marks, shown)?;
    let calls = history.calls.iter().take(history.since);
    let wrote = calls.filter(|call| call.changes()).count() > 0;
    Ok((history, wrote))
}
