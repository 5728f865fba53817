//! A write-ahead log of which this process could not flush everything: it is written anew, before
//! anything rests on it.

use std::sync::Arc;

use sessionlog_core::{ErrorKind, Result};
use sessionlog_local::files::failed as io_failed;

use crate::fault::{Kind, kind_behind};
use crate::presence::Presence;
use crate::site::Site;
use crate::{connect, wal};

/// Settles a doubt before this process opens the database. The first who opens it takes all that is in
/// the log for committed and writes so into the log's index, which may outlive a power loss that takes
/// what no flush has proved.
///
/// # Errors
/// `Unavailable` if the disk still fails.
pub(crate) fn settle_before_opening(site: &Site, presence: &Arc<Presence>) -> Result<()> {
    if !presence.is_in_doubt() || presence.is_locked() {
        return Ok(());
    }
    let alone = presence.locking(|| connect::alone(site.path()));
    let settled = alone.and_then(|conn| {
        let begun = conn.execute_batch("BEGIN IMMEDIATE");
        begun.map_err(|error| site.not_begun(&conn, error))?;
        settle(site, presence)
    });
    match settled {
        // Others have it open, and an index that says nothing of what failed.
        Err(error) if kind_behind(&error) == Some(Kind::Busy) => Ok(()),
        // Nothing can be written, no index either.
        Err(error) if *error.kind() == ErrorKind::Unsupported => Ok(()),
        settled => settled,
    }
}

/// Settles a doubt, under the write lock.
pub(crate) fn settle(site: &Site, presence: &Presence) -> Result<()> {
    if presence.is_in_doubt() {
        let path = site.wal();
        wal::write_anew(&path).map_err(io_failed("write anew", &path))?;
        presence.settled();
    }
    Ok(())
}
