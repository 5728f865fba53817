//! Shared mappings, through which a file changes without a call.

use core::ffi::c_void;
use libc::{c_int, off_t, size_t};

use crate::interpose::{
    place,
    raw::{answer, failed, sys},
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
    let ret = unsafe { sys!(SYS_mmap, address, len, protection, flags, fd, offset) };
    let shared = flags & libc::MAP_SHARED != 0 && flags & libc::MAP_ANONYMOUS == 0;
    if !failed(ret) && shared && protection & libc::PROT_WRITE != 0 {
        place::of_fd(fd).mapped();
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
