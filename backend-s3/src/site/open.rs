//! A store that is looked at before it is used.

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::path::Path;
use sessionlog_core::{Error, Result};

use super::probe::{Verdict, probe};
use crate::{Bucket, Options};

impl Bucket {
    /// Uses a store of objects after a look whether sessions are safe in it: at most 12 requests,
    /// which write and delete one object below `v1/probe` of the prefix.
    ///
    /// # Errors
    /// `Unsupported`, with the reason, if creates are not atomic or lists lag behind;
    /// `InvalidInput` where credentials, permissions, region or bucket are to be corrected;
    /// `Unavailable`.
    pub async fn probed(
        store: Arc<dyn ObjectStore>,
        prefix: impl Into<Path>,
        options: Options,
    ) -> Result<Self> {
        let prefix = prefix.into();
        match probe(&*store, &prefix).await? {
            Verdict::Fit => Ok(Self::new(store, prefix, options)),
            Verdict::Unfit(reason) => Err(unfit(reason, &*store)),
        }
    }
}

/// The refusal of a store.
pub(super) fn unfit(reason: &str, store: &dyn ObjectStore) -> Error {
    Error::unsupported(format!(
        "sessions are not safe in this object store: {reason}. Use another one, or a version of it \
         that has atomic conditional writes ({store})"
    ))
}
