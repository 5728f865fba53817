//! The kinds of numbered calls.

/// What a numbered call does. Each has one counter in a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Kind {
    Create,
    Write,
    Truncate,
    Allocate,
    Rename,
    Link,
    Unlink,
    Mkdir,
    Rmdir,
    Fsync,
    Fdatasync,
    FolderFlush,
    MapFlush,
    RangeFlush,
    SystemFlush,
}

impl Kind {
    /// How many kinds there are.
    pub(crate) const COUNT: usize = Kind::SystemFlush as usize + 1;
}
