//! The gate that every watched call goes through: a number, the stop, a count.

use std::sync::atomic::Ordering::SeqCst;

use crate::{
    Moment,
    interpose::{
        raw,
        tape::{self, Act},
    },
    kind::Kind,
    slot::{self, Slot},
};

/// The watches that a call concerns, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hits(u64);

impl Hits {
    pub(crate) const NONE: Hits = Hits(0);

    /// The active watches of this process for which `covered` holds.
    pub(crate) fn among(mask: u64, covered: impl Fn(&Slot) -> bool) -> Hits {
        let hits = slot::each(mask)
            .filter(|(_, slot)| covered(slot))
            .fold(0, |hits, (bit, _)| hits | bit);
        if hits == 0 {
            return Hits::NONE;
        }
        // A forked child has inherited the table, but the watches are not its own.
        let pid = raw::pid();
        let own = |slot: &Slot| slot.pid.load(SeqCst) == pid;
        Hits(
            slot::each(hits)
                .filter(|(_, slot)| own(slot))
                .fold(0, |own, (bit, _)| own | bit),
        )
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn and(self, other: Hits) -> Hits {
        Hits(self.0 | other.0)
    }

    /// Those that record as well, one bit each.
    pub(crate) fn recorders(self) -> u64 {
        self.0 & slot::recording()
    }

    /// Those that record as well.
    pub(crate) fn only_recorders(self) -> Hits {
        Hits(self.recorders())
    }

    pub(crate) fn has(self, bit: u64) -> bool {
        self.0 & bit != 0
    }

    fn slots(self) -> impl Iterator<Item = &'static Slot> {
        slot::each(self.0).map(|(_, slot)| slot)
    }

    /// Notes a call whose place could not be found out.
    pub(crate) fn unresolved(self) {
        self.slots().for_each(|slot| {
            slot.unresolved.fetch_add(1, SeqCst);
        });
    }

    /// Notes a writable shared mapping.
    pub(crate) fn mapped(self) {
        self.slots().for_each(|slot| {
            slot.maps.fetch_add(1, SeqCst);
        });
    }
}

/// Lets a call that is not a write through.
///
/// # Safety
///
/// The act's pointers are those that the call got; paths are null or end with a NUL.
#[inline]
pub(crate) unsafe fn pass(hits: Hits, kind: Kind, act: Act, call: impl FnOnce() -> isize) -> isize {
    if hits.is_empty() {
        call()
    } else {
        // SAFETY: as the caller's. Only a write is ever cut in half.
        unsafe { through(hits, kind, &act, || raw::error(libc::EIO), call) }
    }
}

/// Lets a write through; `half` writes the first half of its bytes.
///
/// # Safety
///
/// As [`pass`].
#[inline]
pub(crate) unsafe fn pass_write(
    hits: Hits,
    act: Act,
    half: impl FnOnce() -> isize,
    call: impl FnOnce() -> isize,
) -> isize {
    if hits.is_empty() {
        call()
    } else {
        // SAFETY: as the caller's.
        unsafe { through(hits, Kind::Write, &act, half, call) }
    }
}

unsafe fn through(
    hits: Hits,
    kind: Kind,
    act: &Act,
    half: impl FnOnce() -> isize,
    call: impl FnOnce() -> isize,
) -> isize {
    let mut stop = None;
    for slot in hits.slots() {
        let number = slot.calls.fetch_add(1, SeqCst).wrapping_add(1);
        let at = slot.stop.load(SeqCst);
        if at == 0 || number < at {
            continue;
        }
        if slot.stopping.swap(true, SeqCst) {
            raw::wait_for_ever();
        }
        stop = Some(slot.moment());
    }
    match stop {
        None => {}
        Some(Moment::Before) => raw::die(),
        Some(Moment::Half) => {
            if kind == Kind::Write {
                half();
            }
            raw::die()
        }
        Some(Moment::After) => {
            call();
            raw::die()
        }
    }
    let answer = match hits.recorders() {
        0 => call(),
        // SAFETY: as the caller's.
        mask => unsafe { tape::through(mask, act, half, call) },
    };
    for slot in hits.slots() {
        if raw::failed(answer) {
            slot.failed.fetch_add(1, SeqCst);
        } else {
            slot.count(kind, 1);
            if kind == Kind::Write {
                slot.bytes.fetch_add(answer as u64, SeqCst);
            }
        }
    }
    answer
}
