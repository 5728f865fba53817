//! The conformance suite, in memory and on a local folder.

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_conformance::{Capability, Medium, Place, Subject};
use sessionlog_core::{Error, Result};

pub(crate) const TIMED: Capability =
    Capability::No("a store of objects sees nobody die: leases end by release or by time");

struct InMemoryObjects;

impl Subject for InMemoryObjects {
    type Backend = Bucket;
    const MEDIUM: Medium = Medium::Memory;
    const PROMPT_LEASES: Capability = TIMED;

    async fn open(place: &Place) -> Result<Bucket> {
        let store: Arc<dyn ObjectStore> = place.keep(|| Arc::new(InMemory::new())) as _;
        Ok(Bucket::new(store, "a prefix/b", Options::default()))
    }
}

const UNFLUSHED: &str = "object_store flushes no folder behind a removal: a blob that was removed \
    may be back after a power loss";
const MADE: &str = "a creation that was cut off between its head and its marker is not listed, \
    and is a conflict when it is repeated";
const NEWEST: &str = "a newest head that somebody removed can't be told from one that never was: the log ends before it";

struct LocalFolder;

impl Subject for LocalFolder {
    type Backend = Bucket;
    const MEDIUM: Medium = Medium::Directory;
    const PROMPT_LEASES: Capability = TIMED;
    const PRIVATE_FILES: Capability =
        Capability::No("object_store makes files as the umask says: keep the folder private");

    const KNOWN_FAILURES: &'static [(&'static str, &'static str)] = &[
        ("g03_names_rest_on_flushes_of_their_folders", UNFLUSHED),
        ("g03_power_loss_in_any_work_leaves_a_prefix", UNFLUSHED),
        (
            "g11_power_loss_leaves_snapshots_and_blobs_whole_or_absent",
            UNFLUSHED,
        ),
        ("g13_a_disk_that_goes_on_failing_loses_nothing", UNFLUSHED),
        ("g13_a_file_call_that_fails_loses_nothing", UNFLUSHED),
        ("g03_a_second_power_loss_takes_nothing_more", MADE),
        (
            "g01_an_append_to_a_damaged_store_is_right_or_refused",
            NEWEST,
        ),
        ("g15_damage_shortens_no_log_in_silence", NEWEST),
        ("g15_verify_names_the_damage", NEWEST),
        ("g15_repair_salvages_what_is_whole", NEWEST),
    ];

    async fn open(place: &Place) -> Result<Bucket> {
        let store = LocalFileSystem::new_with_prefix(place.dir())
            .map_err(|e| Error::unavailable("the folder can't be used").with_source(e))?
            .with_fsync(true);
        Ok(Bucket::new(Arc::new(store), "", Options::default()))
    }
}

mod memory {
    sessionlog_conformance::conformance!(super::InMemoryObjects);
}

mod folder {
    sessionlog_conformance::conformance!(super::LocalFolder);
}
