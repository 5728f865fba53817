use sessionlog_conformance::{Capability, Medium, Place, Subject};
use third_party::Journal;

struct Mine;

impl Subject for Mine {
    type Backend = Journal;
    const MEDIUM: Medium = Medium::Directory;
    const SEVERAL_HANDLES: Capability = Capability::No("one at a time: the folder is locked");
    const SEVERAL_PROCESSES: Capability = Self::SEVERAL_HANDLES;
    const GROUP_COMMIT: Capability = Capability::No("each append is flushed alone");

    async fn open(place: &Place) -> sessionlog_core::Result<Journal> {
        Ok(Journal::open(place.dir()).await.expect("a store"))
    }
}

sessionlog_conformance::conformance!(Mine);
