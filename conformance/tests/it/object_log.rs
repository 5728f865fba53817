//! A correct object log.

use sessionlog_conformance::{Capability, Medium, Options, Place, Subject};
use sessionlog_core::Result;

use crate::head_log::{Flaw, HeadLog};
use crate::twins::must_fail_with;

struct Heads;

impl Subject for Heads {
    type Backend = HeadLog;
    const MEDIUM: Medium = Medium::ObjectStore;
    const PROMPT_LEASES: Capability = Capability::No("a lease ends when it is given back");
    const GROUP_COMMIT: Capability = Capability::No("each append is a put of its own");

    async fn open(place: &Place) -> Result<HeadLog> {
        HeadLog::open(place.objects(), place.name(), Flaw::None).await
    }
}

/// As much as its broken twins are asked: the object storage backend has the long runs.
#[test]
fn it_passes() {
    let options = Options::smoke().with_patience(400);
    must_fail_with::<Heads>(&options, &[]);
}
