//! Changes of a file's size and of its room on the disk.

use libc::{AT_FDCWD, c_char, c_int, off_t};

use crate::{
    interpose::{
        gate::{self, Hits},
        place::{self, Found},
        raw::{answer, errno, failed, sys},
        tape::{Act, At},
    },
    kind::Kind,
    slot,
};

/// # Safety
///
/// As `ftruncate` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ftruncate(fd: c_int, len: off_t) -> c_int {
    // SAFETY: plain numbers.
    let call = || unsafe { sys!(SYS_ftruncate, fd, len) };
    let (hits, act) = (place::of_fd(fd), Act::Truncate { fd, len });
    // SAFETY: no pointers.
    answer(unsafe { gate::pass(hits, Kind::Truncate, act, call) }) as c_int
}

/// # Safety
///
/// As `ftruncate64` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ftruncate64(fd: c_int, len: off_t) -> c_int {
    // SAFETY: as the caller's.
    unsafe { ftruncate(fd, len) }
}

/// # Safety
///
/// As `truncate` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn truncate(path: *const c_char, len: off_t) -> c_int {
    let hits = match slot::active() {
        0 => Hits::NONE,
        // SAFETY: as the caller's.
        _ => match unsafe { place::of_path(AT_FDCWD, path, 0) } {
            Found::File(hits) => hits,
            _ => Hits::NONE,
        },
    };
    // SAFETY: as the caller's.
    let call = || unsafe { sys!(SYS_truncate, path, len) };
    let dir = AT_FDCWD;
    let act = Act::TruncateAt {
        at: At { dir, path },
        len,
    };
    // SAFETY: as the caller's.
    answer(unsafe { gate::pass(hits, Kind::Truncate, act, call) }) as c_int
}

/// # Safety
///
/// As `truncate64` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn truncate64(path: *const c_char, len: off_t) -> c_int {
    // SAFETY: as the caller's.
    unsafe { truncate(path, len) }
}

/// # Safety
///
/// As `fallocate` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fallocate(
    fd: c_int,
    mode: c_int,
    offset: off_t,
    len: off_t,
) -> c_int {
    answer(allocated(fd, mode, offset, len)) as c_int
}

/// # Safety
///
/// As `fallocate64` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fallocate64(
    fd: c_int,
    mode: c_int,
    offset: off_t,
    len: off_t,
) -> c_int {
    answer(allocated(fd, mode, offset, len)) as c_int
}

/// Answers with the error itself, not in `errno`. Where the file system can't
/// allocate, it fails as musl's does; glibc's would write zeroes.
///
/// # Safety
///
/// As `posix_fallocate` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn posix_fallocate(fd: c_int, offset: off_t, len: off_t) -> c_int {
    let ret = allocated(fd, 0, offset, len);
    if failed(ret) { errno(ret) } else { 0 }
}

/// # Safety
///
/// As `posix_fallocate64` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn posix_fallocate64(fd: c_int, offset: off_t, len: off_t) -> c_int {
    // SAFETY: as the caller's.
    unsafe { posix_fallocate(fd, offset, len) }
}

fn allocated(fd: c_int, mode: c_int, offset: off_t, len: off_t) -> isize {
    // SAFETY: plain numbers.
    let call = || unsafe { sys!(SYS_fallocate, fd, mode, offset, len) };
    let act = Act::Allocate {
        fd,
        mode,
        offset,
        len,
    };
    // SAFETY: no pointers.
    unsafe { gate::pass(place::of_fd(fd), Kind::Allocate, act, call) }
}
