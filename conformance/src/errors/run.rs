//! One piece of work on a disk that fails at one of its calls.

use sessionlog_core::{ErrorKind, FencingToken, Result};
use sessionlog_crashfs::Recorder;

use super::fault::FaultAt;
use crate::Place;
use crate::bench::{Bench, Handle};
use crate::breach::{End, Held, breach, ensure};
use crate::dump::Dump;
use crate::kill::oracle::Oracle;
use crate::kill::work::{Step, Worker};
use crate::power::{Call, Failure, History, Judge, Keeping, Mark, Search, Work, finish, recorder};

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

/// What a fault struck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Struck {
    /// There were fewer calls than that.
    Nothing,
    /// A call, and no flush.
    Call,
    /// A flush, at least.
    Flush,
}

/// Does the steps on a disk that fails, heals it, does the rest, and looks at so many power losses
/// since the fault. `past` is the record of a process that does the steps undisturbed: the one that
/// is killed, if one is.
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
    let done = past.acknowledged(killed).count();
    past.left_by_kill(killed).write(place.dir())?;
    let mut life = Life {
        bench,
        oracle: &oracle,
        place: &place,
        recorder: recorder(place.dir())?,
        marks: Vec::new(),
        since: None,
        done,
        under_way: fault.behind.map(|kill| (done, kill.again)),
        end: match fault.behind {
            Some(_) => oracle.len().min(done + BEHIND),
            None => oracle.len(),
        },
    };
    life.recorder.inject(fault.fault()?);
    let refused = life.until_refused().await?;
    let hits = life.recorder.hits();
    if hits == 0 {
        return match (refused, fault.behind) {
            (None, _) => Ok(Struck::Nothing),
            (Some(_), None) => Err(breach(UNPROVOKED)),
            (Some(_), Some(_)) => Err(End::NotMeasured(format!("behind a kill, {UNPROVOKED}"))),
        };
    }
    let absorbed = refused.is_none();
    bench.sometimes(DELIVERED, 1);
    bench.sometimes(if absorbed { ABSORBED } else { REFUSED }, 1);
    life.looks_for_the_fault();
    if let Some(refused) = refused {
        life.goes_on(refused).await?;
    }
    let Life {
        recorder,
        marks,
        since,
        ..
    } = life;
    let history = finish(recorder, marks, since.unwrap_or_default())?;
    drop(place);
    let struck = match history.calls.iter().any(Call::fails) {
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
    let history = past.then(killed, history)?;
    // What the fault left open is lost now.
    let judge = Judge::of(&work).await?;
    let check = async |place: &Place, marks: &[Mark]| judge.check(bench, place, marks).await;
    let mut search = Search::new(bench, most);
    let prefixes = history.prefixes();
    let end = prefixes.last().copied().unwrap_or_default();
    let since = prefixes.into_iter().find(|upto| *upto >= history.since);
    let since = since.unwrap_or(history.since);
    // Of a fault that no step failed for, the first step behind it and the last one have room of their own.
    let apart = [since..=since, end..=end].into_iter().filter(|_| absorbed);
    for behind in apart.chain([since..=end]) {
        search.left = most;
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

/// A store that is worked on while its disk fails.
struct Life<'a> {
    bench: &'a Bench,
    oracle: &'a Oracle,
    place: &'a Place,
    recorder: Recorder,
    marks: Vec<(usize, Mark)>,
    /// Behind how many calls it was first seen that one had failed: what is acknowledged then and
    /// rests on it is lost if the power goes at once, whatever a later step makes good.
    since: Option<usize>,
    done: usize,
    /// Where the steps end that are done here.
    end: usize,
    /// The step that a killed process was at, and whether it is sent again.
    under_way: Option<(usize, bool)>,
}

/// How many steps are done behind a kill.
const BEHIND: usize = 3;

/// A refused step, or a refused opening.
struct Refused {
    /// The handle that refused.
    worker: Option<Worker>,
    /// Whether it may have happened nevertheless.
    open: bool,
}

impl Refused {
    fn of(worker: Worker, open: bool) -> Self {
        let worker = Some(worker);
        Self { worker, open }
    }
}

impl Life<'_> {
    fn mark(&mut self, token: Option<FencingToken>) {
        self.marks_as(token, false);
    }

    /// The refused step is seen to have happened.
    fn saw(&mut self) {
        self.marks_as(None, true);
    }

    fn marks_as(&mut self, token: Option<FencingToken>, open: bool) {
        let mark = Mark {
            step: self.done,
            token: token.map(FencingToken::get),
            open,
        };
        self.marks.push((self.recorder.mark(), mark));
        self.done += 1;
    }

    /// Works until a step is refused.
    async fn until_refused(&mut self) -> Held<Option<Refused>> {
        let opened = (self.bench.subject.open)(self.place).await;
        self.looks_for_the_fault();
        let mut worker = match reasonable(opened, "opening")? {
            Ok(store) => Worker::new(store),
            Err(open) => return Ok(Some(Refused { worker: None, open })),
        };
        if self.is_under_way() && !self.repeats() {
            match Dump::of(&worker.store).await {
                Ok(found) => self.looks(&found)?,
                Err(_) => return Ok(Some(Refused::of(worker, true))),
            }
        }
        while let Some(step) = self.next() {
            let answer = worker.attempt(step).await?;
            self.looks_for_the_fault();
            match reasonable(answer, &step.to_string())? {
                Ok(token) => self.mark(token),
                Err(open) => return Ok(Some(Refused::of(worker, open || self.is_under_way()))),
            }
        }
        Ok(None)
    }

    /// Notes the moment if a call has failed by now.
    fn looks_for_the_fault(&mut self) {
        if self.since.is_none() && self.recorder.hits() > 0 {
            self.since = Some(self.recorder.mark());
        }
    }

    /// The step whose turn it is.
    fn next(&self) -> Option<Step> {
        let steps = self.oracle.steps();
        let step = steps.get(self.done).filter(|_| self.done < self.end);
        step.copied()
    }

    /// Whether the next step may have been done by the process that was killed.
    fn is_under_way(&self) -> bool {
        self.under_way.is_some_and(|(step, _)| step == self.done)
    }

    /// Whether the next step is sent again whether it is done or not.
    fn repeats(&self) -> bool {
        let again = self.under_way == Some((self.done, true));
        again && self.next().is_some_and(Step::repeats)
    }

    /// Goes on behind the next step if it is seen to be done.
    fn looks(&mut self, found: &Dump) -> Held {
        let further = self.oracle.fits(found, self.done, 0)?;
        if !self.repeats() {
            if further && self.next().is_some() {
                self.saw();
            }
            // What nobody sees now was not done, and nobody is left who could do it.
            self.under_way = None;
        }
        Ok(())
    }

    /// Behind a refusal: the handle shows what was acknowledged, or refuses; once the disk is whole
    /// again it serves, or says that it does not and a new one does.
    async fn goes_on(&mut self, refused: Refused) -> Held {
        let Refused { worker, open } = refused;
        let handle = match worker {
            Some(worker) => {
                self.shows(&worker.store, open).await?;
                self.recorder.heal();
                self.serves(worker, open).await?
            }
            None => {
                self.recorder.heal();
                None
            }
        };
        let mut worker = match handle {
            Some(worker) => worker,
            None => {
                let store = self.bench.open_at(self.place).await?;
                let found = Dump::of(&store).await?;
                self.looks(&found)?;
                Worker::new(store)
            }
        };
        while let Some(step) = self.next() {
            let token = worker.perform(step).await?;
            self.mark(token);
        }
        let found = Dump::of(&worker.store).await?;
        self.oracle.is_at(
            &found,
            self.done,
            "when everything was done on a whole disk",
        )
    }

    /// What a handle shows behind a refusal.
    async fn shows(&self, store: &Handle, open: bool) -> Held {
        // A read that fails says so; what it must not do is show something else.
        let Ok(found) = Dump::of(store).await else {
            return Ok(());
        };
        match open {
            true => self.oracle.fits(&found, self.done, 0).map(drop),
            false => {
                let when = "behind an error that says that nothing changed";
                self.oracle.is_at(&found, self.done, when)
            }
        }
    }

    /// Tries the refused step again on the same handle; gives it back if it serves.
    async fn serves(&mut self, mut worker: Worker, open: bool) -> Held<Option<Worker>> {
        let Ok(found) = Dump::of(&worker.store).await else {
            return Ok(None);
        };
        if open {
            self.looks(&found)?;
        }
        let Some(step) = self.next() else {
            return Ok(Some(worker));
        };
        let answer = worker.attempt(step).await?;
        let what = format!("{step} on a whole disk, behind an error");
        match reasonable(answer, &what)? {
            Ok(token) => {
                self.mark(token);
                Ok(Some(worker))
            }
            Err(_) => Ok(None),
        }
    }
}

/// A failed call may make a step unavailable, or leave its outcome open; whether it is open.
fn reasonable<T>(answer: Result<T>, what: &str) -> Held<std::result::Result<T, bool>> {
    let error = match answer {
        Ok(value) => return Ok(Ok(value)),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::Unavailable => Ok(Err(false)),
        ErrorKind::Indeterminate => Ok(Err(true)),
        other => {
            ensure!(
                false,
                "{what}, where a file call failed\nexpected: unavailable, or indeterminate\n\
                 observed: {}: {error}",
                other.name()
            );
            Ok(Err(true))
        }
    }
}

#[cfg(test)]
mod tests {
    use pollster::block_on;
    use sessionlog_core::{Error, Memory};
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
