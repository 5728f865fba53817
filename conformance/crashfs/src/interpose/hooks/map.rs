//! Shared mappings, through which a file changes without a call.

use core::ffi::c_void;
use libc::{c_int, off_t, size_t};

use crate::{
    interpose::{
        place,
        raw::{answer, failed, sys},
        tape,
    },
    slot,
};

/// # Safety
///
/// As `mmap` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mmap(
    address: *mut c_void,
    len: size_t,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: as the caller's.
    let call = || unsafe { sys!(SYS_mmap, address, len, protection, flags, fd, offset) };
    let replaces = flags & libc::MAP_FIXED != 0;
    let ret = if replaces && slot::recording() != 0 {
        tape::unmapped(address.addr(), len, call)
    } else {
        call()
    };
    let shared = flags & libc::MAP_SHARED != 0 && flags & libc::MAP_ANONYMOUS == 0;
    if !failed(ret) && shared && slot::active() != 0 {
        let writable = protection & libc::PROT_WRITE != 0;
        if writable {
            place::of_fd(fd).mapped();
        }
        if slot::recording() != 0 {
            tape::mapped(fd, ret as usize, len, offset as u64, writable);
        }
    }
    core::ptr::with_exposed_provenance_mut(answer(ret) as usize)
}

/// # Safety
///
/// As `mmap64` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mmap64(
    address: *mut c_void,
    len: size_t,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: as the caller's.
    unsafe { mmap(address, len, protection, flags, fd, offset) }
}

/// # Safety
///
/// As `munmap` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn munmap(address: *mut c_void, len: size_t) -> c_int {
    // SAFETY: as the caller's.
    let call = || unsafe { sys!(SYS_munmap, address, len) };
    let ret = if slot::recording() == 0 {
        call()
    } else {
        tape::unmapped(address.addr(), len, call)
    };
    answer(ret) as c_int
}

/// # Safety
///
/// As `mremap` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mremap(
    address: *mut c_void,
    old_len: size_t,
    new_len: size_t,
    flags: c_int,
    new_address: *mut c_void,
) -> *mut c_void {
    // SAFETY: as the caller's.
    let call = || unsafe { sys!(SYS_mremap, address, old_len, new_len, flags, new_address) };
    let ret = if slot::recording() == 0 {
        call()
    } else {
        tape::remapped(address.addr(), old_len, new_len, call)
    };
    core::ptr::with_exposed_provenance_mut(answer(ret) as usize)
}

/// # Safety
///
/// As `mprotect` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mprotect(
    address: *mut c_void,
    len: size_t,
    protection: c_int,
) -> c_int {
    if slot::recording() != 0 && protection & libc::PROT_WRITE != 0 {
        tape::protected(address.addr(), len);
    }
    // SAFETY: as the caller's.
    answer(unsafe { sys!(SYS_mprotect, address, len, protection) }) as c_int
}
