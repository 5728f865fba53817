//! Files that come into being or lose their contents by being opened.

use libc::{AT_FDCWD, c_char, c_int, mode_t};

use crate::{
    interpose::{
        gate::{self, Hits},
        place::{self, Found},
        raw::{answer, sys},
        tape::{Act, At},
    },
    kind::Kind,
    slot,
};

/// # Safety
///
/// As `open` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: as the caller's.
    unsafe { openat(AT_FDCWD, path, flags, mode) }
}

/// # Safety
///
/// As `open64` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: as the caller's.
    unsafe { openat(AT_FDCWD, path, flags | libc::O_LARGEFILE, mode) }
}

/// # Safety
///
/// As `openat` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn openat(
    dir: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    // The kernel refuses nothing here, but a register that nobody set is no mode.
    let makes = flags & libc::O_CREAT != 0 || flags & libc::O_TMPFILE == libc::O_TMPFILE;
    let mode = if makes { mode } else { 0 };
    // SAFETY: as the caller's.
    unsafe {
        let call = || sys!(SYS_openat, dir, path, flags, mode);
        answer(opened(dir, path, flags, call)) as c_int
    }
}

/// # Safety
///
/// As `openat64` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn openat64(
    dir: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    // SAFETY: as the caller's.
    unsafe { openat(dir, path, flags | libc::O_LARGEFILE, mode) }
}

/// # Safety
///
/// As `creat` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn creat(path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: as the caller's.
    unsafe {
        openat(
            AT_FDCWD,
            path,
            libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC,
            mode,
        )
    }
}

/// # Safety
///
/// As `creat64` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn creat64(path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: as the caller's.
    unsafe { creat(path, mode) }
}

/// What a C compiler that checks calls makes of `open` with two arguments.
///
/// # Safety
///
/// As `open` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __open_2(path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: as the caller's.
    unsafe { openat(AT_FDCWD, path, flags, 0) }
}

/// # Safety
///
/// As `open64` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __open64_2(path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: as the caller's.
    unsafe { open64(path, flags, 0) }
}

/// # Safety
///
/// As `openat` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __openat_2(dir: c_int, path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: as the caller's.
    unsafe { openat(dir, path, flags, 0) }
}

/// # Safety
///
/// As `openat64` of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __openat64_2(
    dir: c_int,
    path: *const c_char,
    flags: c_int,
) -> c_int {
    // SAFETY: as the caller's.
    unsafe { openat64(dir, path, flags, 0) }
}

/// Finds out what opening does before it does it, and lets it through.
///
/// # Safety
///
/// `path` is null or a string that ends with a NUL.
pub(super) unsafe fn opened(
    dir: c_int,
    path: *const c_char,
    flags: c_int,
    call: impl FnOnce() -> isize,
) -> isize {
    let unnamed = flags & libc::O_TMPFILE == libc::O_TMPFILE;
    let changes = unnamed || flags & (libc::O_CREAT | libc::O_TRUNC) != 0;
    if slot::active() == 0 || !changes || flags & libc::O_PATH != 0 {
        return call();
    }
    let act = if unnamed {
        Act::OpenUnnamed
    } else {
        let at = At { dir, path };
        Act::Open { at, flags }
    };
    // SAFETY: as the caller's.
    unsafe {
        let (hits, kind) = effect(dir, path, flags, unnamed);
        gate::pass(hits, kind, act, call)
    }
}

unsafe fn effect(dir: c_int, path: *const c_char, flags: c_int, unnamed: bool) -> (Hits, Kind) {
    let creates = flags & libc::O_CREAT != 0;
    let truncates = flags & libc::O_TRUNC != 0;
    let fails = creates && flags & libc::O_EXCL != 0;
    // SAFETY: as the caller's.
    unsafe {
        if unnamed {
            return (place::of_folder(dir, path), Kind::Create);
        }
        match place::of_path(dir, path, flags) {
            Found::File(hits) if truncates && !fails => (hits, Kind::Truncate),
            Found::Absent if creates => (place::of_name(dir, path), Kind::Create),
            // A recorder looks again once it is this call's turn: the file may be gone by then.
            Found::File(_) if creates && slot::recording() != 0 => {
                (place::of_name(dir, path).only_recorders(), Kind::Create)
            }
            _ => (Hits::NONE, Kind::Create),
        }
    }
}
