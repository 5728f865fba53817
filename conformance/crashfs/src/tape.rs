//! What the hooks keep of a recorder: where its record is in memory, and its fault.
//!
//! As in the table of watches, everything is an atomic in a static; it changes under the
//! tape's own lock only, which works without libc (see `interpose::tape`).

use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

use crate::{Call, Fault, FaultKind};

/// The record of one recorder, as the hooks see it.
pub(crate) struct Tape {
    /// 0 free, 1 locked, 2 locked with somebody waiting.
    pub(crate) lock: AtomicU32,
    /// The memory of the record; null when nothing is recorded.
    pub(crate) base: AtomicPtr<u8>,
    pub(crate) room: AtomicUsize,
    pub(crate) used: AtomicUsize,
    pub(crate) ops: AtomicUsize,
    /// How many shared mappings are looked after.
    pub(crate) maps: AtomicUsize,
    broken: AtomicU8,
    pub(crate) faults: Faults,
}

/// Why a record can't be complete, as the hooks find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Broken {
    Room = 1,
    Identity,
    MovedIn,
    MovedOut,
    Whiteout,
    Allocation,
    Maps,
}

impl Broken {
    const ALL: [Broken; 7] = [
        Broken::Room,
        Broken::Identity,
        Broken::MovedIn,
        Broken::MovedOut,
        Broken::Whiteout,
        Broken::Allocation,
        Broken::Maps,
    ];

    pub(crate) fn reason(self) -> &'static str {
        match self {
            Broken::Room => "no room is left for the record",
            Broken::Identity => {
                "a call succeeded, but which file it changed could not be found out \
                 (no file descriptor left, or the name changed from outside)"
            }
            Broken::MovedIn => "something was renamed into the root from outside",
            Broken::MovedOut => "a folder was renamed to a place outside the root",
            Broken::Whiteout => "a rename left a whiteout behind",
            Broken::Allocation => {
                "an unknown mode of fallocate, or a collapse or insert under a mapping"
            }
            Broken::Maps => {
                "a shared mapping could not be looked after (too many, cut in two, no memory \
                 or no file descriptor left)"
            }
        }
    }
}

impl Tape {
    pub(crate) const fn new() -> Tape {
        Tape {
            lock: AtomicU32::new(0),
            base: AtomicPtr::new(std::ptr::null_mut()),
            room: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
            ops: AtomicUsize::new(0),
            maps: AtomicUsize::new(0),
            broken: AtomicU8::new(0),
            faults: Faults::new(),
        }
    }

    /// Begins a record in new, zeroed memory, of which the first `used` bytes are taken.
    pub(crate) fn begin(&self, base: *mut u8, room: usize, used: usize) {
        self.room.store(room, Relaxed);
        self.used.store(used, Relaxed);
        self.ops.store(0, Relaxed);
        self.maps.store(0, Relaxed);
        self.broken.store(0, Relaxed);
        self.faults.heal();
        self.base.store(base, Release);
    }

    pub(crate) fn runs(&self) -> bool {
        !self.base.load(Acquire).is_null()
    }

    /// Notes why the record is not complete; the first reason stays.
    pub(crate) fn breaks(&self, why: Broken) {
        self.broken
            .compare_exchange(0, why as u8, Relaxed, Relaxed)
            .ok();
    }

    pub(crate) fn broken(&self) -> Option<Broken> {
        let code = self.broken.load(Relaxed);
        Broken::ALL.into_iter().find(|why| *why as u8 == code)
    }
}

/// The faults of a recorder and what became of them.
pub(crate) struct Faults {
    first: Armed,
    /// Counts from behind the first one's first strike.
    second: Armed,
}

impl Faults {
    const fn new() -> Faults {
        Faults {
            first: Armed::new(),
            second: Armed::new(),
        }
    }

    pub(crate) fn set(&self, fault: Fault) {
        self.second.heal();
        self.second.forget();
        self.first.set(fault);
    }

    pub(crate) fn set_second(&self, fault: Fault) {
        self.second.set(fault);
    }

    pub(crate) fn heal(&self) {
        self.first.heal();
        self.second.heal();
    }

    pub(crate) fn hits(&self) -> u64 {
        self.first.hits() + self.second.hits()
    }

    /// What this call is to suffer. `len` is the length of a write.
    pub(crate) fn next(&self, call: Call, len: impl Fn() -> usize) -> Option<FaultKind> {
        let struck = self.first.hits() > 0;
        let first = self.first.next(call, &len);
        let second = struck.then(|| self.second.next(call, &len)).flatten();
        first.or(second)
    }
}

/// One fault.
struct Armed {
    kind: AtomicU8,
    at: AtomicU64,
    lasting: AtomicBool,
    seen: AtomicU64,
    hits: AtomicU64,
}

impl Armed {
    const fn new() -> Armed {
        Armed {
            kind: AtomicU8::new(0),
            at: AtomicU64::new(0),
            lasting: AtomicBool::new(false),
            seen: AtomicU64::new(0),
            hits: AtomicU64::new(0),
        }
    }

    fn set(&self, fault: Fault) {
        self.kind.store(fault.kind as u8, Relaxed);
        self.at.store(fault.at, Relaxed);
        self.lasting.store(fault.lasting, Relaxed);
        self.forget();
    }

    fn forget(&self) {
        self.seen.store(0, Relaxed);
        self.hits.store(0, Relaxed);
    }

    fn heal(&self) {
        self.at.store(0, Relaxed);
    }

    fn hits(&self) -> u64 {
        self.hits.load(Relaxed)
    }

    /// What this call is to suffer. `len` is the length of a write.
    fn next(&self, call: Call, len: impl Fn() -> usize) -> Option<FaultKind> {
        let at = self.at.load(Relaxed);
        if at == 0 {
            return None;
        }
        let code = self.kind.load(Relaxed);
        let kind = FaultKind::ALL.into_iter().find(|k| *k as u8 == code)?;
        let fits = kind != FaultKind::ShortWrite || len() >= 2;
        if !kind.strikes(call) || !fits {
            return None;
        }
        let seen = self.seen.fetch_add(1, Relaxed) + 1;
        let after = seen.checked_sub(at)?;
        let strikes = match (self.lasting.load(Relaxed), kind) {
            (false, _) => after == 0,
            (true, FaultKind::Eintr) => after % 2 == 0,
            (true, _) => true,
        };
        strikes.then(|| {
            self.hits.fetch_add(1, Relaxed);
            kind
        })
    }
}
