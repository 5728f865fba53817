//! The conformance suite, on a shared store and on an exclusive one.

use sessionlog_backend_redb::Redb;
use sessionlog_conformance::{Capability, Law, Level, Medium, Options, Place, Subject, run_some};
use sessionlog_core::Result;

const KEEPS_PAGES: Capability =
    Capability::No("redb leaves what unused pages hold until they are written over");

const ONE_BIT: Capability = Capability::No(
    "one bit tells which of the last two commits counts, and a killed writer may leave either",
);

struct Shared;

impl Subject for Shared {
    type Backend = Redb;
    const MEDIUM: Medium = Medium::Directory;
    const ERASES_BYTES: Capability = KEEPS_PAGES;
    const FINDS_LOST_ENDS: Capability = ONE_BIT;

    async fn open(place: &Place) -> Result<Redb> {
        Redb::open(place.dir(), sessionlog_backend_redb::Options::default())
    }
}

struct Exclusive;

impl Subject for Exclusive {
    type Backend = Redb;
    const MEDIUM: Medium = Medium::Directory;
    const ERASES_BYTES: Capability = KEEPS_PAGES;
    const FINDS_LOST_ENDS: Capability = ONE_BIT;
    const SEVERAL_HANDLES: Capability = Capability::No("the first writer keeps all others out");
    const SEVERAL_PROCESSES: Capability = Capability::No("the first writer keeps all others out");
    const KNOWN_FAILURES: &'static [(&'static str, &'static str)] = &[(
        "g13_a_disk_that_goes_on_failing_loses_nothing",
        "behind a disk that goes on failing, a session that was made may be missing once it works again",
    )];

    async fn open(place: &Place) -> Result<Redb> {
        Redb::open(
            place.dir(),
            sessionlog_backend_redb::Options::default().exclusive(),
        )
    }
}

mod shared {
    sessionlog_conformance::conformance!(super::Shared);
}

/// What the modes share is killed on the shared one; `processes` kills writers of both.
#[test]
fn an_exclusive_store_upholds_the_contract_and_the_model_on_disks_that_fail() {
    let some = |law: &Law| matches!(law.level, Level::Contract | Level::Model | Level::Errors);
    let report = run_some::<Exclusive>(&Options::from_env(), some);
    assert!(report.is_green(), "{report}");
}
