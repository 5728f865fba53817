//! Flushes.

use core::ffi::c_void;
use libc::{c_int, c_uint, off64_t, size_t};

use crate::{
    interpose::{
        gate, maps, place,
        raw::{self, answer, sys},
        tape::Act,
    },
    kind::Kind,
};

/// # Safety
///
/// As `fsync` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fsync(fd: c_int) -> c_int {
    // SAFETY: a plain number.
    let call = || unsafe { sys!(SYS_fsync, fd) };
    flushed(fd, Kind::Fsync, call)
}

/// # Safety
///
/// As `fdatasync` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fdatasync(fd: c_int) -> c_int {
    // SAFETY: a plain number.
    let call = || unsafe { sys!(SYS_fdatasync, fd) };
    flushed(fd, Kind::Fdatasync, call)
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
    let act = Act::FlushRange { fd };
    // SAFETY: no pointers.
    answer(unsafe { gate::pass(place::of_fd(fd), Kind::RangeFlush, act, call) }) as c_int
}

/// # Safety
///
/// As `syncfs` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn syncfs(fd: c_int) -> c_int {
    // SAFETY: a plain number.
    let call = || unsafe { sys!(SYS_syncfs, fd) };
    let (hits, act) = (place::of_fd(fd), Act::FlushSystem);
    // SAFETY: no pointers.
    answer(unsafe { gate::pass(hits, Kind::SystemFlush, act, call) }) as c_int
}

/// # Safety
///
/// As `sync` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sync() {
    // SAFETY: takes no arguments.
    unsafe {
        let (hits, call) = (place::everywhere(), || sys!(SYS_sync));
        gate::pass(hits, Kind::SystemFlush, Act::FlushAll, call);
    }
}

/// # Safety
///
/// As `msync` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn msync(address: *mut c_void, len: size_t, flags: c_int) -> c_int {
    let hits = maps::of_address(address.addr());
    let act = Act::FlushMap {
        address: address.addr(),
        len,
        flags,
    };
    // SAFETY: the kernel checks the range.
    let call = || unsafe { sys!(SYS_msync, address, len, flags) };
    // SAFETY: the address is never looked at.
    answer(unsafe { gate::pass(hits, Kind::MapFlush, act, call) }) as c_int
}

fn flushed(fd: c_int, kind: Kind, call: impl FnOnce() -> isize) -> c_int {
    let hits = place::of_fd(fd);
    let folder = !hits.is_empty() && place::is_folder(fd);
    let act = Act::Flush {
        fd,
        data_only: kind == Kind::Fdatasync,
    };
    let kind = if folder { Kind::FolderFlush } else { kind };
    // SAFETY: no pointers.
    answer(unsafe { gate::pass(hits, kind, act, call) }) as c_int
}
