//! What lies in a folder, byte for byte.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::breach::{Held, breach, ensure_eq};

/// The files, folders and links below a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Files(BTreeMap<PathBuf, Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    mode: u32,
    content: Option<Vec<u8>>,
    link: Option<PathBuf>,
}

impl Files {
    /// Everything below a folder, the folder itself included.
    pub(crate) fn below(root: &Path) -> io::Result<Self> {
        let mut files = Self::default();
        files.take(root, Path::new(""))?;
        Ok(files)
    }

    fn take(&mut self, root: &Path, name: &Path) -> io::Result<()> {
        let path = root.join(name);
        let meta = fs::symlink_metadata(&path)?;
        let is_file = meta.file_type().is_file();
        self.0.insert(
            name.to_owned(),
            Entry {
                mode: mode(&meta),
                content: is_file.then(|| fs::read(&path)).transpose()?,
                link: fs::read_link(&path).ok(),
            },
        );
        if meta.file_type().is_dir() {
            for entry in fs::read_dir(&path)? {
                self.take(root, &name.join(entry?.file_name()))?;
            }
        }
        Ok(())
    }

    /// A breach unless the other folder has the same names, modes and bytes.
    pub(crate) fn same(&self, other: &Self, when: &str) -> Held {
        let names = |files: &Self| files.0.keys().cloned().collect::<Vec<_>>();
        ensure_eq!(names(other), names(self), "the files {when}");
        for ((name, before), after) in self.0.iter().zip(other.0.values()) {
            ensure_eq!(
                after.mode,
                before.mode,
                "the mode of {} {when}",
                name.display()
            );
            if before != after {
                let len = |e: &Entry| e.content.as_ref().map(Vec::len);
                return Err(breach(format!(
                    "{} changed {when}: {:?} bytes before, {:?} after",
                    name.display(),
                    len(before),
                    len(after)
                )));
            }
        }
        Ok(())
    }

    /// The bytes of all files together that are not zero: what was written, whether a store makes its
    /// files longer by writing or before it.
    pub(crate) fn filled(&self) -> usize {
        let contents = self.0.values().filter_map(|e| e.content.as_ref());
        contents.flatten().filter(|byte| **byte != 0).count()
    }

    /// Where a text stands: in a name or in a content.
    pub(crate) fn find(&self, text: &str) -> Option<String> {
        let holds = |(name, entry): &(&PathBuf, &Entry)| {
            name.to_string_lossy().contains(text)
                || entry
                    .content
                    .as_ref()
                    .is_some_and(|c| c.windows(text.len()).any(|w| w == text.as_bytes()))
        };
        let found = self.0.iter().find(holds);
        found.map(|(name, _)| name.display().to_string())
    }

    /// What others than the owner can read or write.
    pub(crate) fn open_to_others(&self) -> Vec<String> {
        let open = self
            .0
            .iter()
            .filter(|(_, e)| e.mode & 0o077 != 0 && e.link.is_none());
        open.map(|(name, e)| format!("{} {:o}", name.display(), e.mode & 0o777))
            .collect()
    }
}

#[cfg(unix)]
fn mode(meta: &fs::Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::mode(meta)
}

#[cfg(not(unix))]
fn mode(_: &fs::Metadata) -> u32 {
    0
}
