//! What the tests that the macro makes call.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::run::run_law;
use crate::subject::Erased;
use crate::{Budget, ChildCommand, Law, Options, Outcome, Report, Subject, laws};

type Cells = HashMap<(TypeId, &'static str), Arc<OnceLock<Outcome>>>;

/// Runs a law as the test of its name.
///
/// # Panics
/// If the law is not upheld, or was not measured.
#[expect(clippy::panic, reason = "this is how a test fails")]
#[doc(hidden)]
pub fn test_law<S: Subject>(law: &str, module: &str) {
    if crate::child::<S>() {
        return;
    }
    let Some(law) = laws().find(|l| l.id == law) else {
        panic!("there is no law of this name: {law}");
    };
    let outcome = outcome::<S>(law, module, false);
    assert!(outcome.verdict.is_green(), "{outcome}");
}

/// Runs every law that no test of this process has run, and prints the matrix.
///
/// # Panics
/// If any law is not upheld, or was not measured.
#[expect(clippy::print_stdout, reason = "the matrix is the output of this test")]
#[doc(hidden)]
pub fn test_matrix<S: Subject>(module: &str, tested: &[&str]) {
    let untested: Vec<_> = laws()
        .map(|l| l.id)
        .filter(|id| !tested.contains(id))
        .collect();
    assert!(untested.is_empty(), "laws without a test: {untested:?}");
    let outcomes = laws().map(|law| outcome::<S>(law, module, true)).collect();
    let report = Report::new(S::name(), Options::from_env().budget, outcomes);
    println!("{report}");
    assert!(report.is_green(), "{report}");
}

/// Each law runs once in a process, whoever comes first.
fn outcome<S: Subject>(law: &'static Law, module: &str, matrix: bool) -> Outcome {
    static CELLS: OnceLock<Mutex<Cells>> = OnceLock::new();
    let mut cells = CELLS
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let cell = Arc::clone(cells.entry((TypeId::of::<S>(), law.id)).or_default());
    drop(cells);
    let options = || {
        // The path of a test is its module's without the crate.
        let within = module.split_once("::").map_or("", |(_, within)| within);
        let test = |name: &str| match within {
            "" => name.to_owned(),
            within => format!("{within}::{name}"),
        };
        let mut options =
            Options::from_env().with_child(ChildCommand::test(&test("l0_a_child_can_be_started")));
        // Every test is a process of its own, so the matrix has to run everything again.
        if std::env::var_os("NEXTEST").is_some() && matrix {
            options.budget = Budget::Smoke;
        }
        options.rerun = format!("cargo test -p {} {}", package(), test("{law}"));
        options
    };
    cell.get_or_init(|| run_law(Erased::of::<S>(), law, &options()))
        .clone()
}

fn package() -> String {
    std::env::var("CARGO_PKG_NAME").unwrap_or_else(|_| "<the crate under test>".into())
}
