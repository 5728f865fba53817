//! The folder of a store, and the file that says that it is one.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use serde::Deserialize;
use sessionlog_core::{Error, Place, Result};

use crate::dir::{self, APPEND_LOCK, EVENTS, MARKER, NEW, TRASH};
use crate::header::{self, FORMAT, unsupported};
use sessionlog_local::files::{failed, is_dir, make_all, open_read, read_at, replace};

/// The name of this backend in the marker.
const BACKEND: &str = "jsonl";

/// The folder of a store. It is made by the first write, never by a read.
#[derive(Debug)]
pub(crate) struct Root {
    path: PathBuf,
    /// The marker was found whole. It does not change, so it is not read for every session.
    marked: AtomicBool,
}

#[derive(Deserialize)]
struct Marker {
    backend: String,
    format: u64,
}

/// What is at the path of a store.
#[derive(PartialEq, Eq)]
enum Found {
    Nothing,
    /// A store; `marked` if its marker is whole.
    Store {
        marked: bool,
    },
}

impl Root {
    /// Looks at a path, and refuses what is there if it is no JSONL store and can't become one.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path).map_err(failed("find", path))?;
        let root = Self {
            path,
            marked: AtomicBool::new(false),
        };
        root.look()?;
        Ok(root)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the store if it isn't there.
    pub(crate) fn ensure(&self) -> Result<()> {
        match self.look()? {
            Found::Store { marked: true } => return Ok(()),
            Found::Store { marked: false } => {}
            Found::Nothing => make_all(&self.path)?,
        }
        let marker =
            format!("{{\"store\":\"sessionlog\",\"backend\":\"{BACKEND}\",\"format\":{FORMAT}}}\n");
        replace(&self.path, MARKER, marker.as_bytes(), true)
    }

    /// Whether there is a store; a read looks again, since another process may have made one.
    pub(crate) fn is_there(&self) -> Result<bool> {
        Ok(self.look()? != Found::Nothing)
    }

    /// Whether there was a store when its marker was last looked for: one that is gone since has no
    /// sessions either.
    pub(crate) fn was_there(&self) -> bool {
        self.marked.load(Relaxed)
    }

    fn look(&self) -> Result<Found> {
        let path = &self.path;
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => {
                return Err(Error::invalid(format!(
                    "the path of a JSONL store is not a folder: {}",
                    path.display()
                )));
            }
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
            Err(e) if e.kind() == ErrorKind::NotADirectory => {
                return Err(Error::invalid(format!(
                    "part of the path of the store is a file: {}",
                    path.display()
                ))
                .with_source(e));
            }
            Err(e) => return Err(failed("look at the store", path)(e)),
        }
        let file = path.join(MARKER);
        match open_read(&file).and_then(std::io::read_to_string) {
            Ok(text) => match serde_json::from_str::<Marker>(&text) {
                Ok(marker) => {
                    let found = marker.check();
                    self.marked.store(found.is_ok(), Relaxed);
                    found
                }
                Err(_) if self.has_sessions()? => Ok(Found::Store { marked: false }),
                Err(e) => Err(Error::corrupt(
                    Place::file(MARKER),
                    "the file that marks a store is damaged, and there are no sessions beside it",
                )
                .with_source(e)),
            },
            Err(e) if e.kind() == ErrorKind::NotFound => {
                if self.is_empty()? || self.has_sessions()? {
                    return Ok(Found::Store { marked: false });
                }
                Err(Error::invalid(format!(
                    "the folder is not empty and is no sessionlog store, name another: {}",
                    path.display()
                )))
            }
            Err(e) => Err(failed("read", &file)(e)),
        }
    }

    fn entries(&self) -> Result<impl Iterator<Item = Result<fs::DirEntry>>> {
        let listed = fs::read_dir(&self.path).map_err(failed("list", &self.path))?;
        Ok(listed.map(|entry| entry.map_err(failed("list", &self.path))))
    }

    /// Whether nothing lies here but what an interrupted start leaves.
    fn is_empty(&self) -> Result<bool> {
        for entry in self.entries()? {
            if !is_leftover(&entry?.file_name().to_string_lossy()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether some folder is that of a session: stores are also copied by hand.
    fn has_sessions(&self) -> Result<bool> {
        for entry in self.entries()? {
            let entry = entry?;
            let name = entry.file_name();
            if dir::session(&name.to_string_lossy()).is_some() && is_session(&entry.path()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Marker {
    fn check(self) -> Result<Found> {
        if self.backend != BACKEND {
            return Err(Error::unsupported(format!(
                "the store is of another kind, open it with backend \"{}\" (format {}), \
                 not \"{BACKEND}\" (format {FORMAT})",
                self.backend, self.format
            )));
        }
        if self.format > FORMAT {
            return Err(unsupported(self.format));
        }
        Ok(Found::Store { marked: true })
    }
}

/// Whether a folder with the name of a session is one, whole or damaged, and not a foreign folder.
/// Sessions that were copied by hand may lack everything but their log.
pub(crate) fn is_session(path: &Path) -> bool {
    is_dir(path) && holds_session(path)
}

/// The same of what is known to be a folder.
pub(crate) fn holds_session(path: &Path) -> bool {
    let has = |name: &str| fs::symlink_metadata(path.join(name)).is_ok_and(|m| m.is_file());
    has(APPEND_LOCK)
        || has(EVENTS)
            && open_read(&path.join(EVENTS)).is_ok_and(|file| {
                let mut start = [0; header::START.len()];
                read_at(&file, &mut start, 0).is_ok() && start == header::START
            })
}

/// Whether a name in the root is one that a crash can leave, or the file system's own.
pub(crate) fn is_leftover(name: &str) -> bool {
    matches!(name, NEW | TRASH | "lost+found") || name.starts_with(dir::TEMPORARY)
}
