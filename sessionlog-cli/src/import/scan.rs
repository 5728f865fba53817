//! The files below some paths that can be imported.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sessionlog::{Error, Result};

use super::sniff::{Looks, looks};
use super::{Format, io_error};

/// A file that may be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The file.
    pub path: PathBuf,
    /// What it looks like; `None` if that is unknown, and then it will be skipped.
    pub format: Option<Format>,
    /// Its length in bytes.
    pub bytes: u64,
    /// What the session is called if the file does not say.
    pub(crate) name: String,
    /// A file beside it that belongs to the session.
    pub(crate) sidecar: Option<PathBuf>,
    looks: Looks,
}

/// What [`scan`] found.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// The files, in the order of the paths that were given, and below each by name.
    pub candidates: Vec<Candidate>,
    /// Files in folders that are no JSON Lines, symbolic links among them.
    pub ignored: u64,
    /// Folders and files in folders that could not be read, and why.
    pub unreadable: Vec<(PathBuf, String)>,
}

impl Candidate {
    /// Why the file is passed over.
    pub(crate) fn unknown(&self) -> String {
        match self.looks {
            Looks::Empty => "the file is empty".to_owned(),
            Looks::Other => "the file is not JSON Lines, of which all known formats are".to_owned(),
            _ => format!(
                "no record is of a format that is known ({}); to keep its records as they are, \
                 import it with --format lines",
                [Format::ClaudeCode, Format::Codex, Format::KvitCoder]
                    .map(Format::name)
                    .join(", ")
            ),
        }
    }
}

/// Finds the files at and below `paths`.
///
/// A path that is a file is taken in any case. In folders, files are taken whose content is JSON
/// Lines, whatever their names; symbolic links are not followed, so that nothing outside of the
/// folder is read and nothing is read twice. With `format` given, that is the format of all files.
///
/// # Errors
/// `NotFound` or `InvalidInput` if one of `paths` can't be read. What can't be read inside of a
/// folder is told in the result.
pub fn scan(paths: &[PathBuf], format: Option<Format>) -> Result<Scan> {
    let mut walk = Walk {
        format,
        seen: BTreeSet::new(),
        scan: Scan::default(),
    };
    for path in paths {
        let meta = fs::metadata(path).map_err(|e| io_error("there is nothing to read", path, e))?;
        if meta.is_dir() {
            fs::read_dir(path).map_err(|e| io_error("the folder can't be read", path, e))?;
            walk.folder(path);
        } else if !meta.is_file() {
            // Reading it could wait for ever, and what was read could not be read again.
            return Err(Error::invalid(format!(
                "this is no file but a pipe or a device, write what it gives to a file and import \
                 that: {}",
                path.display()
            )));
        } else {
            let found = walk.candidate(path, meta.len())?;
            walk.add(found);
        }
    }
    Ok(walk.scan)
}

struct Walk {
    format: Option<Format>,
    seen: BTreeSet<PathBuf>,
    scan: Scan,
}

impl Walk {
    fn folder(&mut self, top: &Path) {
        let mut waiting = vec![top.to_owned()];
        while let Some(folder) = waiting.pop() {
            match self.entries(&folder) {
                Ok(below) => waiting.extend(below.into_iter().rev()),
                Err(e) => self.scan.unreadable.push((folder, e.to_string())),
            }
        }
    }

    /// Takes the files of a folder, and gives the folders in it.
    fn entries(&mut self, folder: &Path) -> std::io::Result<Vec<PathBuf>> {
        let mut entries = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        // The folder of a kvit-coder session is one session: what else is in it belongs to it.
        let history = folder.join("history.jsonl");
        if let Ok(meta) = fs::symlink_metadata(&history)
            && meta.is_file()
            && let Ok(found) = self.candidate(&history, meta.len())
            && found.format == Some(Format::KvitCoder)
        {
            self.add(found);
            return Ok(Vec::new());
        }
        let mut below = Vec::new();
        for entry in entries {
            let path = entry.path();
            let kind = entry.file_type()?;
            if kind.is_dir() {
                below.push(path);
            } else if kind.is_file() && !is_migrated(&path) {
                self.file(&path);
            } else {
                self.scan.ignored += 1;
            }
        }
        Ok(below)
    }

    fn file(&mut self, path: &Path) {
        let len = fs::metadata(path).map_or(0, |meta| meta.len());
        match self.candidate(path, len) {
            Ok(found) if matches!(found.looks, Looks::Like(_) | Looks::Records) => self.add(found),
            Ok(_) => self.scan.ignored += 1,
            Err(e) => self.scan.unreadable.push((path.to_owned(), e.to_string())),
        }
    }

    fn candidate(&self, path: &Path, bytes: u64) -> Result<Candidate> {
        let looks = looks(path)?;
        let format = self.format.or(match looks {
            Looks::Like(format) => Some(format),
            _ => None,
        });
        let full = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_history = full.file_name().is_some_and(|name| name == "history.jsonl");
        let folder = full
            .parent()
            .filter(|_| is_history && format == Some(Format::KvitCoder));
        let name = match folder.and_then(Path::file_name) {
            Some(name) => name.to_string_lossy().into_owned(),
            None => stem(&full),
        };
        Ok(Candidate {
            sidecar: folder
                .and(path.parent())
                .map(|folder| folder.join("meta.json")),
            path: path.to_owned(),
            format,
            bytes,
            name,
            looks,
        })
    }

    fn add(&mut self, found: Candidate) {
        let full = found
            .path
            .canonicalize()
            .unwrap_or_else(|_| found.path.clone());
        if self.seen.insert(full) {
            self.scan.candidates.push(found);
        }
    }
}

/// The name of a file up to `.jsonl`, or to its last dot.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.trim_end_matches(".migrated");
    let stem = match stem.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => stem,
    };
    stem.to_owned()
}

/// A file that kvit-coder has turned into a folder, which is there.
fn is_migrated(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = name
        .strip_suffix(".jsonl.migrated")
        .map(|name| path.with_file_name(name));
    folder.is_some_and(|folder| folder.join("history.jsonl").is_file())
}
