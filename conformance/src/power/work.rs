//! What is recorded, and what must hold of it after a power loss.

use std::sync::Mutex;
use std::sync::PoisonError;

use serde::{Deserialize, Serialize};
use sessionlog_core::FencingToken;

use super::history::{History, Mark};
use super::recorded::{finish, recorder};
use crate::Place;
use crate::bench::Bench;
use crate::breach::Held;
use crate::kill::child::group;
use crate::kill::oracle::{Before, Oracle};
use crate::kill::work::{Step, Worker, said, steps};
use crate::kill::{group_is_whole, resumes};
use crate::told::Expected;

/// A piece of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Work {
    /// One step after the other.
    Steps(Vec<Step>),
    /// Appends at once.
    Group,
    /// A conversation, with rollbacks in it.
    Turn,
}

impl Work {
    /// The lines of it that a number of acknowledgements stands for, and the next one.
    pub(crate) fn lines(&self) -> Vec<String> {
        match self {
            Self::Steps(steps) => steps.iter().map(ToString::to_string).collect(),
            Self::Group => {
                vec!["create s and append one event, then six batches of three at once".into()]
            }
            Self::Turn => steps("turn").iter().map(ToString::to_string).collect(),
        }
    }

    /// Does it at a fresh place, and gives what was called.
    pub(crate) async fn record(&self, bench: &Bench) -> Held<History> {
        let place = bench.quick_place()?;
        let recorder = recorder(place.dir())?;
        let marks = Mutex::new(Vec::new());
        let tell = |step, token: Option<FencingToken>| {
            let token = token.map(FencingToken::get);
            let mark = Mark {
                step,
                token,
                ..Mark::default()
            };
            let mark = (recorder.mark(), mark);
            marks
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(mark);
        };
        let store = bench.open_at(&place).await?;
        match self {
            Self::Group => group(&store, |n| tell(n, None)).await?,
            Self::Steps(_) | Self::Turn => {
                let steps = match self {
                    Self::Steps(steps) => steps.clone(),
                    _ => steps("turn"),
                };
                let mut worker = Worker::new(store);
                for (n, step) in steps.into_iter().enumerate() {
                    let token = worker.perform(step).await?;
                    tell(n, token);
                }
            }
        }
        let marks = std::mem::take(&mut *marks.lock().unwrap_or_else(PoisonError::into_inner));
        finish(recorder, marks, 0)
    }
}

/// What must hold of a piece of work after a power loss.
pub(crate) enum Judge {
    Steps(Oracle),
    Group,
    Turn(Box<Expected>),
}

impl Judge {
    pub(crate) async fn of(work: &Work) -> Held<Self> {
        Ok(match work {
            Work::Steps(steps) => Self::Steps(Oracle::of(steps.clone()).await?),
            Work::Group => Self::Group,
            Work::Turn => Self::Turn(Box::new(Expected::of(&said()).await?)),
        })
    }

    /// Opens what a power loss left, and checks everything.
    pub(crate) async fn check(&self, bench: &Bench, place: &Place, marks: &[Mark]) -> Held {
        match self {
            Self::Steps(oracle) => {
                // The grants of a life that is deleted, or is being deleted, say nothing about the
                // next one.
                let steps = oracle.steps().iter();
                let deleted = |step: &Step| matches!(step, Step::Delete(_));
                let last = steps.take(marks.len() + 1).rposition(deleted);
                let present = marks
                    .iter()
                    .filter(|mark| last.is_none_or(|n| mark.step > n));
                let tokens: Vec<u64> = present.filter_map(|mark| mark.token).collect();
                let done = marks.iter().rposition(|mark| !mark.open);
                let done = done.map_or(0, |n| n + 1);
                let before = Before {
                    done,
                    seen: marks.len() - done,
                    loose: loose(oracle.steps(), marks),
                };
                oracle.check(bench, place, before, &tokens).await
            }
            Self::Group => {
                let steps = marks.iter().filter_map(|m| u64::try_from(m.step).ok());
                group_is_whole(bench, place, &steps.collect::<Vec<_>>()).await
            }
            Self::Turn(expected) => resumes(bench, place, expected, marks.len()).await,
        }
    }
}

/// The steps that were only seen, and that nothing rests on which was acknowledged since. A snapshot makes
/// nothing sure: it may be lost itself.
fn loose(steps: &[Step], marks: &[Mark]) -> Vec<usize> {
    let known = || marks.iter().zip(steps).enumerate();
    let sure = |n: usize, step: &Step| {
        let mut later = known().skip(n + 1).filter(|(_, (mark, _))| !mark.open);
        later.any(|(_, (_, later))| !later.saves() && later.rests_on(*step))
    };
    let open = known().filter(|(_, (mark, _))| mark.open);
    let open = open.filter(|(n, (_, step))| !sure(*n, step));
    open.map(|(n, _)| n).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kill::work::Who;

    #[test]
    fn what_was_only_seen_is_loose_until_something_makes_it_sure() {
        let who = Who("s", 1);
        let steps = [
            Step::Create(who),
            Step::Append(who, 0, 1),
            Step::Put(who, 1, 1),
            Step::Save(who, 1),
            Step::Append(who, 1, 2),
        ];
        let acknowledged = Mark::default();
        let seen = Mark {
            open: true,
            ..acknowledged
        };
        let (a, s) = (acknowledged, seen);
        for (marks, expected) in [
            (&[][..], &[][..]),
            (&[a, a], &[]),
            (&[s], &[0]),
            (&[s, s], &[0, 1]),
            (&[s, a], &[]),
            (&[a, s], &[1]),
            (&[a, s, a], &[1]),
            (&[a, s, a, a], &[1]),
            (&[a, s, a, a, s], &[1, 4]),
            (&[a, s, s, s, a], &[2, 3]),
        ] {
            assert_eq!(loose(&steps, marks), expected, "{marks:?}");
        }
    }
}
