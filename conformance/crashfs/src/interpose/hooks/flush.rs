//! Flushes.

use core::ffi::c_void;
use libc::{c_int, c_uint, off64_t, size_t};

use crate::{
    interpose::{
        gate, maps, place,
        raw::{self, answer, sys},
    },
    kind::Kind,
};

/// # Safety
///
/// As `fsync` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fsync(fd: c_int) -> c_int {
    // SAFETY: a plain number.
    answer(flushed(fd, Kind::Fsync, || unsafe { sys!(SYS_fsync, fd) })) as c_int
}

/// # Safety
///
/// As `fdatasync` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fdatasync(fd: c_int) -> c_int {
    // SAFETY: a plain number.
    answer(flushed(fd, Kind::Fdatasync, || unsafe {
        sys!(SYS_fdatasync, fd)
    })) as c_int
}

/// # Safety
///
/// As `sync_file_range` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sync_file_range(
    fd: c_int,
    offset: off64_t,
    len: off64_t,
    flags: c_uint,
) -> c_int {
    // SAFETY: plain numbers.
    let call = || unsafe {
        raw::call(
            raw::SYS_SYNC_FILE_RANGE,
            [fd as usize, offset as usize, len as usize, flags as usize],
        )
    };
    answer(gate::pass(place::of_fd(fd), Kind::RangeFlush, call)) as c_int
}

/// # Safety
///
/// As `syncfs` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn syncfs(fd: c_int) -> c_int {
    // SAFETY: a plain number.
    let call = || unsafe { sys!(SYS_syncfs, fd) };
    answer(gate::pass(place::of_fd(fd), Kind::SystemFlush, call)) as c_int
}

/// # Safety
///
/// As `sync` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sync() {
    // SAFETY: takes no arguments.
    gate::pass(place::everywhere(), Kind::SystemFlush, || unsafe {
        sys!(SYS_sync)
    });
}

/// # Safety
///
/// As `msync` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn msync(address: *mut c_void, len: size_t, flags: c_int) -> c_int {
    // SAFETY: the kernel checks the range.
    let call = || unsafe { sys!(SYS_msync, address, len, flags) };
    answer(gate::pass(
        maps::of_address(address.addr()),
        Kind::MapFlush,
        call,
    )) as c_int
}

fn flushed(fd: c_int, kind: Kind, call: impl FnOnce() -> isize) -> isize {
    let hits = place::of_fd(fd);
    let folder = !hits.is_empty() && place::is_folder(fd);
    gate::pass(hits, if folder { Kind::FolderFlush } else { kind }, call)
}
