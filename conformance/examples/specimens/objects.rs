//! A folder of objects, as `object_store` keeps it.

use std::sync::Arc;

use object_store::local::LocalFileSystem;
use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_conformance::{Capability, Medium, Place, Subject};
use sessionlog_core::{Error, Result};

/// No server tells when a client dies.
pub(crate) const TIMED: Capability =
    Capability::No("no server tells when a client dies: leases expire");
/// The umask decides who can read.
pub(crate) const UMASK: Capability = Capability::No("object_store makes files as the umask says");

/// As it comes: it flushes nothing unless it is asked to.
pub(crate) struct Unflushed;

impl Subject for Unflushed {
    type Backend = Bucket;
    const MEDIUM: Medium = Medium::Directory;
    const PROMPT_LEASES: Capability = TIMED;
    const PRIVATE_FILES: Capability = UMASK;

    async fn open(place: &Place) -> Result<Bucket> {
        let store = LocalFileSystem::new_with_prefix(place.dir())
            .map_err(|e| Error::unavailable("the folder can't be used").with_source(e))?;
        Ok(Bucket::new(Arc::new(store), "", Options::default()))
    }
}
