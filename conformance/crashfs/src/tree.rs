//! A folder in memory.

mod apply;
mod compare;
mod disk;

use std::{
    collections::BTreeMap,
    path::{Component, Path},
    sync::Arc,
};

pub(crate) use disk::{Inodes, Start, read};

use crate::{FileId, Name};

/// A folder with everything below it: by [`FileId`], with the names apart from what they name,
/// so that a model of a crash can lose names and data independently.
///
/// A clone shares the files' bytes until one of the two changes them. A name may stand for an
/// id that is in none of the maps: that is an empty file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tree {
    /// The bytes of every regular file, of those without a name too.
    pub files: BTreeMap<FileId, Arc<Vec<u8>>>,
    /// The names in every folder. The root is [`FileId::ROOT`] and is always there.
    pub folders: BTreeMap<FileId, BTreeMap<Name, FileId>>,
    /// The targets of symbolic links.
    pub links: BTreeMap<FileId, Name>,
}

impl Default for Tree {
    fn default() -> Tree {
        Tree::new()
    }
}

impl Tree {
    /// A folder with nothing in it.
    #[must_use]
    pub fn new() -> Tree {
        Tree {
            files: BTreeMap::new(),
            folders: BTreeMap::from([(FileId::ROOT, BTreeMap::new())]),
            links: BTreeMap::new(),
        }
    }

    /// What a path below the root names; symbolic links are not followed. The empty path is
    /// the root.
    #[must_use]
    pub fn find(&self, path: impl AsRef<Path>) -> Option<FileId> {
        path.as_ref()
            .components()
            .try_fold(FileId::ROOT, |at, part| match part {
                Component::Normal(name) => self.folders.get(&at)?.get(name).copied(),
                Component::CurDir => Some(at),
                _ => None,
            })
    }

    /// The bytes of the file at a path below the root.
    #[must_use]
    pub fn bytes(&self, path: impl AsRef<Path>) -> Option<&[u8]> {
        let bytes = self.files.get(&self.find(path)?)?;
        Some(bytes)
    }
}
