//! Changes of names: renames, links, folders.

use libc::{AT_FDCWD, AT_REMOVEDIR, c_char, c_int, c_uint, mode_t};

use crate::{
    interpose::{
        gate, place,
        raw::{answer, sys},
    },
    kind::Kind,
};

/// # Safety
///
/// As `rename` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn rename(old: *const c_char, new: *const c_char) -> c_int {
    // SAFETY: as the caller's.
    unsafe { renameat2(AT_FDCWD, old, AT_FDCWD, new, 0) }
}

/// # Safety
///
/// As `renameat` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn renameat(
    old_dir: c_int,
    old: *const c_char,
    new_dir: c_int,
    new: *const c_char,
) -> c_int {
    // SAFETY: as the caller's.
    unsafe { renameat2(old_dir, old, new_dir, new, 0) }
}

/// # Safety
///
/// As `renameat2` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn renameat2(
    old_dir: c_int,
    old: *const c_char,
    new_dir: c_int,
    new: *const c_char,
    flags: c_uint,
) -> c_int {
    // SAFETY: as the caller's.
    unsafe {
        let hits = place::of_name(old_dir, old).and(place::of_name(new_dir, new));
        let call = || sys!(SYS_renameat2, old_dir, old, new_dir, new, flags);
        answer(gate::pass(hits, Kind::Rename, call)) as c_int
    }
}

/// # Safety
///
/// As `link` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn link(old: *const c_char, new: *const c_char) -> c_int {
    // SAFETY: as the caller's.
    unsafe { linkat(AT_FDCWD, old, AT_FDCWD, new, 0) }
}

/// # Safety
///
/// As `linkat` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn linkat(
    old_dir: c_int,
    old: *const c_char,
    new_dir: c_int,
    new: *const c_char,
    flags: c_int,
) -> c_int {
    // SAFETY: as the caller's.
    unsafe {
        let call = || sys!(SYS_linkat, old_dir, old, new_dir, new, flags);
        answer(gate::pass(place::of_name(new_dir, new), Kind::Link, call)) as c_int
    }
}

/// # Safety
///
/// As `symlink` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn symlink(target: *const c_char, name: *const c_char) -> c_int {
    // SAFETY: as the caller's.
    unsafe { symlinkat(target, AT_FDCWD, name) }
}

/// # Safety
///
/// As `symlinkat` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn symlinkat(
    target: *const c_char,
    dir: c_int,
    name: *const c_char,
) -> c_int {
    // SAFETY: as the caller's.
    unsafe {
        let call = || sys!(SYS_symlinkat, target, dir, name);
        answer(gate::pass(place::of_name(dir, name), Kind::Link, call)) as c_int
    }
}

/// # Safety
///
/// As `unlink` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: as the caller's.
    unsafe { unlinkat(AT_FDCWD, path, 0) }
}

/// # Safety
///
/// As `unlinkat` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn unlinkat(dir: c_int, path: *const c_char, flags: c_int) -> c_int {
    let kind = if flags & AT_REMOVEDIR != 0 {
        Kind::Rmdir
    } else {
        Kind::Unlink
    };
    // SAFETY: as the caller's.
    unsafe {
        let call = || sys!(SYS_unlinkat, dir, path, flags);
        answer(gate::pass(place::of_name(dir, path), kind, call)) as c_int
    }
}

/// # Safety
///
/// As `rmdir` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn rmdir(path: *const c_char) -> c_int {
    // SAFETY: as the caller's.
    unsafe { unlinkat(AT_FDCWD, path, AT_REMOVEDIR) }
}

/// # Safety
///
/// As `remove` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn remove(path: *const c_char) -> c_int {
    // SAFETY: as the caller's.
    let folder = unsafe { place::is_folder_at(AT_FDCWD, path) };
    // SAFETY: as the caller's.
    unsafe { if folder { rmdir(path) } else { unlink(path) } }
}

/// # Safety
///
/// As `mkdir` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mkdir(path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: as the caller's.
    unsafe { mkdirat(AT_FDCWD, path, mode) }
}

/// # Safety
///
/// As `mkdirat` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mkdirat(dir: c_int, path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: as the caller's.
    unsafe {
        let call = || sys!(SYS_mkdirat, dir, path, mode);
        answer(gate::pass(place::of_name(dir, path), Kind::Mkdir, call)) as c_int
    }
}
