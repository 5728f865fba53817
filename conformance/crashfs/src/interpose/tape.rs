//! How a call below the root of a recorder is let through: one at a time, with the fault that
//! is due, and written down with what it changed.

mod act;
mod decode;
mod event;
mod lock;
mod memory;
mod note;
mod run;
mod shadow;

pub(crate) use act::{Act, At, Data};
pub(crate) use run::{begin, end, finish, inject};
pub(crate) use shadow::{mapped, protected, remapped, unmapped};

use crate::{
    FaultKind,
    interpose::raw::{self, error, failed, sys},
};
use act::Facts;
use decode::decode;
use lock::Locked;
use memory::Memory;

/// Lets a call through; `half` writes the first half of a write's bytes. `mask` are the
/// recorders that it concerns.
///
/// # Safety
///
/// The act's pointers are those that its call got; paths are null or end with a NUL.
pub(crate) unsafe fn through(
    mask: u64,
    act: &Act,
    half: impl FnOnce() -> isize,
    call: impl FnOnce() -> isize,
) -> isize {
    let locked = Locked::all(mask);
    // SAFETY: as the caller's.
    let facts = unsafe { Facts::before(act) };
    if facts.foreign(act) {
        drop(locked);
        return call();
    }
    for (_, slot) in locked.running() {
        shadow::before(&slot.tape, act, &facts);
    }
    // SAFETY: as the caller's.
    let len = || unsafe { act.len() };
    let fault = facts.call.and_then(|call| {
        let due = locked
            .running()
            .map(|(_, slot)| slot.tape.faults.next(call, len));
        due.fold(None, Option::or)
    });
    let ret = match fault {
        None | Some(FaultKind::AppliedButError) => call(),
        Some(FaultKind::Eio) => error(libc::EIO),
        Some(FaultKind::Enospc) => error(libc::ENOSPC),
        Some(FaultKind::Eintr) => error(libc::EINTR),
        Some(FaultKind::ShortWrite) => half(),
    };
    for (bit, slot) in locked.running() {
        // SAFETY: as the caller's.
        unsafe { note::effect(bit, slot, act, &facts, ret) };
    }
    if fault != Some(FaultKind::AppliedButError) || failed(ret) {
        return ret;
    }
    for (_, slot) in locked.running() {
        note::failure(&slot.tape, &facts, libc::EIO);
    }
    if matches!(act, Act::Open { .. } | Act::OpenUnnamed) {
        // SAFETY: the descriptor is new, and nobody will learn of it.
        unsafe { sys!(SYS_close, ret) };
    }
    raw::error(libc::EIO)
}
