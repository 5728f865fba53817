//! The conformance suite, on a shared store and on an exclusive one.

use sessionlog_backend_redb::{Options, Redb};
use sessionlog_conformance::{Capability, Medium, Place, Subject};
use sessionlog_core::Result;

const KEEPS_PAGES: Capability =
    Capability::No("redb leaves what unused pages hold until they are written over");

struct Shared;

impl Subject for Shared {
    type Backend = Redb;
    const MEDIUM: Medium = Medium::Directory;
    const ERASES_BYTES: Capability = KEEPS_PAGES;

    async fn open(place: &Place) -> Result<Redb> {
        Redb::open(place.dir().join("store.redb"), Options::default())
    }
}

struct Exclusive;

impl Subject for Exclusive {
    type Backend = Redb;
    const MEDIUM: Medium = Medium::Directory;
    const ERASES_BYTES: Capability = KEEPS_PAGES;
    const SEVERAL_HANDLES: Capability = Capability::No("the first writer keeps all others out");
    const SEVERAL_PROCESSES: Capability = Capability::No("the first writer keeps all others out");

    async fn open(place: &Place) -> Result<Redb> {
        Redb::open(
            place.dir().join("store.redb"),
            Options::default().exclusive(),
        )
    }
}

mod shared {
    sessionlog_conformance::conformance!(super::Shared);
}

mod exclusive {
    sessionlog_conformance::conformance!(super::Exclusive);
}
