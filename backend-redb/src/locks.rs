//! Lock files beside the database: who is alive.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use sessionlog_core::{FencingToken, Result};
use sessionlog_local::files::{failed, make_dir, open_or_create, open_read};
use sessionlog_local::lock::{Held, Probe, probe_whole};

/// The folder of lock files. Names are never used twice, so a file that nobody locks is rubbish.
#[derive(Debug)]
pub(crate) struct Locks {
    folder: PathBuf,
}

/// The name of the lock of a lease.
pub(crate) fn of_lease(number: u64, token: FencingToken) -> String {
    format!("{number}-{token}")
}

/// The name of the lock of an upload.
pub(crate) fn of_upload(upload: u64) -> String {
    format!("u{upload}")
}

impl Locks {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Takes a lock; `None` if somebody has it.
    pub(crate) fn take(&self, name: &str) -> Result<Option<Held>> {
        make_dir(&self.folder).map_err(failed("make the folder", &self.folder))?;
        let path = self.folder.join(name);
        let file = open_or_create(&path).map_err(failed("open", &path))?;
        Held::whole(file).map_err(failed("lock", &path))
    }

    /// Whether somebody has a lock. Takes and makes nothing.
    pub(crate) fn probe(&self, name: &str) -> Result<Probe> {
        let path = self.folder.join(name);
        match open_read(&path) {
            Ok(file) => probe_whole(&file).map_err(failed("look at the lock", &path)),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(Probe::Free),
            Err(e) => Err(failed("open", &path)(e)),
        }
    }

    /// Whether somebody has a lock, for those who may take it to find out.
    pub(crate) fn is_held(&self, name: &str) -> Result<bool> {
        match self.probe(name)? {
            Probe::Free => Ok(false),
            Probe::Held => Ok(true),
            Probe::Unknown => Ok(self.take(name)?.is_none()),
        }
    }

    /// Removes a file that nobody needs any more.
    pub(crate) fn clear(&self, name: &str) {
        // Best effort: an empty file is in nobody's way.
        drop(fs::remove_file(self.folder.join(name)));
    }

    /// Files whose locks nobody has.
    pub(crate) fn unlocked(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| matches!(self.probe(name), Ok(Probe::Free)))
            .collect()
    }
}
