//! Writes.

use core::ffi::c_void;
use libc::{c_int, iovec, off_t, size_t, ssize_t};

use crate::interpose::{
    gate, place,
    raw::{answer, failed, sys},
    tape::{Act, Data},
};

/// # Safety
///
/// As `write` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn write(fd: c_int, bytes: *const c_void, len: size_t) -> ssize_t {
    // SAFETY: as the caller's.
    unsafe {
        answer(gate::pass_write(
            place::of_fd(fd),
            act(fd, Data::Flat(bytes, len), None, 0),
            || half_of(fd, bytes, len / 2, None),
            || sys!(SYS_write, fd, bytes, len),
        ))
    }
}

/// # Safety
///
/// As `pwrite` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pwrite(
    fd: c_int,
    bytes: *const c_void,
    len: size_t,
    offset: off_t,
) -> ssize_t {
    // SAFETY: as the caller's.
    unsafe {
        answer(gate::pass_write(
            place::of_fd(fd),
            act(fd, Data::Flat(bytes, len), Some(offset), 0),
            || half_of(fd, bytes, len / 2, Some(offset)),
            || sys!(SYS_pwrite64, fd, bytes, len, offset),
        ))
    }
}

/// # Safety
///
/// As `pwrite64` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pwrite64(
    fd: c_int,
    bytes: *const c_void,
    len: size_t,
    offset: off_t,
) -> ssize_t {
    // SAFETY: as the caller's.
    unsafe { pwrite(fd, bytes, len, offset) }
}

/// # Safety
///
/// As `writev` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: as the caller's.
    unsafe {
        answer(gate::pass_write(
            place::of_fd(fd),
            act(fd, Data::Parts(parts, count), None, 0),
            || half_of_parts(fd, parts, count, None),
            || sys!(SYS_writev, fd, parts, count),
        ))
    }
}

/// # Safety
///
/// As `pwritev` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pwritev(
    fd: c_int,
    parts: *const iovec,
    count: c_int,
    offset: off_t,
) -> ssize_t {
    // SAFETY: as the caller's.
    unsafe {
        answer(gate::pass_write(
            place::of_fd(fd),
            act(fd, Data::Parts(parts, count), Some(offset), 0),
            || half_of_parts(fd, parts, count, Some(offset)),
            || sys!(SYS_pwritev, fd, parts, count, offset),
        ))
    }
}

/// # Safety
///
/// As `pwritev64` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pwritev64(
    fd: c_int,
    parts: *const iovec,
    count: c_int,
    offset: off_t,
) -> ssize_t {
    // SAFETY: as the caller's.
    unsafe { pwritev(fd, parts, count, offset) }
}

/// # Safety
///
/// As `pwritev2` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pwritev2(
    fd: c_int,
    parts: *const iovec,
    count: c_int,
    offset: off_t,
    flags: c_int,
) -> ssize_t {
    let at = (offset != -1).then_some(offset);
    // SAFETY: as the caller's. The kernel takes the offset in two halves and,
    // on 64 bit, looks at the first only.
    unsafe {
        answer(gate::pass_write(
            place::of_fd(fd),
            act(fd, Data::Parts(parts, count), at, flags),
            || half_of_parts(fd, parts, count, at),
            || sys!(SYS_pwritev2, fd, parts, count, offset, 0, flags),
        ))
    }
}

/// # Safety
///
/// As `pwritev64v2` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pwritev64v2(
    fd: c_int,
    parts: *const iovec,
    count: c_int,
    offset: off_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: as the caller's.
    unsafe { pwritev2(fd, parts, count, offset, flags) }
}

fn act(fd: c_int, data: Data, offset: Option<off_t>, flags: c_int) -> Act {
    Act::Write {
        fd,
        data,
        offset,
        flags,
    }
}

/// Writes `len` bytes, in several calls if the kernel wants it so, and answers
/// how many they were; or with the error, if there were none.
unsafe fn half_of(fd: c_int, bytes: *const c_void, len: size_t, at: Option<off_t>) -> isize {
    let mut done = 0;
    while done < len {
        // SAFETY: `done` is less than the length of the caller's buffer.
        let wrote = unsafe {
            let rest = bytes.byte_add(done);
            match at {
                None => sys!(SYS_write, fd, rest, len - done),
                Some(at) => sys!(
                    SYS_pwrite64,
                    fd,
                    rest,
                    len - done,
                    at.wrapping_add(done as off_t)
                ),
            }
        };
        match wrote {
            wrote if failed(wrote) && done == 0 => return wrote,
            wrote if failed(wrote) || wrote == 0 => break,
            wrote => done += wrote as usize,
        }
    }
    done as isize
}

unsafe fn half_of_parts(
    fd: c_int,
    parts: *const iovec,
    count: c_int,
    mut at: Option<off_t>,
) -> isize {
    // SAFETY: the caller's list has `count` entries.
    let parts = unsafe { Data::Parts(parts, count).parts() };
    let mut left = parts
        .iter()
        .fold(0_usize, |sum, part| sum.saturating_add(part.iov_len))
        / 2;
    let mut done = 0;
    for part in parts {
        let len = left.min(part.iov_len);
        // SAFETY: not more than the part is long.
        let wrote = unsafe { half_of(fd, part.iov_base, len, at) };
        match wrote {
            wrote if failed(wrote) && done == 0 => return wrote,
            wrote if failed(wrote) => break,
            wrote => done += wrote,
        }
        if (wrote as usize) < len {
            break;
        }
        at = at.map(|at| at.wrapping_add(wrote as off_t));
        left -= len;
    }
    done
}
