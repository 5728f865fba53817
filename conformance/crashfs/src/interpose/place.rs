//! Where a call takes place: which watches cover a descriptor or a name.
//!
//! Nothing is remembered: `/proc` is asked at each call. A table of
//! descriptors would miss those that libc closes by itself (`closedir`,
//! `fclose`) and those that another process handed over; the kernel's doesn't.

use core::{ffi::CStr, mem::MaybeUninit};
use libc::{AT_FDCWD, c_char, c_int};

use crate::{
    interpose::{
        gate::Hits,
        raw::{errno, failed, sys},
    },
    slot::{self, ROOT_MAX},
};

const PATH_MAX: usize = libc::PATH_MAX as usize;
const PARENT: c_int = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;

/// What is behind a path, links followed.
pub(crate) enum Found {
    /// A regular file, and the watches that cover it.
    File(Hits),
    /// Something else.
    Other,
    /// Nothing of that name.
    Absent,
    /// It can't be reached, and the call will say why.
    Unreachable,
}

/// The watches that cover an open file or folder.
#[inline]
pub(crate) fn of_fd(fd: c_int) -> Hits {
    let active = slot::active();
    if active == 0 || fd < 0 {
        Hits::NONE
    } else {
        by_link(active, fd)
    }
}

/// Every watch of this process.
pub(crate) fn everywhere() -> Hits {
    Hits::among(slot::active(), |_| true)
}

/// The watches that cover the folder in which `path` is a name.
///
/// # Safety
///
/// `path` is null or a string that ends with a NUL.
pub(crate) unsafe fn of_name(dir: c_int, path: *const c_char) -> Hits {
    let active = slot::active();
    if active == 0 || path.is_null() {
        return Hits::NONE;
    }
    // SAFETY: not null, so a string.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    let name_end = path
        .iter()
        .rposition(|b| *b != b'/')
        .map_or(0, |last| last + 1);
    let (named, _) = path.split_at_checked(name_end).unwrap_or((path, b""));
    let Some(slash) = named.iter().rposition(|b| *b == b'/') else {
        return by_link(active, dir);
    };
    let (parent, _) = named.split_at_checked(slash + 1).unwrap_or((b"/", b""));
    let mut buffer = MaybeUninit::<[u8; PATH_MAX]>::uninit();
    if parent.len() >= PATH_MAX {
        return Hits::NONE;
    }
    let start: *mut u8 = buffer.as_mut_ptr().cast();
    // SAFETY: the buffer has room for the parent's path and a NUL.
    let fd = unsafe {
        start.copy_from_nonoverlapping(parent.as_ptr(), parent.len());
        start.add(parent.len()).write(0);
        sys!(SYS_openat, dir, start, PARENT)
    };
    of_path_fd(active, fd)
}

/// What `path` leads to.
///
/// # Safety
///
/// `path` is null or a string that ends with a NUL.
pub(crate) unsafe fn of_path(dir: c_int, path: *const c_char, flags: c_int) -> Found {
    let active = slot::active();
    let follow = libc::O_PATH | libc::O_CLOEXEC | (flags & libc::O_NOFOLLOW);
    // SAFETY: the kernel checks the pointer.
    let fd = unsafe { sys!(SYS_openat, dir, path, follow) };
    if !failed(fd) {
        let mode = mode_of(fd as c_int);
        let hits = of_path_fd(active, fd);
        return if mode == libc::S_IFREG {
            Found::File(hits)
        } else {
            Found::Other
        };
    }
    of_path_fd(active, fd);
    if errno(fd) == libc::ENOENT {
        Found::Absent
    } else {
        Found::Unreachable
    }
}

/// The watches that cover the folder `path`.
///
/// # Safety
///
/// `path` is null or a string that ends with a NUL.
pub(crate) unsafe fn of_folder(dir: c_int, path: *const c_char) -> Hits {
    let active = slot::active();
    if active == 0 {
        return Hits::NONE;
    }
    // SAFETY: the kernel checks the pointer.
    let fd = unsafe { sys!(SYS_openat, dir, path, PARENT) };
    of_path_fd(active, fd)
}

/// Whether a name is a folder's; a symbolic link is not.
///
/// # Safety
///
/// `path` is null or a string that ends with a NUL.
pub(crate) unsafe fn is_folder_at(dir: c_int, path: *const c_char) -> bool {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: there is room for what the kernel writes; zeroes are a valid `stat`.
    unsafe {
        sys!(
            SYS_newfstatat,
            dir,
            path,
            stat.as_mut_ptr(),
            libc::AT_SYMLINK_NOFOLLOW
        );
        stat.assume_init().st_mode & libc::S_IFMT == libc::S_IFDIR
    }
}

/// Whether a descriptor is a folder's.
pub(crate) fn is_folder(fd: c_int) -> bool {
    mode_of(fd) == libc::S_IFDIR
}

fn mode_of(fd: c_int) -> libc::mode_t {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: there is room for what the kernel writes; zeroes are a valid `stat`.
    unsafe {
        sys!(SYS_fstat, fd, stat.as_mut_ptr());
        stat.assume_init().st_mode & libc::S_IFMT
    }
}

/// The watches of a descriptor that was opened only to ask; closes it.
fn of_path_fd(active: u64, fd: isize) -> Hits {
    if failed(fd) {
        // The process is out of descriptors: the call may succeed all the same.
        if matches!(errno(fd), libc::EMFILE | libc::ENFILE | libc::ENOMEM) {
            Hits::among(active, |_| true).unresolved();
        }
        return Hits::NONE;
    }
    let hits = by_link(active, fd as c_int);
    // SAFETY: ours, and nobody else knows it.
    unsafe { sys!(SYS_close, fd) };
    hits
}

/// Asks `/proc` for a descriptor's path. Only as much of it is read as a
/// root can be long.
fn by_link(active: u64, fd: c_int) -> Hits {
    let link = Link::of(fd);
    let mut path = MaybeUninit::<[u8; ROOT_MAX + 1]>::uninit();
    let start: *mut u8 = path.as_mut_ptr().cast();
    // SAFETY: the link's name ends with a NUL; the buffer is as long as said.
    let len = unsafe {
        sys!(
            SYS_readlinkat,
            AT_FDCWD,
            link.0.as_ptr(),
            start,
            ROOT_MAX + 1
        )
    };
    if failed(len) {
        return Hits::NONE;
    }
    // SAFETY: the kernel wrote that many bytes.
    let path = unsafe { core::slice::from_raw_parts(start, len as usize) };
    Hits::among(active, |slot| slot.covers(path))
}

/// The name in `/proc` of a descriptor of this thread.
struct Link([u8; 40]);

impl Link {
    fn of(fd: c_int) -> Link {
        let mut name = [0; 40];
        if fd == AT_FDCWD {
            fill(&mut name, b"/proc/thread-self/cwd");
            return Link(name);
        }
        let end = fill(&mut name, b"/proc/thread-self/fd/");
        let mut digits = [b'0'; 10];
        let mut used = 0;
        let mut rest = fd.unsigned_abs();
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
            used += 1;
            if rest == 0 {
                break;
            }
        }
        let (_, digits) = digits.split_at_checked(10 - used).unwrap_or((&[], &[]));
        fill(name.get_mut(end..).unwrap_or(&mut []), digits);
        Link(name)
    }
}

fn fill(to: &mut [u8], from: &[u8]) -> usize {
    to.iter_mut()
        .zip(from)
        .map(|(to, from)| *to = *from)
        .count()
}
