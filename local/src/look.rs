//! A look at a file that costs its writer nothing.
//!
//! Since version 6.13 Linux gives a file whose times were asked for a fresh time with its next write, and
//! the flush of that write may then write the inode as well, though the file kept its length. So whoever
//! looks between commits asks for no times.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::files::Identity;

/// What a file is, without its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Which file it is.
    pub identity: Identity,
    /// Its length.
    pub len: u64,
    /// It is a plain file.
    pub is_file: bool,
    /// It is a folder.
    pub is_dir: bool,
}

impl Look {
    /// A look at what has this path; a link is not followed.
    ///
    /// # Errors
    /// The operating system's.
    pub fn at(path: &Path) -> io::Result<Self> {
        system::at(path)
    }

    /// A look at an open file.
    ///
    /// # Errors
    /// The operating system's.
    pub fn of(file: &File) -> io::Result<Self> {
        system::of(file)
    }
}

impl From<&std::fs::Metadata> for Look {
    fn from(meta: &std::fs::Metadata) -> Self {
        Self {
            identity: Identity::of(meta),
            len: meta.len(),
            is_file: meta.is_file(),
            is_dir: meta.is_dir(),
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use std::fs::{self, File};
    use std::io;
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags, makedev, statx};
    use rustix::io::Errno;

    use super::Look;
    use crate::files::Identity;

    const ASKED: StatxFlags = StatxFlags::TYPE
        .union(StatxFlags::INO)
        .union(StatxFlags::SIZE);

    fn look(found: &Statx) -> Look {
        let kind = FileType::from_raw_mode(found.stx_mode.into());
        let device = makedev(found.stx_dev_major, found.stx_dev_minor);
        Look {
            identity: Identity::from_numbers(device, found.stx_ino),
            len: found.stx_size,
            is_file: kind == FileType::RegularFile,
            is_dir: kind == FileType::Directory,
        }
    }

    pub(super) fn at(path: &Path) -> io::Result<Look> {
        match statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, ASKED) {
            // A system that is too old, or forbids it.
            Err(Errno::NOSYS) => fs::symlink_metadata(path).map(|meta| Look::from(&meta)),
            found => Ok(look(&found?)),
        }
    }

    pub(super) fn of(file: &File) -> io::Result<Look> {
        match statx(file, "", AtFlags::EMPTY_PATH, ASKED) {
            Err(Errno::NOSYS) => file.metadata().map(|meta| Look::from(&meta)),
            found => Ok(look(&found?)),
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    use std::fs::{self, File};
    use std::io;
    use std::path::Path;

    use super::Look;

    pub(super) fn at(path: &Path) -> io::Result<Look> {
        fs::symlink_metadata(path).map(|meta| Look::from(&meta))
    }

    pub(super) fn of(file: &File) -> io::Result<Look> {
        file.metadata().map(|meta| Look::from(&meta))
    }
}
