//! libc's `syscall`, by which code reaches calls that libc has no name for,
//! and std what an old libc may not have.

use libc::{c_int, c_long, c_uint, mode_t, open_how, size_t};

use super::{copy, flush, map, names, open, size, write};
use crate::{
    interpose::raw::{self, answer, error},
    slot,
};

/// Sends a call that has a hook through it, refuses `io_uring` and Linux AIO
/// while a watch is open, and forwards the rest.
///
/// # Safety
///
/// As `syscall` of libc. The arguments that the caller left out are read from
/// their registers, and the sixth from the caller's stack, where they are
/// whatever was there; the kernel doesn't look at them.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let args = [a, b, c, d, e, f];
    if slot::active() == 0 {
        // SAFETY: as the caller's.
        return answer(unsafe { raw::call(number, args) }) as c_long;
    }
    // SAFETY: as the caller's.
    unsafe {
        files(number, args)
            .or_else(|| named(number, args))
            .unwrap_or_else(|| answer(raw::call(number, args)) as c_long)
    }
}

unsafe fn files(number: c_long, [a, b, c, d, e, f]: [usize; 6]) -> Option<c_long> {
    let fd = a as c_int;
    // SAFETY: as the caller's; each takes its arguments as the kernel would.
    let ret = unsafe {
        match number {
            libc::SYS_openat => open::openat(fd, b as _, c as c_int, d as mode_t) as c_long,
            libc::SYS_openat2 => openat2(a, b, c, d),
            libc::SYS_write => write::write(fd, b as _, c) as c_long,
            libc::SYS_pwrite64 => write::pwrite(fd, b as _, c, d as _) as c_long,
            libc::SYS_writev => write::writev(fd, b as _, c as c_int) as c_long,
            libc::SYS_pwritev => write::pwritev(fd, b as _, c as c_int, d as _) as c_long,
            libc::SYS_pwritev2 => {
                write::pwritev2(fd, b as _, c as c_int, d as _, f as c_int) as c_long
            }
            libc::SYS_fsync => flush::fsync(fd) as c_long,
            libc::SYS_fdatasync => flush::fdatasync(fd) as c_long,
            libc::SYS_syncfs => flush::syncfs(fd) as c_long,
            raw::SYS_SYNC_FILE_RANGE => {
                flush::sync_file_range(fd, b as _, c as _, d as c_uint) as c_long
            }
            libc::SYS_sync => {
                flush::sync();
                0
            }
            libc::SYS_msync => flush::msync(a as _, b, c as c_int) as c_long,
            libc::SYS_ftruncate => size::ftruncate(fd, b as _) as c_long,
            libc::SYS_truncate => size::truncate(a as _, b as _) as c_long,
            libc::SYS_fallocate => size::fallocate(fd, b as c_int, c as _, d as _) as c_long,
            libc::SYS_copy_file_range => {
                copy::copy_file_range(fd, b as _, c as c_int, d as _, e, f as c_uint) as c_long
            }
            libc::SYS_sendfile => copy::sendfile(fd, b as c_int, c as _, d as size_t) as c_long,
            libc::SYS_splice => {
                copy::splice(fd, b as _, c as c_int, d as _, e, f as c_uint) as c_long
            }
            libc::SYS_ioctl => copy::ioctl(fd, b as _, c as _) as c_long,
            libc::SYS_mmap => {
                map::mmap(a as _, b, c as c_int, d as c_int, e as c_int, f as _).addr() as c_long
            }
            libc::SYS_munmap => map::munmap(a as _, b) as c_long,
            libc::SYS_mremap => map::mremap(a as _, b, c, d as c_int, e as _).addr() as c_long,
            libc::SYS_mprotect => map::mprotect(a as _, b, c as c_int) as c_long,
            libc::SYS_io_uring_setup | libc::SYS_io_setup => answer(error(libc::ENOSYS)) as c_long,
            _ => return None,
        }
    };
    Some(ret)
}

unsafe fn named(number: c_long, [a, b, c, d, e, _]: [usize; 6]) -> Option<c_long> {
    // SAFETY: as the caller's; each takes its arguments as the kernel would.
    let ret = unsafe {
        match number {
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => open::open(a as _, b as c_int, c as mode_t),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_creat => open::creat(a as _, b as mode_t),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_rename => names::rename(a as _, b as _),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_link => names::link(a as _, b as _),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_symlink => names::symlink(a as _, b as _),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_unlink => names::unlink(a as _),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_rmdir => names::rmdir(a as _),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mkdir => names::mkdir(a as _, b as mode_t),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_renameat => names::renameat(a as c_int, b as _, c as c_int, d as _),
            libc::SYS_renameat2 => {
                names::renameat2(a as c_int, b as _, c as c_int, d as _, e as c_uint)
            }
            libc::SYS_linkat => names::linkat(a as c_int, b as _, c as c_int, d as _, e as c_int),
            libc::SYS_symlinkat => names::symlinkat(a as _, b as c_int, c as _),
            libc::SYS_unlinkat => names::unlinkat(a as c_int, b as _, c as c_int),
            libc::SYS_mkdirat => names::mkdirat(a as c_int, b as _, c as mode_t),
            _ => return None,
        }
    };
    Some(c_long::from(ret))
}

unsafe fn openat2(dir: usize, path: usize, how: usize, size: usize) -> c_long {
    let call = || {
        // SAFETY: as the caller's.
        unsafe { raw::call(libc::SYS_openat2, [dir, path, how, size]) }
    };
    let how: *const open_how = core::ptr::with_exposed_provenance(how);
    if how.is_null() || size < size_of::<open_how>() {
        return answer(call()) as c_long;
    }
    // SAFETY: the caller's struct is at least that long, and the kernel reads it too.
    let flags = unsafe { (*how).flags } as c_int;
    // SAFETY: as the caller's.
    let ret = unsafe { open::opened(dir as c_int, path as _, flags, call) };
    answer(ret) as c_long
}
