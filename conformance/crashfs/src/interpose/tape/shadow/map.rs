//! One mapping, and its shadow.

use core::sync::atomic::Ordering::Relaxed;

use super::{SECTOR, wrote};
use crate::{
    interpose::{
        raw::sys,
        stat::{Inode, Stat},
        tape::{
            event::{Head, Tag},
            memory::Memory,
        },
    },
    tape::{Broken, Tape},
};

/// One mapping. All zeroes: there is none.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Map {
    pub(super) address: usize,
    pub(super) len: usize,
    /// Where in the file it begins.
    pub(super) offset: u64,
    pub(super) inode: Inode,
    /// Open with `O_PATH`, to ask for the file's length: closing such a descriptor gives no
    /// lock of the file away, as closing any other would.
    pub(super) fd: i32,
    /// The shadow; null as long as the mapping can't be written.
    pub(super) shadow: *mut u8,
    pub(super) shadow_len: usize,
    /// How much of the shadow's front belongs to what is no longer mapped.
    pub(super) skip: usize,
}

impl Map {
    pub(super) fn overlaps(&self, address: usize, end: usize) -> bool {
        self.address != 0 && self.address < end && address < self.address.saturating_add(self.len)
    }

    pub(super) fn shows(&self, file: Inode) -> bool {
        self.address != 0 && self.inode == file && !self.shadow.is_null()
    }

    /// # Safety
    ///
    /// `at` is not beyond the mapping's length, and there is a shadow.
    pub(super) unsafe fn shadow_at(&self, at: usize) -> *mut u8 {
        // SAFETY: as the caller's.
        unsafe { self.shadow.add(self.skip + at) }
    }

    /// How many bytes of the mapping are the file's. Beyond, loading would be a fault.
    pub(super) fn valid(&self, tape: &Tape) -> usize {
        match Stat::of_fd(self.fd) {
            Some(stat) if stat.inode == self.inode => {
                let size = stat.size.saturating_sub(self.offset);
                usize::try_from(size).unwrap_or(usize::MAX).min(self.len)
            }
            _ => {
                tape.breaks(Broken::Maps);
                0
            }
        }
    }

    /// Makes the shadow, with what the mapping shows now.
    pub(super) fn begin(mut self, tape: &Tape) -> Map {
        let Some(memory) = Memory::reserve(self.len) else {
            tape.breaks(Broken::Maps);
            return self;
        };
        (self.shadow, self.shadow_len, self.skip) = (memory.start, memory.len, 0);
        let valid = self.valid(tape);
        for at in (0..valid).step_by(SECTOR) {
            let now = self.shown(at, valid);
            if now.bytes().iter().any(|byte| *byte != 0) {
                self.keep(at, now.bytes());
            }
        }
        self
    }

    /// Writes down what differs, and takes it over into the shadow.
    pub(super) fn collect(self, tape: &Tape) {
        if self.shadow.is_null() {
            return;
        }
        let valid = self.valid(tape);
        for at in (0..valid).step_by(SECTOR) {
            let now = self.shown(at, valid);
            // SAFETY: the shadow is as long as the mapping.
            let then = unsafe { Sector::load(self.shadow_at(at), now.len) };
            if now.bytes() != then.bytes() {
                let place = self.offset + at as u64;
                let head = Head::new(Tag::Write, &[self.inode]).with(place, 0);
                tape.add(head, now.bytes(), b"");
                // Other mappings of the file show it as well.
                wrote(tape, self.inode, place, now.bytes());
            }
        }
    }

    /// What the mapping shows at a place inside of the file.
    fn shown(&self, at: usize, valid: usize) -> Sector {
        let from = core::ptr::with_exposed_provenance(self.address + at);
        // SAFETY: mapped, and not beyond the end of the file.
        unsafe { Sector::load(from, SECTOR.min(valid - at)) }
    }

    pub(super) fn keep(&self, at: usize, bytes: &[u8]) {
        // SAFETY: the shadow is as long as the mapping.
        unsafe {
            self.shadow_at(at)
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }

    /// Takes a range out that is no longer mapped.
    pub(super) fn cut_out(mut self, tape: &Tape, address: usize, end: usize) -> Map {
        let own_end = self.address.saturating_add(self.len);
        match (address <= self.address, end >= own_end) {
            (true, true) => {
                self.release();
                self.address = 0;
                tape.maps.fetch_sub(1, Relaxed);
            }
            (true, false) => {
                let gone = end - self.address;
                self.address = end;
                self.len -= gone;
                self.offset += gone as u64;
                self.skip += gone;
            }
            (false, ends) => {
                self.len = address - self.address;
                if !ends {
                    tape.breaks(Broken::Maps);
                }
            }
        }
        self
    }

    pub(super) fn drop_shadow(&self) {
        if !self.shadow.is_null() {
            // SAFETY: ours, and about to be forgotten.
            unsafe { Memory::release(self.shadow, self.shadow_len) };
        }
    }

    pub(super) fn release(&self) {
        self.drop_shadow();
        // SAFETY: ours, and about to be forgotten.
        unsafe { sys!(SYS_close, self.fd) };
    }
}

/// A copy of a few bytes of a mapping, to which the process may be storing.
struct Sector {
    bytes: [u8; SECTOR],
    len: usize,
}

impl Sector {
    /// # Safety
    ///
    /// There are `len` bytes, at most `SECTOR`.
    unsafe fn load(from: *const u8, len: usize) -> Sector {
        let mut bytes = [0; SECTOR];
        // SAFETY: as the caller's.
        unsafe { bytes.as_mut_ptr().copy_from_nonoverlapping(from, len) };
        Sector { bytes, len }
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&[])
    }
}
