//! The fixed table of watches that the hooks look at.
//!
//! Everything is an atomic in a static: usable before `main`, in a signal
//! handler and in a child between `fork` and `exec`, with no lock to be left
//! locked and nothing to allocate.

use std::sync::atomic::{
    AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
};

use crate::{Counts, Moment, kind::Kind, tape::Tape};

/// The longest path of a root, in bytes.
pub(crate) const ROOT_MAX: usize = 1023;

/// How many watches can be open at once: one bit each.
pub(crate) const WATCHES: usize = 64;

static SLOTS: [Slot; WATCHES] = [const { Slot::new() }; WATCHES];
/// Watches that the hooks look at.
static ACTIVE: AtomicU64 = AtomicU64::new(0);
/// Watches that record as well.
static RECORDING: AtomicU64 = AtomicU64::new(0);
/// Slots that belong to a watch, active or being prepared.
static TAKEN: AtomicU64 = AtomicU64::new(0);
/// Slots are used in turn, so that one is not used again while a call of
/// another thread may still be on its way to the old watch's counters.
static TURN: AtomicUsize = AtomicUsize::new(0);

/// One watch's root and counters.
pub(crate) struct Slot {
    pub(crate) pid: AtomicU32,
    root_len: AtomicUsize,
    root: [AtomicU8; ROOT_MAX],
    /// Numbers given out so far.
    pub(crate) calls: AtomicU64,
    /// The number to stop at; 0 stops at nothing.
    pub(crate) stop: AtomicU64,
    moment: AtomicU8,
    /// Set by the one thread that carries the stop out.
    pub(crate) stopping: AtomicBool,
    kinds: [AtomicU64; Kind::COUNT],
    pub(crate) bytes: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) maps: AtomicU64,
    pub(crate) unresolved: AtomicU64,
    pub(crate) tape: Tape,
}

/// The active watches, one bit each.
pub(crate) fn active() -> u64 {
    ACTIVE.load(Acquire)
}

/// The watches that record as well, one bit each.
pub(crate) fn recording() -> u64 {
    RECORDING.load(Acquire)
}

/// Lets the hooks record for a watch whose tape runs.
pub(crate) fn record(bit: u64) {
    RECORDING.fetch_or(bit, Release);
}

/// The slots of the watches in `mask`, in one order for all.
pub(crate) fn each(mut mask: u64) -> impl Iterator<Item = (u64, &'static Slot)> {
    std::iter::from_fn(move || {
        let bit = mask & mask.wrapping_neg();
        mask ^= bit;
        let slot = SLOTS.get(bit.checked_ilog2()? as usize)?;
        Some((bit, slot))
    })
}

/// Takes a free slot for `root`, an absolute path without a slash at its end
/// (so `/` is empty), and lets the hooks see it. `None`: all are taken.
pub(crate) fn open(root: &[u8]) -> Option<(u64, &'static Slot)> {
    let first = TURN.fetch_add(1, Relaxed);
    let (bit, slot) = (0..WATCHES).find_map(|i| {
        let i = first.wrapping_add(i) % WATCHES;
        let bit = 1_u64 << i;
        let free = TAKEN.fetch_or(bit, AcqRel) & bit == 0;
        free.then(|| SLOTS.get(i).map(|slot| (bit, slot))).flatten()
    })?;
    slot.prepare(root);
    ACTIVE.fetch_or(bit, Release);
    Some((bit, slot))
}

/// Gives the slot of a watch back.
pub(crate) fn close(bit: u64) {
    ACTIVE.fetch_and(!bit, AcqRel);
    RECORDING.fetch_and(!bit, AcqRel);
    TAKEN.fetch_and(!bit, AcqRel);
}

impl Slot {
    const fn new() -> Slot {
        Slot {
            pid: AtomicU32::new(0),
            root_len: AtomicUsize::new(0),
            root: [const { AtomicU8::new(0) }; ROOT_MAX],
            calls: AtomicU64::new(0),
            stop: AtomicU64::new(0),
            moment: AtomicU8::new(0),
            stopping: AtomicBool::new(false),
            kinds: [const { AtomicU64::new(0) }; Kind::COUNT],
            bytes: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            maps: AtomicU64::new(0),
            unresolved: AtomicU64::new(0),
            tape: Tape::new(),
        }
    }

    fn prepare(&self, root: &[u8]) {
        self.pid.store(std::process::id(), Relaxed);
        self.root_len.store(root.len(), Relaxed);
        for (to, from) in self.root.iter().zip(root) {
            to.store(*from, Relaxed);
        }
        self.stop.store(0, Relaxed);
        self.stopping.store(false, Relaxed);
        for counter in &self.kinds {
            counter.store(0, Relaxed);
        }
        for counter in [
            &self.calls,
            &self.bytes,
            &self.failed,
            &self.maps,
            &self.unresolved,
        ] {
            counter.store(0, Relaxed);
        }
    }

    /// Whether an absolute path is the root or below it. Of `path` only the
    /// first `ROOT_MAX + 1` bytes matter.
    pub(crate) fn covers(&self, path: &[u8]) -> bool {
        let len = self.root_len.load(Relaxed);
        let Some((head, tail)) = path.split_at_checked(len) else {
            return false;
        };
        matches!(tail.first(), None | Some(b'/'))
            && path.first() == Some(&b'/')
            && self
                .root
                .iter()
                .zip(head)
                .all(|(a, b)| a.load(Relaxed) == *b)
    }

    /// Stops at the `n`-th call from now.
    pub(crate) fn stop_at(&self, n: u64, moment: Moment) {
        self.moment.store(moment as u8, SeqCst);
        let stop = if n == 0 {
            0
        } else {
            self.calls.load(SeqCst).saturating_add(n)
        };
        self.stop.store(stop, SeqCst);
    }

    pub(crate) fn moment(&self) -> Moment {
        let moment = self.moment.load(SeqCst);
        [Moment::Half, Moment::After]
            .into_iter()
            .find(|m| *m as u8 == moment)
            .unwrap_or(Moment::Before)
    }

    /// The counter of a kind.
    pub(crate) fn count(&self, kind: Kind, n: u64) {
        if let Some(counter) = self.kinds.get(kind as usize) {
            counter.fetch_add(n, SeqCst);
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        let of = |kind: Kind| self.kinds.get(kind as usize).map_or(0, |n| n.load(SeqCst));
        Counts {
            creates: of(Kind::Create),
            writes: of(Kind::Write),
            bytes_written: self.bytes.load(SeqCst),
            truncates: of(Kind::Truncate),
            allocations: of(Kind::Allocate),
            renames: of(Kind::Rename),
            links: of(Kind::Link),
            unlinks: of(Kind::Unlink),
            mkdirs: of(Kind::Mkdir),
            rmdirs: of(Kind::Rmdir),
            fsyncs: of(Kind::Fsync),
            fdatasyncs: of(Kind::Fdatasync),
            folder_flushes: of(Kind::FolderFlush),
            map_flushes: of(Kind::MapFlush),
            range_flushes: of(Kind::RangeFlush),
            system_flushes: of(Kind::SystemFlush),
            failed: self.failed.load(SeqCst),
            shared_maps: self.maps.load(SeqCst),
            unresolved: self.unresolved.load(SeqCst),
        }
    }
}
