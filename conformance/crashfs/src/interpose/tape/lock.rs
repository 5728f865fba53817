//! The lock of a tape: a futex, with the thread's signals held back while it is held.
//!
//! A signal handler that writes below the root would otherwise wait for its own thread. A
//! forked child never comes here: its calls concern no watch.

use core::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

use crate::{
    interpose::raw::sys,
    slot::{self, Slot},
};

const WAIT: i32 = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
const WAKE: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;

/// The tapes of some watches, locked.
pub(crate) struct Locked {
    mask: u64,
    signals: u64,
}

impl Locked {
    /// Locks the tapes of the watches in `mask`, always in the same order.
    pub(crate) fn all(mask: u64) -> Locked {
        let signals = hold_back(u64::MAX);
        for (_, slot) in slot::each(mask) {
            lock(&slot.tape.lock);
        }
        Locked { mask, signals }
    }

    /// The watches whose tapes still run.
    pub(crate) fn running(&self) -> impl Iterator<Item = (u64, &'static Slot)> {
        slot::each(self.mask).filter(|(_, slot)| slot.tape.runs())
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        for (_, slot) in slot::each(self.mask) {
            unlock(&slot.tape.lock);
        }
        hold_back(self.signals);
    }
}

fn lock(word: &AtomicU32) {
    for _ in 0..100 {
        if word.compare_exchange(0, 1, Acquire, Relaxed).is_ok() {
            return;
        }
        core::hint::spin_loop();
    }
    while word.swap(2, Acquire) != 0 {
        // SAFETY: the word is a static; no timeout.
        unsafe { sys!(SYS_futex, word.as_ptr(), WAIT, 2, 0, 0, 0) };
    }
}

fn unlock(word: &AtomicU32) {
    if word.swap(0, Release) == 2 {
        // SAFETY: the word is a static.
        unsafe { sys!(SYS_futex, word.as_ptr(), WAKE, 1, 0, 0, 0) };
    }
}

/// Sets which signals this thread holds back; the answer is what it was.
fn hold_back(mask: u64) -> u64 {
    let mut old = 0_u64;
    // SAFETY: the kernel's set of signals has 64 bits.
    unsafe {
        sys!(
            SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const mask,
            &raw mut old,
            size_of::<u64>()
        )
    };
    old
}
