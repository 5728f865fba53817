//! The conformance suite.

use sessionlog_backend_sqlite::{Options, Sqlite};
use sessionlog_conformance::{Capability, Medium, Place, Subject};
use sessionlog_core::Result;

struct Database;

impl Subject for Database {
    type Backend = Sqlite;
    const MEDIUM: Medium = Medium::Directory;
    const FINDS_LOST_ENDS: Capability = Capability::No(
        "what a killed writer committed last is in the write-ahead log, and SQLite takes of a log \
         what is whole at its beginning",
    );

    const KNOWN_FAILURES: &'static [(&'static str, &'static str)] = &[(
        "g15_damage_shortens_no_log_in_silence",
        "blocks of the write-ahead log of a killed process, swapped with each other, look like what a \
         torn transaction left behind a newer one",
    )];

    async fn open(place: &Place) -> Result<Sqlite> {
        Sqlite::open(place.dir(), Options::default())
    }
}

sessionlog_conformance::conformance!(Database);
