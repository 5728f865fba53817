//! Everything below a prefix, deleted.

use futures_util::{StreamExt, TryStreamExt};
use object_store::ObjectStoreExt;
use sessionlog_core::{Error, Result};

use super::Location;

impl Location {
    /// Deletes every object below the place, sessions and all else, and says how many there were.
    ///
    /// # Errors
    /// As [`Self::connect`]; `Unavailable` if something could not be listed or deleted, when part of
    /// it may be gone.
    pub async fn clear(&self) -> Result<u64> {
        let (store, prefix) = self.connect()?;
        let refused = |e| Error::unavailable(format!("{self} was not cleared")).with_source(e);
        let mut objects = store.list(Some(&prefix)).boxed();
        let mut deleted = 0;
        while let Some(object) = objects.try_next().await.map_err(refused)? {
            match store.delete(&object.location).await {
                Ok(()) => deleted += 1,
                Err(object_store::Error::NotFound { .. }) => {}
                Err(e) => return Err(refused(e)),
            }
        }
        Ok(deleted)
    }
}
