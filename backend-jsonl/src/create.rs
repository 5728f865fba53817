//! The beginning and the end of a session: both happen with one rename.

use std::fs;
use std::io::ErrorKind as Io;
use std::path::Path;

use sessionlog_core::{Error, ErrorKind, Result, SessionRef, Timestamp};

use crate::dir::{APPEND_LOCK, EVENTS, NEW, SessionDir, TRASH};
use crate::header::Header;
use crate::root::Root;
use crate::store::Jsonl;
use sessionlog_local::files::{
    create_new, failed, failed_to_move, is_dir, make_dir, open_write, sync_dir, unique,
    write_all_at,
};
use sessionlog_local::lock::try_whole;

/// How often a session's folder is built, where others take it apart.
const TRIES: usize = 8;

impl Jsonl {
    /// Makes an empty session in a folder of its own and gives it its name when it is whole.
    pub(crate) fn make(&self, session: &SessionRef) -> Result<()> {
        self.root().ensure()?;
        sweep(self.root());
        let dir = self.dir(&session.id);
        self.refuse_if_there(session, &dir)?;
        let new = self.path().join(NEW);
        make_dir(&new).map_err(failed("make the folder", &new))?;
        let mut again = 1..TRIES;
        while !self.try_make(session, &dir, &new, again.next().is_none())? {}
        sync_dir(self.path()).map_err(|e| {
            Error::indeterminate(format!(
                "the session was made, but perhaps not durably: {}",
                session.id
            ))
            .with_source(e)
        })
    }

    /// Builds the session's folder and names it; `false` if that is to be tried again, because another
    /// process took the folder for a leftover, or made a session of this name that is deleted already.
    fn try_make(
        &self,
        session: &SessionRef,
        dir: &SessionDir,
        new: &Path,
        last: bool,
    ) -> Result<bool> {
        let unfinished = new.join(unique());
        let lock = match build(&unfinished, session) {
            Ok(lock) => lock,
            Err(e) if e.kind() == Io::NotFound && !last => return Ok(false),
            Err(e) => {
                drop(fs::remove_dir_all(&unfinished));
                return Err(failed("make the session's folder", &unfinished)(e));
            }
        };
        let error = match fs::rename(&unfinished, dir.path()) {
            Ok(()) => return Ok(true),
            Err(e) if e.kind() == Io::NotFound && !last => return Ok(false),
            Err(e) => e,
        };
        // Somebody was faster.
        if matches!(error.kind(), Io::DirectoryNotEmpty | Io::AlreadyExists) {
            drop(fs::remove_dir_all(&unfinished));
            self.refuse_if_there(session, dir)?;
            return match last {
                false => Ok(false),
                true => Err(failed("make the session", &unfinished)(error)),
            };
        }
        // Under its lock: no sweep takes it before it is looked for.
        let error = failed_to_move("make the session", &unfinished)(error);
        drop(lock);
        if *error.kind() != ErrorKind::Indeterminate {
            drop(fs::remove_dir_all(&unfinished));
            self.refuse_if_there(session, dir)?;
        }
        Err(error)
    }

    fn refuse_if_there(&self, session: &SessionRef, dir: &SessionDir) -> Result<()> {
        match fs::symlink_metadata(dir.path()) {
            Err(e) if e.kind() == Io::NotFound => return Ok(()),
            Err(e) => return Err(failed("look at", dir.path())(e)),
            Ok(_) => {}
        }
        let (end, fault) = self.present(&session.id)?.look()?;
        if let Some(fault) = fault {
            return Err(fault);
        }
        let tail = end.head.tail;
        Err(Error::new(
            ErrorKind::Conflict { tail },
            format!("the session is there already, open it: {}", session.id),
        ))
    }

    /// Takes a session out of the store: whole, then piece by piece. To be called under its lock.
    pub(crate) fn unmake(&self, dir: &SessionDir) -> Result<()> {
        let trash = self.path().join(TRASH);
        make_dir(&trash).map_err(failed("make the folder", &trash))?;
        let gone = trash.join(unique());
        fs::rename(dir.path(), &gone).map_err(failed_to_move("delete", dir.path()))?;
        sync_dir(self.path()).map_err(|e| {
            Error::indeterminate("the session was deleted, but perhaps not durably").with_source(e)
        })?;
        sweep(self.root());
        Ok(())
    }
}

/// Builds a session's folder; its lock tells others that it is no leftover.
fn build(path: &Path, session: &SessionRef) -> std::io::Result<fs::File> {
    make_dir(path)?;
    let lock = create_new(&path.join(APPEND_LOCK))?;
    if !try_whole(&lock)? {
        return Err(Io::NotFound.into());
    }
    let header = Header {
        session: session.clone(),
        created: Timestamp::now(),
    };
    let events = create_new(&path.join(EVENTS))?;
    write_all_at(&events, &header.encode(), 0)?;
    events.sync_all()?;
    sync_dir(path)?;
    Ok(lock)
}

/// Clears what crashes left. It is in nobody's way, so what can't be cleared now stays.
fn sweep(root: &Root) {
    // A link in the place of one of these folders leads to what is not ours.
    let entries = |name: &str| {
        let folder = root.path().join(name);
        let listed = is_dir(&folder).then(|| fs::read_dir(&folder).ok());
        (listed.flatten().into_iter().flatten().flatten()).map(|e| e.path())
    };
    for path in entries(NEW) {
        let lock = open_write(&path.join(APPEND_LOCK));
        let abandoned = match &lock {
            Ok(lock) => try_whole(lock).unwrap_or(false),
            // Either it was left before it got its lock, or its maker is about to try again.
            Err(e) => e.kind() == Io::NotFound,
        };
        if abandoned {
            // Taken apart only once it has no name in common with a session: if its maker lives after
            // all, one of the two renames finds nothing.
            let trash = root.path().join(TRASH);
            drop(make_dir(&trash).and_then(|()| fs::rename(&path, trash.join(unique()))));
        }
    }
    let mut trash = entries(TRASH).peekable();
    // What is taken apart must not come back under its old name: who moved it here may not have flushed that.
    if trash.peek().is_some() && sync_dir(root.path()).is_ok() {
        trash.for_each(|path| drop(fs::remove_dir_all(path)));
    }
}
