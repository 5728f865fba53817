//! Flushes taken out of a record, one at a time: some power loss must show it.

use super::failure::{paths, told};
use super::history::Mark;
use super::names::Keeping;
use super::search::Search;
use super::work::{Judge, Work};
use crate::Place;
use crate::bench::Bench;
use crate::breach::Held;

/// What became of the flushes of a piece of work.
#[derive(Debug, Default)]
pub(crate) struct Flushes {
    /// How many were taken out.
    pub(crate) tried: u64,
    /// Without these, something is lost.
    pub(crate) needed: u64,
    /// Without these, nothing was seen to be lost.
    pub(crate) idle: Vec<String>,
}

/// Takes each flush out, `few` of them at most, from the first to the last, and looks for so many power losses
/// that show it.
pub(crate) async fn without_each(
    bench: &Bench,
    work: &Work,
    keeping: Keeping,
    (few, most): (u64, u64),
) -> Held<Flushes> {
    let judge = Judge::of(work).await?;
    let history = work.record(bench).await?;
    let check = async |place: &Place, marks: &[Mark]| judge.check(bench, place, marks).await;
    let names = paths(&history);
    let mut flushes = Flushes::default();
    let mut known = Search::new(bench, most);
    known.pass_over(&history, keeping);
    let all = history.calls.iter().enumerate();
    let all = all.filter(|(_, call)| call.flushes());
    let stride = all
        .clone()
        .count()
        .div_ceil(usize::try_from(few).unwrap_or(usize::MAX));
    for (n, call) in all.step_by(stride.max(1)) {
        flushes.tried += 1;
        let less = history.without(n);
        let mut search = known.clone();
        match search.explore(&less, keeping, n + 1.., &check).await? {
            Some(_) => flushes.needed += 1,
            None => flushes
                .idle
                .push(format!("call {}: {}", n + 1, told(call, &names))),
        }
    }
    Ok(flushes)
}
