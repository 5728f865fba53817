//! What a file is: its inode, type and length.

use core::{ffi::CStr, mem::MaybeUninit};
use libc::{AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW, c_char, c_int};

use crate::interpose::raw::{failed, sys};

/// A file system's own number for a file: device and inode; zeroes are no file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C)]
pub(crate) struct Inode {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) inode: Inode,
    mode: libc::mode_t,
    pub(crate) size: u64,
}

impl Stat {
    /// What a descriptor, which may be `AT_FDCWD`, is open on.
    pub(crate) fn of_fd(fd: c_int) -> Option<Stat> {
        // SAFETY: the empty path ends with a NUL.
        unsafe { Stat::at(fd, c"".as_ptr(), AT_EMPTY_PATH) }
    }

    /// What a name stands for, symbolic links not followed.
    ///
    /// # Safety
    ///
    /// `path` is null or a string that ends with a NUL.
    pub(crate) unsafe fn of_name(dir: c_int, path: *const c_char) -> Option<Stat> {
        // SAFETY: as the caller's.
        unsafe { Stat::at(dir, path, AT_SYMLINK_NOFOLLOW) }
    }

    /// # Safety
    ///
    /// `path` is null or a string that ends with a NUL.
    pub(crate) unsafe fn at(dir: c_int, path: *const c_char, flags: c_int) -> Option<Stat> {
        let mut stat = MaybeUninit::<libc::stat>::zeroed();
        // SAFETY: there is room for what the kernel writes, and it checks the path; zeroes
        // are a valid `stat`.
        let (ret, stat) = unsafe {
            let ret = sys!(SYS_newfstatat, dir, path, stat.as_mut_ptr(), flags);
            (ret, stat.assume_init())
        };
        (!failed(ret)).then(|| Stat {
            inode: Inode {
                dev: stat.st_dev,
                ino: stat.st_ino,
            },
            mode: stat.st_mode & libc::S_IFMT,
            size: u64::try_from(stat.st_size).unwrap_or(0),
        })
    }

    pub(crate) fn is_file(&self) -> bool {
        self.mode == libc::S_IFREG
    }

    pub(crate) fn is_folder(&self) -> bool {
        self.mode == libc::S_IFDIR
    }
}

/// A path cut in two: the folder and the name in it, which may have slashes behind it. The
/// folder is empty if the path is a bare name.
///
/// # Safety
///
/// `path` is a string that ends with a NUL and outlives the answer.
pub(crate) unsafe fn split<'a>(path: *const c_char) -> (&'a [u8], &'a [u8]) {
    // SAFETY: as the caller's.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    let end = path
        .iter()
        .rposition(|b| *b != b'/')
        .map_or(0, |last| last + 1);
    let (named, _) = path.split_at_checked(end).unwrap_or((path, b""));
    match named.iter().rposition(|b| *b == b'/') {
        None => (b"", named),
        Some(slash) => named.split_at_checked(slash + 1).unwrap_or((b"/", b"")),
    }
}
