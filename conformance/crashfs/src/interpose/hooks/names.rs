//! Changes of names: renames, links, folders.

use libc::{AT_FDCWD, AT_REMOVEDIR, c_char, c_int, c_uint, mode_t};

use crate::{
    interpose::{
        gate, place,
        raw::{answer, sys},
        tape::{Act, At},
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
        let (from_hits, to_hits) = (place::of_name(old_dir, old), place::of_name(new_dir, new));
        let act = Act::Rename {
            from: at(old_dir, old),
            from_hits,
            to: at(new_dir, new),
            to_hits,
            flags,
        };
        let call = || sys!(SYS_renameat2, old_dir, old, new_dir, new, flags);
        answer(gate::pass(from_hits.and(to_hits), Kind::Rename, act, call)) as c_int
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
        let (hits, act) = (place::of_name(new_dir, new), Act::Link(at(new_dir, new)));
        answer(gate::pass(hits, Kind::Link, act, call)) as c_int
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
        let act = Act::Symlink {
            target,
            at: at(dir, name),
        };
        answer(gate::pass(place::of_name(dir, name), Kind::Link, act, call)) as c_int
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
    let name = at(dir, path);
    let (kind, act) = if flags & AT_REMOVEDIR != 0 {
        (Kind::Rmdir, Act::Rmdir(name))
    } else {
        (Kind::Unlink, Act::Unlink(name))
    };
    // SAFETY: as the caller's.
    unsafe {
        let call = || sys!(SYS_unlinkat, dir, path, flags);
        answer(gate::pass(place::of_name(dir, path), kind, act, call)) as c_int
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
        let (hits, act) = (place::of_name(dir, path), Act::Mkdir(at(dir, path)));
        answer(gate::pass(hits, Kind::Mkdir, act, call)) as c_int
    }
}

fn at(dir: c_int, path: *const c_char) -> At {
    At { dir, path }
}
