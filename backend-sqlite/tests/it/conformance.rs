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

    async fn open(place: &Place) -> Result<Sqlite> {
        Sqlite::open(place.dir(), Options::default())
    }
}

sessionlog_conformance::conformance!(Database);
