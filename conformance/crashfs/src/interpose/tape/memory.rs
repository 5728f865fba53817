//! The memory of a record: reserved at once, taken page by page as it is used.

use core::sync::atomic::Ordering::{AcqRel, Relaxed};

use crate::{
    interpose::raw::{failed, sys},
    tape::Tape,
};

/// Memory that was mapped for a record or a shadow, all zeroes at first.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) start: *mut u8,
    pub(crate) len: usize,
}

// SAFETY: the memory belongs to whoever has the value.
unsafe impl Send for Memory {}
// SAFETY: it is only read and written under the lock of a tape.
unsafe impl Sync for Memory {}

impl Memory {
    /// Reserves address space; no page is used yet.
    pub(crate) fn reserve(len: usize) -> Option<Memory> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let rw = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: new memory, away from any other.
        let start = unsafe { sys!(SYS_mmap, 0, len, rw, flags, -1_i32, 0) };
        if failed(start) {
            return None;
        }
        let start = core::ptr::with_exposed_provenance_mut(start as usize);
        // A huge page would be zeroed as a whole for the first few events.
        // SAFETY: ours.
        unsafe { sys!(SYS_madvise, start, len, libc::MADV_NOHUGEPAGE) };
        Some(Memory { start, len })
    }

    /// Gives the memory back.
    ///
    /// # Safety
    ///
    /// Nothing points to it any more.
    pub(crate) unsafe fn release(start: *mut u8, len: usize) {
        // SAFETY: as the caller's.
        unsafe { sys!(SYS_munmap, start, len) };
    }
}

impl Tape {
    /// Ends the record and gives back all of its memory. The tape is locked by the caller.
    pub(crate) fn end(&self) {
        let base = self.base.swap(core::ptr::null_mut(), AcqRel);
        if !base.is_null() {
            let len = self.room.load(Relaxed);
            self.maps.store(0, Relaxed);
            // SAFETY: the tape no longer says where it was.
            unsafe {
                super::shadow::release(base);
                Memory::release(base, len);
            }
        }
    }
}
