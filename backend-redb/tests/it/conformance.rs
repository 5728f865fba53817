//! The conformance suite, on a shared store and on an exclusive one.

use sessionlog_backend_redb::Redb;
use sessionlog_conformance::{Capability, Medium, Place, Subject};
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

mod exclusive {
    sessionlog_conformance::conformance!(super::Exclusive);
}
