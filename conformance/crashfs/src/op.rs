//! What a record is made of.

use std::{ffi::OsStr, sync::Arc};

/// A file, folder or symbolic link of a record, whatever names it has at the moment.
///
/// It survives renames, hard links and the removal of its last name, and is never given to
/// another file of the record, even where the file system uses an inode again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

impl FileId {
    /// The recorded folder itself.
    pub const ROOT: FileId = FileId(0);
}

/// A name in a folder, or the target of a symbolic link.
pub type Name = Arc<OsStr>;

/// Where a name is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The folder that holds the name.
    pub dir: FileId,
    /// The name, without a slash.
    pub name: Name,
}

/// One effect on the recorded folder, in the order in which they took place.
///
/// Only what was carried out is here, with two exceptions that have no effect on the
/// [`Tree`](crate::Tree): flushes, whose `ok` says whether they may be relied on, and
/// [`Op::Failed`]. One call can be several ops: a write to a file opened with `O_SYNC` or
/// `O_DSYNC` is an [`Op::Write`] and an [`Op::Flush`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A new, empty file with a name.
    Create {
        /// The new file.
        file: FileId,
        /// Its name.
        place: Place,
    },
    /// A new, empty file without a name (`O_TMPFILE`); an [`Op::Link`] may give it one.
    CreateUnnamed {
        /// The new file.
        file: FileId,
    },
    /// Bytes written by a call, or stored through a shared mapping.
    Write {
        /// The file.
        file: FileId,
        /// The place of the first byte, counted from 0; for an append, where the end was.
        at: u64,
        /// The bytes that the kernel took, never empty.
        data: Arc<[u8]>,
    },
    /// A new length: cut, or grown by zeroes.
    Truncate {
        /// The file.
        file: FileId,
        /// The new length in bytes.
        len: u64,
    },
    /// `fallocate`.
    Allocate {
        /// The file.
        file: FileId,
        /// The first byte of the range.
        at: u64,
        /// The length of the range.
        len: u64,
        /// What was asked for.
        how: Allocation,
    },
    /// `fsync`, `fdatasync` or `msync` of a file, or a write that flushes by itself.
    Flush {
        /// The file.
        file: FileId,
        /// Whether metadata that is not needed to read the data back may be left out
        /// (`fdatasync`, `O_DSYNC`). The length is always included.
        data_only: bool,
        /// Whether the kernel carried it out without an error. After a flush that failed, no
        /// later one makes the writes before it durable.
        ok: bool,
    },
    /// `fsync` or `fdatasync` of a folder.
    FlushFolder {
        /// The folder.
        dir: FileId,
        /// As in [`Op::Flush`].
        ok: bool,
    },
    /// `sync`, or `syncfs` on something below the root: every file and folder.
    FlushAll {
        /// As in [`Op::Flush`].
        ok: bool,
    },
    /// A name moved, within the root.
    Rename {
        /// What was renamed: a file, a folder or a link.
        node: FileId,
        /// Its name before.
        from: Place,
        /// Its name after.
        to: Place,
        /// What lost the name `to` at the same moment.
        replaced: Option<FileId>,
    },
    /// `RENAME_EXCHANGE`: two names swapped.
    Exchange {
        /// What had the name `a_place` before, and has `b_place` after.
        a: FileId,
        /// A name.
        a_place: Place,
        /// What had the name `b_place` before, and has `a_place` after.
        b: FileId,
        /// The other name.
        b_place: Place,
    },
    /// One more name for a file (a hard link), or the first for an unnamed one.
    Link {
        /// The file.
        file: FileId,
        /// The new name.
        place: Place,
    },
    /// A name of a file or of a symbolic link is gone; a file may live on under another name
    /// or as long as it is open. Also a file that was renamed to a place outside the root.
    Unlink {
        /// What lost the name.
        node: FileId,
        /// The name.
        place: Place,
    },
    /// A new folder.
    Mkdir {
        /// The new folder.
        dir: FileId,
        /// Its name.
        place: Place,
    },
    /// A folder is gone.
    Rmdir {
        /// The folder.
        dir: FileId,
        /// Its name before.
        place: Place,
    },
    /// A new symbolic link.
    Symlink {
        /// The new link.
        link: FileId,
        /// Its name.
        place: Place,
        /// Where it leads, as it was given.
        target: Name,
    },
    /// The caller was told of an I/O error: `EIO`, `ENOSPC`, `EDQUOT`, `EFBIG`, `EROFS` or
    /// `EINTR`, injected or real. Nothing was carried out, unless the op before is this very
    /// call ([`FaultKind::AppliedButError`](crate::FaultKind::AppliedButError)). Failed
    /// flushes have an op of their own before this one. Other errors (a name that is not
    /// there) leave no trace.
    Failed {
        /// What was called.
        call: Call,
        /// The file or folder, if it is known.
        on: Option<FileId>,
        /// The error's number.
        errno: i32,
    },
}

/// What [`Op::Allocate`] asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Allocation {
    /// Room; the file grows to the end of the range if it was shorter.
    Grow,
    /// Room, and the length stays: the contents are as before.
    Reserve,
    /// The range reads as zeroes; the length stays.
    Punch,
    /// The range reads as zeroes; the file grows if it was shorter, unless `keep_size`.
    Zero {
        /// Whether the length stays.
        keep_size: bool,
    },
    /// The range is taken out, and what is behind it moves to the front.
    Collapse,
    /// Zeroes are put in, and what was there moves to the back.
    Insert,
}

/// A kind of call, as [`Op::Failed`] and [`Fault`](crate::Fault) tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// An open that makes a new file.
    Create,
    /// `write`, `pwrite`, `writev`, `pwritev`, `pwritev2`.
    Write,
    /// `ftruncate`, `truncate`, and an open with `O_TRUNC` of a file that was there.
    Truncate,
    /// `fallocate`, `posix_fallocate`.
    Allocate,
    /// `rename`, `renameat`, `renameat2`.
    Rename,
    /// `link`, `linkat`, `symlink`, `symlinkat`.
    Link,
    /// `unlink`, and `unlinkat` and `remove` of a file.
    Unlink,
    /// `mkdir`, `mkdirat`.
    Mkdir,
    /// `rmdir`, and `unlinkat` and `remove` of a folder.
    Rmdir,
    /// `fsync`, `fdatasync`, `sync_file_range` and `msync` of a file.
    Flush,
    /// `fsync` and `fdatasync` of a folder.
    FlushFolder,
    /// `syncfs`. (`sync` can't fail.)
    FlushAll,
}
