//! Copies inside the kernel. To a watched file they are refused, with the
//! errors that make callers copy by reading and writing.

use core::ffi::c_void;
use libc::{c_int, c_uint, c_ulong, off_t, off64_t, size_t, ssize_t};

use crate::interpose::{
    place,
    raw::{answer, error, sys},
};

const FICLONE: u32 = 0x4004_9409;
const FICLONERANGE: u32 = 0x4020_940d;

/// # Safety
///
/// As `copy_file_range` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn copy_file_range(
    from: c_int,
    from_at: *mut off64_t,
    to: c_int,
    to_at: *mut off64_t,
    len: size_t,
    flags: c_uint,
) -> ssize_t {
    // SAFETY: as the caller's.
    let call = || unsafe { sys!(SYS_copy_file_range, from, from_at, to, to_at, len, flags) };
    refused(to, libc::EXDEV, call)
}

/// # Safety
///
/// As `sendfile` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sendfile(
    to: c_int,
    from: c_int,
    from_at: *mut off_t,
    len: size_t,
) -> ssize_t {
    // SAFETY: as the caller's.
    refused(to, libc::EINVAL, || unsafe {
        sys!(SYS_sendfile, to, from, from_at, len)
    })
}

/// # Safety
///
/// As `sendfile64` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sendfile64(
    to: c_int,
    from: c_int,
    from_at: *mut off64_t,
    len: size_t,
) -> ssize_t {
    // SAFETY: as the caller's.
    unsafe { sendfile(to, from, from_at, len) }
}

/// # Safety
///
/// As `splice` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn splice(
    from: c_int,
    from_at: *mut off64_t,
    to: c_int,
    to_at: *mut off64_t,
    len: size_t,
    flags: c_uint,
) -> ssize_t {
    // SAFETY: as the caller's.
    let call = || unsafe { sys!(SYS_splice, from, from_at, to, to_at, len, flags) };
    refused(to, libc::EINVAL, call)
}

/// # Safety
///
/// As `ioctl` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, arg: *mut c_void) -> c_int {
    // SAFETY: as the caller's.
    let call = || unsafe { sys!(SYS_ioctl, fd, request, arg) };
    // The kernel looks at 32 bits.
    match request as u32 {
        FICLONE | FICLONERANGE => refused(fd, libc::EOPNOTSUPP, call) as c_int,
        _ => answer(call()) as c_int,
    }
}

fn refused(to: c_int, errno: c_int, call: impl FnOnce() -> isize) -> isize {
    answer(if place::of_fd(to).is_empty() {
        call()
    } else {
        error(errno)
    })
}
