//! The conformance suite, with and without space written ahead.

use sessionlog_backend_jsonl::{Jsonl, Options};
use sessionlog_conformance::{Capability, Medium, Place, Subject};
use sessionlog_core::Result;

/// What a killed writer leaves is a shorter file, too.
const LOST_ENDS: Capability = Capability::No(
    "a log is one file that grows: cut at its end it is what a killed writer leaves",
);

/// The readers of the handle that writes wait for its flush; others read the file.
const UNFLUSHED: Capability =
    Capability::No("others may see a batch between its write and its flush, its writer not yet");

struct Plain;

impl Subject for Plain {
    type Backend = Jsonl;
    const MEDIUM: Medium = Medium::Directory;
    const ONE_WRITE_ONE_FLUSH: Capability = Capability::Yes;
    const FINDS_LOST_ENDS: Capability = LOST_ENDS;
    const LINEARIZABLE_READS: Capability = UNFLUSHED;

    async fn open(place: &Place) -> Result<Jsonl> {
        Jsonl::open(place.dir(), Options::default())
    }
}

struct Ahead;

impl Subject for Ahead {
    type Backend = Jsonl;
    const MEDIUM: Medium = Medium::Directory;
    const ONE_WRITE_ONE_FLUSH: Capability = Capability::Yes;
    const FINDS_LOST_ENDS: Capability = LOST_ENDS;
    const LINEARIZABLE_READS: Capability = UNFLUSHED;

    async fn open(place: &Place) -> Result<Jsonl> {
        Jsonl::open(place.dir(), Options::default().write_ahead(32 << 10))
    }
}

mod plain {
    sessionlog_conformance::conformance!(super::Plain);
}

mod ahead {
    sessionlog_conformance::conformance!(super::Ahead);
}
