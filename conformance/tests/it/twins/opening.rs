//! Twins of the reference backend whose fault is in how it is opened.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use sessionlog_conformance::{Level, Medium, Options, Place, Subject, run_some};
use sessionlog_core::{Limits, Memory, Result};

use super::memory::LIMITS;

const ONE_STORE: &[&str] = &["l0_places_are_apart"];
const NO_LIMITS: &[&str] = &[
    "g13_too_large_batches_are_refused_with_figures",
    "g13_too_large_events_are_refused_with_figures",
];
const KNOWS_LAWS_THAT_ARE_NOT: &[&str] = &["l0_known_failures_are_laws"];
const POLLS_NOTHING: &[&str] = &[
    "l0_file_calls_are_seen",
    "l0_known_failures_are_laws",
    "l0_known_stores_get_their_verdicts",
    "l0_known_stores_without_power_get_their_verdicts",
    "l0_places_are_apart",
    "l0_the_place_is_used",
];

/// The twins and the laws that they must fail.
pub(crate) const OTHERS: &[(&str, &[&str])] = &[
    ("one_store_for_all_places", ONE_STORE),
    ("no_limits", NO_LIMITS),
    ("knows_laws_that_are_not", KNOWS_LAWS_THAT_ARE_NOT),
    ("polls_nothing", POLLS_NOTHING),
];

thread_local! {
    static LAST: RefCell<Weak<Memory>> = const { RefCell::new(Weak::new()) };
}

/// One store for all places that are there at the same time.
#[test]
fn one_store_for_all_places() {
    struct Twin;
    impl Subject for Twin {
        type Backend = Memory;
        const MEDIUM: Medium = Medium::Memory;
        async fn open(place: &Place) -> Result<Memory> {
            let kept = place.keep(|| {
                let last = LAST.with_borrow(Weak::upgrade);
                last.unwrap_or_else(|| Arc::new(Memory::with_limits(LIMITS)))
            });
            LAST.set(Arc::downgrade(&kept));
            Ok(Memory::clone(&kept))
        }
        fn limits() -> Limits {
            LIMITS
        }
    }
    super::must_fail::<Twin>("", ONE_STORE);
}

/// A store that has no limits, or others than it says.
#[test]
fn no_limits() {
    struct Twin;
    impl Subject for Twin {
        type Backend = Memory;
        const MEDIUM: Medium = Medium::Memory;
        async fn open(place: &Place) -> Result<Memory> {
            Ok(place.keep(Memory::new))
        }
        fn limits() -> Limits {
            LIMITS
        }
    }
    super::must_fail::<Twin>("", NO_LIMITS);
}

/// It says that it is known to break a law that there is not.
#[test]
fn knows_laws_that_are_not() {
    struct Twin;
    impl Subject for Twin {
        type Backend = Memory;
        const MEDIUM: Medium = Medium::Memory;
        const KNOWN_FAILURES: &'static [(&'static str, &'static str)] = &[("g99_no_law", "so")];
        async fn open(place: &Place) -> Result<Memory> {
            Ok(place.keep(Memory::new))
        }
    }
    super::must_fail::<Twin>("", KNOWS_LAWS_THAT_ARE_NOT);
}

/// What should run futures throws them away: nothing that is green then was ever looked at.
#[test]
fn polls_nothing() {
    struct Twin;
    impl Subject for Twin {
        type Backend = Memory;
        const MEDIUM: Medium = Medium::Directory;
        async fn open(place: &Place) -> Result<Memory> {
            Ok(place.keep(Memory::new))
        }
        fn block_on<F: Future>(future: F) -> F::Output {
            drop(future);
            panic!("nobody polls here")
        }
    }
    let report = run_some::<Twin>(&Options::smoke(), |law| law.level == Level::Harness);
    assert_eq!(report.count("passed"), 0, "{report}");
    let mut failed = report.failed();
    failed.sort_unstable();
    assert_eq!(failed, POLLS_NOTHING);
}
