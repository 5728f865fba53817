//! A store that is worked on while its disk fails.

use sessionlog_core::{Error, ErrorKind, FencingToken, Result};
use sessionlog_crashfs::Recorder;

use crate::Place;
use crate::bench::{Bench, Handle};
use crate::breach::{Held, ensure};
use crate::dump::Dump;
use crate::kill::oracle::Oracle;
use crate::kill::work::{Step, Worker};
use crate::power::{Mark, recorder};

/// A store that is worked on while its disk fails.
pub(super) struct Life<'a> {
    bench: &'a Bench,
    oracle: &'a Oracle,
    place: &'a Place,
    pub(super) recorder: Recorder,
    /// How many of the steps are done.
    done: usize,
    /// Where the steps end that are done here.
    end: usize,
    /// The step of which nobody knows whether it is done, and whether it is sent again.
    under_way: Option<(usize, bool)>,
    /// The step that was refused and may have been done, whatever a look at it shows.
    perhaps: Option<usize>,
    pub(super) seen: Seen,
}

/// What was acknowledged, and what that rests on.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) marks: Vec<(usize, Mark)>,
    /// Behind how many calls it was first seen that one had failed: what is acknowledged then and
    /// rests on it is lost if the power goes at once, whatever a later step makes good.
    pub(super) since: Option<usize>,
    /// The first mark behind each failure.
    pub(super) resting: Vec<usize>,
    /// How many calls had failed at the last look.
    hits: u64,
    /// Whether something failed, or was refused, behind the last mark.
    failed: bool,
}

/// A refused step, or a refused opening.
pub(super) struct Refused {
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

/// How many steps are done behind a kill.
const BEHIND: usize = 3;

impl<'a> Life<'a> {
    /// Begins with the first step.
    pub(super) fn new(bench: &'a Bench, oracle: &'a Oracle, place: &'a Place) -> Held<Self> {
        Ok(Self {
            bench,
            oracle,
            place,
            recorder: recorder(place.dir())?,
            done: 0,
            end: oracle.len(),
            under_way: None,
            perhaps: None,
            seen: Seen::default(),
        })
    }

    /// Goes on, a few steps far, where a killed process had done so many.
    pub(super) fn goes_on_behind(&mut self, done: usize, again: bool) {
        self.done = done;
        self.end = self.oracle.len().min(done + BEHIND);
        self.under_way = Some((done, again));
        self.seen.failed = true;
    }

    /// Notes that a step is done, with its token, or that a refused one is seen to have happened.
    fn mark(&mut self, token: Option<FencingToken>, open: bool) {
        let mark = Mark {
            step: self.done,
            token: token.map(FencingToken::get),
            open,
        };
        self.looks_for_faults();
        let seen = &mut self.seen;
        if !open && std::mem::take(&mut seen.failed) {
            seen.resting.push(seen.marks.len());
        }
        seen.marks.push((self.recorder.mark(), mark));
        self.done += 1;
    }

    /// Notes the moment if a call has failed by now.
    fn looks_for_faults(&mut self) {
        let hits = self.recorder.hits();
        if hits > self.seen.hits {
            self.seen.hits = hits;
            self.seen.failed = true;
            self.seen.since.get_or_insert(self.recorder.mark());
        }
    }

    /// Works until a step is refused, with a handle that there is or a new one.
    pub(super) async fn until_refused(&mut self, handle: Option<Worker>) -> Held<Option<Refused>> {
        let mut worker = match handle {
            Some(worker) => worker,
            None => match self.opens().await? {
                Ok(worker) => worker,
                Err(open) => return Ok(Some(Refused { worker: None, open })),
            },
        };
        if self.is_under_way() && !self.repeats() {
            match Dump::of(&worker.store).await {
                Ok(found) => self.looks(&found)?,
                Err(_) => return Ok(Some(Refused::of(worker, true))),
            }
        }
        while let Some(step) = self.next() {
            let answer = worker.attempt(step).await?;
            self.looks_for_faults();
            if self.perhaps == Some(self.done) && answer.as_ref().is_err_and(|e| is_done(step, e)) {
                self.mark(None, true);
                continue;
            }
            match reasonable(answer, &step.to_string())? {
                Ok(token) => self.mark(token, false),
                Err(open) => return Ok(Some(Refused::of(worker, open || self.is_under_way()))),
            }
        }
        Ok(None)
    }

    async fn opens(&mut self) -> Held<std::result::Result<Worker, bool>> {
        let opened = (self.bench.subject.open)(self.place).await;
        self.looks_for_faults();
        Ok(reasonable(opened, "opening")?.map(Worker::forcing))
    }

    /// The step whose turn it is.
    fn next(&self) -> Option<Step> {
        let steps = self.oracle.steps();
        let step = steps.get(self.done).filter(|_| self.done < self.end);
        step.copied()
    }

    /// Whether nobody knows if the next step is done: the process was killed, or refused it so.
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
                self.mark(None, true);
            }
            // What nobody sees now was not done, and nobody is left who could do it.
            self.under_way = None;
        }
        Ok(())
    }

    /// Behind a refusal, on a disk that is to fail once more: works on with the same handle, which may
    /// make good what failed, or with a new one.
    pub(super) async fn goes_on_failing(
        &mut self,
        refused: Refused,
        anew: bool,
    ) -> Held<Option<Refused>> {
        let Refused { worker, open } = refused;
        self.seen.failed = true;
        if let Some(worker) = &worker {
            self.shows(&worker.store, open).await?;
        }
        if open {
            self.perhaps = Some(self.done);
            if !self.is_under_way() {
                self.under_way = Some((self.done, true));
            }
        }
        self.until_refused(worker.filter(|_| !anew)).await
    }

    /// Behind a refusal: the handle shows what was acknowledged, or refuses; once the disk is whole
    /// again it serves, or says that it does not and a new one does.
    pub(super) async fn goes_on(&mut self, refused: Refused) -> Held {
        let Refused { worker, open } = refused;
        self.seen.failed = true;
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
                Worker::forcing(store)
            }
        };
        while let Some(step) = self.next() {
            let token = worker.perform(step).await?;
            self.mark(token, false);
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
                self.mark(token, false);
                Ok(Some(worker))
            }
            Err(_) => Ok(None),
        }
    }
}

/// Whether an error says that a step was done before.
fn is_done(step: Step, error: &Error) -> bool {
    match step {
        Step::Create(_) => matches!(error.kind(), ErrorKind::Conflict { .. }),
        Step::Delete(_) => error.is_not_found(),
        _ => false,
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
