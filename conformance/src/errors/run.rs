//! One piece of work on a disk that fails at one of its calls.

use serde::{Deserialize, Serialize};
use sessionlog_core::{ErrorKind, FencingToken, Result};
use sessionlog_crashfs::{Fault, FaultKind, Recorder};

use crate::Place;
use crate::bench::{Bench, Handle};
use crate::breach::{End, Held, breach, ensure};
use crate::dump::Dump;
use crate::kill::oracle::Oracle;
use crate::kill::work::{Step, Worker};
use crate::power::{Failure, Judge, Keeping, Mark, Search, Work, finish, recorder};

/// Calls that failed.
pub(super) const DELIVERED: &str = "faults delivered";
/// Steps that failed with their call.
pub(super) const REFUSED: &str = "steps that failed";
/// Failed calls that no step failed for.
const ABSORBED: &str = "faults absorbed";

/// When a disk fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FaultAt {
    /// How: the name of a kind.
    pub(crate) kind: String,
    /// At which of the calls that can fail so, from 1.
    pub(crate) at: u64,
    /// Whether every later one fails as well.
    pub(crate) lasting: bool,
}

impl FaultAt {
    pub(super) fn new(kind: FaultKind, at: u64, lasting: bool) -> Self {
        let kind = format!("{kind:?}");
        Self { kind, at, lasting }
    }

    fn fault(&self) -> Held<Fault> {
        let known = FaultKind::ALL.into_iter();
        let kind = known.into_iter().find(|k| format!("{k:?}") == self.kind);
        let kind = kind.ok_or_else(|| End::Broken("no such fault to replay".into()))?;
        Ok(Fault {
            kind,
            at: self.at,
            lasting: self.lasting,
        })
    }
}

impl std::fmt::Display for FaultAt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lasting = if self.lasting {
            " and all later ones"
        } else {
            ""
        };
        write!(f, "{} at call {}{lasting}", self.kind, self.at)
    }
}

/// Does the steps on a disk that fails, heals it, does the rest, and looks at so many power losses
/// since the fault. Whether the fault was delivered at all.
pub(super) async fn run(bench: &Bench, steps: &[Step], fault: &FaultAt, most: u64) -> Held<bool> {
    let work = Work::Steps(steps.to_vec());
    let oracle = Oracle::of(steps.to_vec()).await?;
    let place = Place::in_memory(&bench.options.ground)?;
    let mut life = Life {
        bench,
        oracle: &oracle,
        place: &place,
        recorder: recorder(place.dir())?,
        marks: Vec::new(),
        done: 0,
    };
    life.recorder.inject(fault.fault()?);
    let refused = life.until_refused().await?;
    let hits = life.recorder.hits();
    if hits == 0 {
        return Ok(false);
    }
    bench.sometimes(DELIVERED, 1);
    bench.sometimes(if refused.is_some() { REFUSED } else { ABSORBED }, 1);
    let since = life.recorder.mark();
    if let Some(refused) = refused {
        life.goes_on(refused).await?;
    }
    let Life {
        recorder, marks, ..
    } = life;
    let history = finish(recorder, marks, since)?;
    drop(place);
    // What the fault left open is lost now.
    let judge = Judge::of(&work).await?;
    let check = async |place: &Place, marks: &[Mark]| judge.check(bench, place, marks).await;
    let mut search = Search::new(bench, most);
    let from = history.since;
    let found = search
        .explore(&history, Keeping::Journaled, from, &check)
        .await?;
    let Some((crash, End::Breach(why))) = found else {
        return Ok(true);
    };
    let failure = Failure::new(work, crash, history);
    Err(breach(format!("{why}\n{}", failure.page())))
}

/// A store that is worked on while its disk fails.
struct Life<'a> {
    bench: &'a Bench,
    oracle: &'a Oracle,
    place: &'a Place,
    recorder: Recorder,
    marks: Vec<(usize, Mark)>,
    done: usize,
}

/// A refused step, or a refused opening.
struct Refused {
    /// The handle that refused.
    worker: Option<Worker>,
    /// Whether it may have happened nevertheless.
    open: bool,
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
        let mut worker = match reasonable(opened, "opening")? {
            Ok(store) => Worker::new(store),
            Err(open) => return Ok(Some(Refused { worker: None, open })),
        };
        while let Some(step) = self.oracle.steps().get(self.done) {
            let answer = worker.attempt(*step).await?;
            match reasonable(answer, &step.to_string())? {
                Ok(token) => self.mark(token),
                Err(open) => {
                    let worker = Some(worker);
                    return Ok(Some(Refused { worker, open }));
                }
            }
        }
        Ok(None)
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
                if self.oracle.fits(&found, self.done, 0)? && self.done < self.oracle.len() {
                    self.saw();
                }
                Worker::new(store)
            }
        };
        while let Some(step) = self.oracle.steps().get(self.done) {
            let token = worker.perform(*step).await?;
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
        if open && self.oracle.fits(&found, self.done, 0)? {
            self.saw();
        }
        let Some(step) = self.oracle.steps().get(self.done) else {
            return Ok(Some(worker));
        };
        let answer = worker.attempt(*step).await?;
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
