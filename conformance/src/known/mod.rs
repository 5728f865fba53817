//! Stores of which the suite knows what they do right and wrong: it is tried on them first.

mod wrong;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use sessionlog_core::{Memory, Result};

use self::journal::Mine;
pub(crate) use self::wrong::{Fault, Wrong};
use crate::bench::Bench;
use crate::breach::{End, Held};
use crate::run::run_law;
use crate::subject::Erased;
use crate::{Budget, Capability, Medium, Options, Place, Subject, laws};

/// The good store of files is that of the tutorial.
#[path = "../../examples/custom_backend.rs"]
#[expect(dead_code, reason = "`main` is for the example")]
mod journal;

/// Which store; a child process is told its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Known {
    GoodMemory,
    Unfenced,
    GoodFiles,
    Late,
    Unflushed,
}

impl Known {
    pub(crate) fn subject(self) -> Erased {
        let subject = match self {
            Self::GoodMemory => Erased::of::<GoodMemory>(),
            Self::Unfenced => Erased::of::<Unfenced>(),
            Self::GoodFiles => Erased::of::<Mine>(),
            Self::Late => Erased::of::<Late>(),
            Self::Unflushed => Erased::of::<Unflushed>(),
        };
        Erased {
            known: Some(self),
            ..subject
        }
    }
}

type Answers = HashMap<String, Arc<OnceLock<Held>>>;

/// Breaks the run unless laws come out on known stores as they must: the law, a store that upholds it,
/// and one that does not.
///
/// The subject has no part in it, so each question is asked once in a process.
pub(crate) fn verdicts(bench: &Bench, expected: &[(&str, Known, Known)]) -> Held {
    static ANSWERS: OnceLock<Mutex<Answers>> = OnceLock::new();
    let how = &bench.options;
    let (child, patience) = (how.child.is_some(), how.patience);
    let question = format!("{expected:?} {child} {patience} {:?}", how.ground);
    let mut answers = ANSWERS
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let answer = Arc::clone(answers.entry(question).or_default());
    drop(answers);
    answer.get_or_init(|| tried(bench, expected)).clone()
}

fn tried(bench: &Bench, expected: &[(&str, Known, Known)]) -> Held {
    let options = Options {
        budget: Budget::Smoke,
        child: bench.options.child.clone(),
        patience: bench.options.patience,
        ground: bench.options.ground.clone(),
        ..Options::smoke()
    };
    for (id, good, bad) in expected {
        for (store, verdict) in [(good, "passed"), (bad, "FAILED")] {
            let law = laws().find(|law| law.id == *id);
            let law = law.ok_or_else(|| End::Broken(format!("there is no law {id}")))?;
            let outcome = run_law(store.subject(), law, &options);
            if outcome.verdict.name() != verdict {
                return Err(End::Broken(format!(
                    "expected: {store:?} comes out as {verdict}\nobserved: {outcome}"
                )));
            }
        }
    }
    Ok(())
}

struct GoodMemory;

impl Subject for GoodMemory {
    type Backend = Memory;
    const MEDIUM: Medium = Medium::Memory;

    async fn open(place: &Place) -> Result<Memory> {
        Ok(place.keep(Memory::new))
    }
}

/// Lets everybody append, whatever the token.
struct Unfenced;

impl Subject for Unfenced {
    type Backend = Wrong;
    const MEDIUM: Medium = Medium::Memory;

    async fn open(place: &Place) -> Result<Wrong> {
        let memory = Arc::new(GoodMemory::open(place).await?);
        Ok(Wrong::new(memory, Fault::Unfenced))
    }
}

/// Acknowledges an append before it writes it; a proper close writes what is left.
struct Late;

impl Subject for Late {
    type Backend = Wrong;
    const MEDIUM: Medium = Medium::Directory;
    const SEVERAL_HANDLES: Capability = Mine::SEVERAL_HANDLES;
    const SEVERAL_PROCESSES: Capability = Mine::SEVERAL_PROCESSES;
    const GROUP_COMMIT: Capability = Mine::GROUP_COMMIT;

    async fn open(place: &Place) -> Result<Wrong> {
        let journal = Arc::new(Mine::open(place).await?);
        Ok(Wrong::new(journal, Fault::Late))
    }
}

/// Has its journal elsewhere, and in the place a copy that nobody flushes.
struct Unflushed;

impl Subject for Unflushed {
    type Backend = Wrong;
    const MEDIUM: Medium = Medium::Directory;
    const SEVERAL_HANDLES: Capability = Mine::SEVERAL_HANDLES;
    const SEVERAL_PROCESSES: Capability = Mine::SEVERAL_PROCESSES;
    const GROUP_COMMIT: Capability = Mine::GROUP_COMMIT;

    async fn open(place: &Place) -> Result<Wrong> {
        Wrong::unflushed(place.dir()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAW: &str = "g08_fencing_stale_append_is_refused";

    fn asked(expected: &[(&str, Known, Known)]) -> Held {
        let bench = Bench::new("l0", Known::GoodMemory.subject(), &Options::smoke())?;
        verdicts(&bench, expected)
    }

    #[test]
    fn a_wrong_verdict_breaks_the_run() {
        assert!(asked(&[(LAW, Known::GoodMemory, Known::Unfenced)]).is_ok());
        for wrong in [
            (LAW, Known::GoodMemory, Known::GoodMemory),
            (LAW, Known::Unfenced, Known::Unfenced),
            ("no_law", Known::GoodMemory, Known::Unfenced),
        ] {
            let end = asked(&[wrong]);
            assert!(matches!(end, Err(End::Broken(_))), "{end:?}");
        }
    }
}
