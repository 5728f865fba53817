use sessionlog_conformance::{Capability, Medium, Place, Subject};
use third_party::Journal;

struct Mine;

impl Subject for Mine {
    type Backend = Journal;
    const MEDIUM: Medium = Medium::Directory;
    const SEVERAL_HANDLES: Capability = Capability::No("one at a time: the folder is locked");
    const SEVERAL_PROCESSES: Capability = Self::SEVERAL_HANDLES;
    const GROUP_COMMIT: Capability = Capability::No("each append is flushed alone");
    const FINDS_LOST_ENDS: Capability = Capability::No("a journal cut at its end was never longer");
    const SALVAGES: Capability = Capability::No("it has no repair: a damaged journal is refused");

    async fn open(place: &Place) -> sessionlog_core::Result<Journal> {
        let opened = Journal::open(place.dir()).await;
        opened.map_err(|e| sessionlog_core::Error::unavailable("not opened").with_source(e))
    }
}

sessionlog_conformance::conformance!(Mine);
