//! Twins of the reference backend whose fault is in how it is opened.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use sessionlog_conformance::Place;
use sessionlog_core::{Limits, Memory, Result};

use super::memory::LIMITS;

const ONE_STORE: &[&str] = &["l0_places_are_apart"];
const NO_LIMITS: &[&str] = &[
    "g13_too_large_batches_are_refused_with_figures",
    "g13_too_large_events_are_refused_with_figures",
];

/// The twins and the laws that they must fail.
pub(crate) const OTHERS: &[(&str, &[&str])] = &[
    ("one_store_for_all_places", ONE_STORE),
    ("no_limits", NO_LIMITS),
];

thread_local! {
    static LAST: RefCell<Weak<Memory>> = const { RefCell::new(Weak::new()) };
}

/// One store for all places that are there at the same time.
#[test]
fn one_store_for_all_places() {
    struct Twin;
    impl sessionlog_conformance::Subject for Twin {
        type Backend = Memory;
        const MEDIUM: sessionlog_conformance::Medium = sessionlog_conformance::Medium::Memory;
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
    impl sessionlog_conformance::Subject for Twin {
        type Backend = Memory;
        const MEDIUM: sessionlog_conformance::Medium = sessionlog_conformance::Medium::Memory;
        async fn open(place: &Place) -> Result<Memory> {
            Ok(place.keep(Memory::new))
        }
        fn limits() -> Limits {
            LIMITS
        }
    }
    super::must_fail::<Twin>("", NO_LIMITS);
}
