//! Where a call takes place: which watches cover a descriptor or a name.
//!
//! Nothing is remembered: `/proc` is asked at each call. A table of
//! descriptors would miss those that libc closes by itself (`closedir`,
//! `fclose`) and those that another process handed over; the kernel's doesn't.

use core::mem::MaybeUninit;
use libc::{AT_FDCWD, c_char, c_int};

use crate::{
    interpose::{
        gate::Hits,
        raw::{errno, failed, sys},
        stat::{Inode, Stat, split},
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
    let (parent, _) = unsafe { split(path) };
    if parent.is_empty() {
        return by_link(active, dir);
    }
    // SAFETY: the copy ends with a NUL.
    let fd = with_nul(parent, |path| unsafe {
        sys!(SYS_openat, dir, path, PARENT)
    });
    fd.map_or(Hits::NONE, |fd| of_path_fd(active, fd))
}

/// What the folder of a name is, and the name in it.
///
/// # Safety
///
/// `path` is null or a string that ends with a NUL and outlives the answer.
pub(crate) unsafe fn folder_of<'a>(dir: c_int, path: *const c_char) -> Option<(Inode, &'a [u8])> {
    if path.is_null() {
        return None;
    }
    // SAFETY: not null, so a string.
    let (parent, name) = unsafe { split(path) };
    let stat = if parent.is_empty() {
        Stat::of_fd(dir)
    } else {
        // SAFETY: the copy ends with a NUL.
        with_nul(parent, |path| unsafe { Stat::at(dir, path, 0) })?
    };
    Some((stat?.inode, name))
}

/// Hands over a copy of a path that ends with a NUL, unless it is too long for any call.
fn with_nul<R>(path: &[u8], work: impl FnOnce(*const c_char) -> R) -> Option<R> {
    let mut buffer = MaybeUninit::<[u8; PATH_MAX]>::uninit();
    if path.len() >= PATH_MAX {
        return None;
    }
    let start: *mut u8 = buffer.as_mut_ptr().cast();
    // SAFETY: the buffer has room for the path and a NUL.
    unsafe {
        start.copy_from_nonoverlapping(path.as_ptr(), path.len());
        start.add(path.len()).write(0);
    }
    Some(work(start.cast_const().cast()))
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
        let stat = Stat::of_fd(fd as c_int);
        let hits = of_path_fd(active, fd);
        return if stat.is_some_and(|stat| stat.is_file()) {
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

/// One more descriptor for an open file, to ask with only; negative if there is none.
pub(crate) fn reopen(fd: c_int) -> c_int {
    let (link, flags) = (Link::of(fd), libc::O_PATH | libc::O_CLOEXEC);
    // SAFETY: the link's name ends with a NUL.
    let ret = unsafe { sys!(SYS_openat, AT_FDCWD, link.0.as_ptr(), flags) };
    ret as c_int
}

/// Whether a name is a folder's; a symbolic link is not.
///
/// # Safety
///
/// `path` is null or a string that ends with a NUL.
pub(crate) unsafe fn is_folder_at(dir: c_int, path: *const c_char) -> bool {
    // SAFETY: as the caller's.
    unsafe { Stat::of_name(dir, path) }.is_some_and(|stat| stat.is_folder())
}

/// Whether a descriptor is a folder's.
pub(crate) fn is_folder(fd: c_int) -> bool {
    Stat::of_fd(fd).is_some_and(|stat| stat.is_folder())
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
