//! The conformance suite, in memory and on a local folder.

use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStore;
use object_store::memory::InMemory;
use sessionlog_backend_s3::{Bucket, Folder, Options};
use sessionlog_conformance::{Capability, Medium, Place, Subject};
use sessionlog_core::Result;

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

const LOST_ENDS: Capability = Capability::No(
    "a newest head that somebody removed can't be told from one that was never written",
);

struct LocalFolder;

impl Subject for LocalFolder {
    type Backend = Bucket;
    const MEDIUM: Medium = Medium::Directory;
    const PROMPT_LEASES: Capability = TIMED;
    const PRIVATE_FILES: Capability =
        Capability::No("object_store makes files as the umask says: keep the folder private");
    const FINDS_LOST_ENDS: Capability = LOST_ENDS;
    const FINDS_LOST_NAMES: Capability = Capability::No("a list reads the index alone");

    async fn open(place: &Place) -> Result<Bucket> {
        let store = Arc::new(Folder::new(place.dir())?);
        // A disk that goes on failing is not waited for.
        let mut options = Options::default();
        options.pause = Duration::from_micros(100);
        options.longest_pause = Duration::from_millis(1);
        Ok(Bucket::new(store, "", options))
    }
}

mod memory {
    sessionlog_conformance::conformance!(super::InMemoryObjects);
}

mod folder {
    sessionlog_conformance::conformance!(super::LocalFolder);
}
