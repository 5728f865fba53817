//! The conformance suite.

use sessionlog_backend_sqlite::{Options, Sqlite};
use sessionlog_conformance::{Medium, Place, Subject};
use sessionlog_core::Result;

struct Database;

impl Subject for Database {
    type Backend = Sqlite;
    const MEDIUM: Medium = Medium::Directory;

    async fn open(place: &Place) -> Result<Sqlite> {
        Sqlite::open(place.dir(), Options::default())
    }
}

sessionlog_conformance::conformance!(Database);
