//! Giving space back.

use std::fs;

use sessionlog_core::Result;
use sessionlog_local::files::is_dir;

use crate::commit::{Held, checkpoint};
use crate::create;
use crate::fault::failed;
use crate::session::all;
use crate::store::Sqlite;

impl Sqlite {
    /// Writes the database anew without unused space, and gives that back to the file system. Returns by
    /// how many bytes the files became smaller.
    ///
    /// Nothing else can be written meanwhile, and it needs as much free space as the database is large.
    /// Deletes give space back by themselves; this does what they leave: pages that are half empty, and
    /// more than 32 MiB at once. It also removes what broken-off work left beside the database.
    ///
    /// # Errors
    /// `Unavailable` if other processes are in the way for longer than the busy timeout, or the disk is
    /// full. Nothing changed then.
    pub async fn compact(&self) -> Result<u64> {
        if self.inner.presence()?.is_none() {
            return Ok(0);
        }
        let before = self.bytes();
        let mut held = Held::begin(&self.inner).await?;
        let locks = self.unused_locks(&held)?;
        held.outside(|desk| {
            desk.conn
                .execute_batch("VACUUM")
                .map_err(failed("compact", "the database"))?;
            checkpoint(desk).map_err(failed("compact", "the database"))
        })?;
        create::clear(&self.inner.site);
        for lock in locks {
            // Best effort: an empty file.
            drop(fs::remove_file(lock));
        }
        Ok(before.saturating_sub(self.bytes()))
    }

    fn bytes(&self) -> u64 {
        let site = &self.inner.site;
        let len = |path| fs::symlink_metadata(path).map_or(0, |meta| meta.len());
        len(site.path().to_owned()) + len(site.wal())
    }

    /// Lock files of sessions that were deleted.
    fn unused_locks(&self, held: &Held<'_>) -> Result<Vec<std::path::PathBuf>> {
        let folder = self.inner.site.leases();
        if !is_dir(&folder) {
            return Ok(Vec::new());
        }
        let Some(desk) = held.desk() else {
            return Ok(Vec::new());
        };
        let numbers: Vec<i64> = all(&desk.conn)?.iter().map(|row| row.number).collect();
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let unused = entries.map(|entry| entry.path()).filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            let number = name.and_then(|name| name.parse::<i64>().ok());
            number.is_some_and(|number| !numbers.contains(&number))
        });
        Ok(unused.collect())
    }
}
