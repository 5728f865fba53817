//! Giving space back.

use sessionlog_core::{Error, Result};

use crate::Redb;
use crate::failure::{failed, unpanicked};

impl Redb {
    /// Gives the space of deleted sessions back to the file system: moves what is left together and
    /// cuts the file. Gives the bytes before and after.
    ///
    /// Nobody else may be reading or writing meanwhile. If the process dies in the middle, the store
    /// is as it was or as it will be.
    ///
    /// # Errors
    /// `Unavailable` if another process, or another thread, is in the middle of a read or a write:
    /// nothing was lost, try again.
    pub async fn compact(&self) -> Result<(u64, u64)> {
        let engine = &self.shared.engine;
        let path = engine.file.path();
        let size = || std::fs::metadata(path).map(|meta| meta.len()).unwrap_or(0);
        let before = size();
        if !engine.is_there()? {
            return Ok((0, 0));
        }
        // As any write: wait for those who write now, and see that the file is a store.
        drop(engine.begin_write().await?);
        // redb compacts through a handle that nobody else has.
        drop(engine.close());
        unpanicked("compact the store", || {
            let mut database = engine.open_alone()?;
            while database.compact().map_err(|error| match error {
                redb::CompactionError::TransactionInProgress => Error::unavailable(
                    "somebody is reading or writing the store, try again when they are done",
                ),
                error => failed("compact the store")(error),
            })? {}
            database.close().map_err(failed("compact the store"))
        })?;
        Ok((before, size()))
    }
}
