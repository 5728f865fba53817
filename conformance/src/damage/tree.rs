//! The files of a folder, by name: taken up, laid down, compared.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Place;
use crate::place::Ground;

/// Files with their bytes, and the folders that they are in. Links and the like are no part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tree {
    pub(crate) files: BTreeMap<PathBuf, Vec<u8>>,
    pub(crate) folders: Vec<PathBuf>,
}

impl Tree {
    /// What lies in a place.
    pub(crate) fn of(place: &Place) -> io::Result<Self> {
        let mut tree = Self::default();
        tree.take(place.dir(), Path::new(""))?;
        Ok(tree)
    }

    /// What lies in the place of an open store, once two looks in a row see the same.
    pub(crate) fn settled(place: &Place) -> io::Result<Self> {
        let mut tree = Self::of(place)?;
        for _ in 0..200 {
            std::thread::sleep(std::time::Duration::from_millis(5));
            let again = Self::of(place)?;
            if again == tree {
                return Ok(tree);
            }
            tree = again;
        }
        Err(io::Error::other("the files of an idle store never rest"))
    }

    fn take(&mut self, root: &Path, name: &Path) -> io::Result<()> {
        for entry in fs::read_dir(root.join(name))? {
            let entry = entry?;
            let (name, kind) = (name.join(entry.file_name()), entry.file_type()?);
            if kind.is_dir() {
                self.folders.push(name.clone());
                self.take(root, &name)?;
            } else if kind.is_file() {
                self.files.insert(name, fs::read(entry.path())?);
            }
        }
        self.folders.sort();
        Ok(())
    }

    /// A new place with these files, readable by their owner alone, as the store made them.
    pub(crate) fn lay(&self, ground: &Ground) -> io::Result<Place> {
        let place = Place::quick(ground)?;
        for folder in &self.folders {
            let folder = place.dir().join(folder);
            fs::create_dir_all(&folder)?;
            private(&folder, 0o700)?;
        }
        for (name, bytes) in &self.files {
            let path = place.dir().join(name);
            fs::write(&path, bytes)?;
            private(&path, 0o600)?;
        }
        Ok(place)
    }

    /// The names of files that are in one of the two only, or with other bytes.
    pub(crate) fn changed(&self, other: &Self) -> Vec<PathBuf> {
        let gone = self
            .files
            .keys()
            .filter(|name| !other.files.contains_key(*name));
        let new = other
            .files
            .iter()
            .filter(|(name, bytes)| self.files.get(*name) != Some(*bytes));
        gone.chain(new.map(|(name, _)| name)).cloned().collect()
    }

    /// Whether a file of this tree is gone or shorter in the other.
    pub(crate) fn is_less_in(&self, other: &Self, file: &Path) -> bool {
        let len = |tree: &Self| tree.files.get(file).map(Vec::len);
        len(other) < len(self)
    }
}

#[cfg(unix)]
fn private(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

#[cfg(not(unix))]
fn private(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

/// A tree in a saved failure: a store's bytes can differ from one run to the next.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Saved {
    folders: Vec<PathBuf>,
    /// In hexadecimal, a file each.
    files: BTreeMap<PathBuf, String>,
}

impl From<&Tree> for Saved {
    fn from(tree: &Tree) -> Self {
        let hex = |bytes: &Vec<u8>| bytes.iter().map(|b| format!("{b:02x}")).collect();
        let files = tree.files.iter();
        Self {
            folders: tree.folders.clone(),
            files: files.map(|(name, b)| (name.clone(), hex(b))).collect(),
        }
    }
}

impl Saved {
    /// The tree again; `None` if it is not in hexadecimal.
    pub(crate) fn tree(&self) -> Option<Tree> {
        let byte = |pair: &[u8]| {
            let pair = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(pair, 16).ok()
        };
        let bytes = |hex: &String| {
            hex.as_bytes()
                .chunks(2)
                .map(byte)
                .collect::<Option<Vec<_>>>()
        };
        let files = self.files.iter();
        let files = files.map(|(name, hex)| Some((name.clone(), bytes(hex)?)));
        Some(Tree {
            folders: self.folders.clone(),
            files: files.collect::<Option<_>>()?,
        })
    }
}
