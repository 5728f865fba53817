//! Where a store lies, and what lies there.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use sessionlog_core::{Error, Place, Result};
use sessionlog_local::files::{
    failed, file_in_folder, is_dir, look, make_dir, open_write, sync_dir, sync_names,
};
use sessionlog_local::look::Look;

use crate::fault::{self, Kind};
use crate::presence::Presence;
use crate::schema::{APPLICATION, FORMAT};
use crate::{wal, wal_index};

/// The database in a store that was opened as a folder.
const IN_FOLDER: &str = "sessions.db";

/// The path of a database and of what belongs to it.
#[derive(Debug)]
pub(crate) struct Site {
    path: PathBuf,
    /// Everything in the folder is the store's.
    pub(crate) owns_folder: bool,
}

impl Site {
    /// The store at a path: a file, or `sessions.db` in a folder that is there.
    pub(crate) fn at(path: &Path) -> Result<Self> {
        let find = failed("find", path);
        let absolute = std::path::absolute(path).map_err(find)?;
        let owns_folder = absolute.is_dir();
        let path = if owns_folder {
            file_in_folder(&absolute, IN_FOLDER)?
        } else {
            absolute
        };
        // Links above the database are followed once, here; one in its place never is.
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Error::invalid(format!(
                "the path names no file: {}",
                path.display()
            )));
        };
        let there = parent.ancestors().find(|p| p.is_dir());
        let real = there.and_then(|there| {
            let rest = parent.strip_prefix(there).ok()?;
            Some(fs::canonicalize(there).ok()?.join(rest))
        });
        Ok(Self {
            path: real.as_deref().unwrap_or(parent).join(name),
            owns_folder,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// The name of the database file.
    pub(crate) fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// A file beside the database: its name with something behind.
    pub(crate) fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(suffix);
        self.path.with_file_name(name)
    }

    pub(crate) fn wal(&self) -> PathBuf {
        self.beside("-wal")
    }

    pub(crate) fn leases(&self) -> PathBuf {
        self.beside("-leases")
    }

    /// The lock file of a session's lease.
    pub(crate) fn lease(&self, number: i64) -> PathBuf {
        self.leases().join(number.to_string())
    }

    /// The database file, if it is there; an error if something else is in its place, or if it is gone
    /// and what belongs to it is not.
    pub(crate) fn look(&self) -> Result<Option<Look>> {
        match look(&self.path)? {
            Some(found) => Ok(Some(found)),
            None => self.missing().map(|()| None),
        }
    }

    /// An error if the database was there and is not any more.
    fn missing(&self) -> Result<()> {
        let log = wal_len(&self.wal())? > 0;
        if !log && !is_dir(&self.leases()) {
            return Ok(());
        }
        let rest = if log { self.wal() } else { self.leases() };
        Err(Error::corrupt(
            Place::file(self.name()),
            format!(
                "the database is gone, but what belongs to it is there: bring it back, or remove {}",
                rest.display()
            ),
        ))
    }

    /// How many bytes the write-ahead log has.
    pub(crate) fn wal_len(&self) -> Result<u64> {
        wal_len(&self.wal())
    }

    /// Looks at the header of a database that is there, and refuses what is no store of this format.
    pub(crate) fn check(&self, presence: &Presence) -> Result<()> {
        let header = presence
            .first_bytes(&self.path, 100)
            .map_err(failed("read", &self.path))?;
        let corrupt = |why: &str| Err(Error::corrupt(Place::file(self.name()), why));
        let number = |at: usize| {
            let bytes = header.get(at..at + 4).and_then(|b| b.try_into().ok());
            bytes.map(u32::from_be_bytes)
        };
        if header.is_empty() {
            return corrupt("the file is empty, which a store never is");
        }
        let ours = number(68) == Some(APPLICATION);
        match (header.starts_with(b"SQLite format 3\0"), ours) {
            (true, true) => {}
            (false, true) => return corrupt("the first bytes of the database are damaged"),
            (true, false) => {
                return Err(Error::invalid(format!(
                    "the database is another program's, name another file: {}",
                    self.path.display()
                )));
            }
            (false, false) => {
                return Err(Error::invalid(format!(
                    "the file is no SQLite database, name another: {}",
                    self.path.display()
                )));
            }
        }
        match number(60) {
            Some(FORMAT) => Ok(()),
            Some(newer) if newer > FORMAT => Err(Error::unsupported(format!(
                "the store was written by a newer version, update this program: it has format \
                 {newer}, this version reads up to {FORMAT}"
            ))),
            _ => corrupt("the database has no format version"),
        }
    }

    /// Refuses a write-ahead log that was damaged after it was written.
    pub(crate) fn check_wal(&self, presence: &Arc<Presence>) -> Result<()> {
        let path = self.wal();
        let index = self.beside("-shm");
        let known = match presence.with_file(&index, wal_index::read) {
            Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
            known => known.map_err(failed("read", &index))?,
        };
        match wal::damage(&path, &known).map_err(failed("read", &path))? {
            None => Ok(()),
            Some(offset) => Err(Error::corrupt(
                Place::file(format!("{}-wal", self.name())).with_offset(offset),
                "the write-ahead log is damaged before its last transaction: copy the files aside, then \
                 open the database with sqlite3 once to go on without what is behind the damage",
            )),
        }
    }

    /// The error for a transaction that could not be begun. SQLite takes a disk that fails for one that is
    /// read-only.
    pub(crate) fn not_begun(&self, conn: &Connection, error: rusqlite::Error) -> Error {
        if fault::kind(&error) == Kind::Forbidden && !self.forbids_writing(conn) {
            let told = "can't begin to write: the disk fails, or a file beside the database is another user's";
            return Error::unavailable(told).with_source(error);
        }
        fault::failed("begin to write", "the database")(error)
    }

    /// Whether this user may not write to the database or to its log, or nobody may.
    pub(crate) fn forbids_writing(&self, conn: &Connection) -> bool {
        let forbidden = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];
        let log = open_write(&self.wal());
        conn.is_readonly("main").unwrap_or(true)
            || log.is_err_and(|e| forbidden.contains(&e.kind()))
    }

    /// Makes the names that lead to the store, and its log, durable: whoever gave them may have failed to, or
    /// been killed before.
    pub(crate) fn flush_names(&self) -> Result<()> {
        sync_names(self.folder()).map_err(failed("flush", self.folder()))
    }

    /// Makes the folder of lock files, if it isn't there.
    pub(crate) fn make_leases(&self) -> Result<()> {
        let path = self.leases();
        if is_dir(&path) {
            return Ok(());
        }
        make_dir(&path).map_err(failed("make the folder", &path))?;
        sync_dir(self.folder()).map_err(failed("flush", self.folder()))
    }
}

fn wal_len(path: &Path) -> Result<u64> {
    match fs::symlink_metadata(path) {
        Ok(meta) => Ok(meta.len()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(0),
        Err(e) => Err(failed("look at", path)(e)),
    }
}
