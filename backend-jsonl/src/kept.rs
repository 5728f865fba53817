//! What repairs cut out is kept beside the log.

use std::path::PathBuf;

use sessionlog_core::Result;

use crate::dir::{KEPT, SessionDir};
use crate::tail::End;
use sessionlog_local::files::{failed, make_dir, replace, sync_dir, unique};

/// The folder of kept bytes, made if need be and durable in the session's folder.
pub(crate) fn folder(dir: &SessionDir) -> Result<PathBuf> {
    let path = dir.join(KEPT);
    make_dir(&path).map_err(failed("make the folder", &path))?;
    sync_dir(dir.path()).map_err(failed("flush", dir.path()))?;
    Ok(path)
}

/// Keeps the bytes of a torn tail, durably. Gives their name, relative to the session's folder.
pub(crate) fn keep_tail(dir: &SessionDir, end: End, bytes: &[u8]) -> Result<String> {
    let name = format!("tail-{:020}-{}.jsonl", end.head.tail.get(), unique());
    replace(&folder(dir)?, &name, bytes, true)?;
    Ok(format!("{KEPT}/{name}"))
}
