//! How an op lies in the memory of a record: a head of fixed size, then its bytes.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::{
    interpose::stat::Inode,
    tape::{Broken, Tape},
};

/// What an event is. The fields of its [`Head`] are named in the order of `nodes`, `x`, `y`,
/// and of the bytes, `name` and `other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Tag {
    /// file, folder; name
    Create,
    /// file
    CreateUnnamed,
    /// file; place; the data
    Write,
    /// file; length
    Truncate,
    /// file; place, length; mode in `code`
    Allocate,
    /// file; ok, data only
    Flush,
    /// folder; ok
    FlushFolder,
    /// ok
    FlushAll,
    /// node, old folder, new folder, what is replaced; old name, new name
    Rename,
    /// as `Rename`
    Exchange,
    /// file, folder; name
    Link,
    /// node, folder; name
    Unlink,
    /// new folder, its folder; name
    Mkdir,
    /// folder, its folder; name
    Rmdir,
    /// link, folder; name, target
    Symlink,
    /// node; the call; the error's number in `code`
    Failed,
}

/// The fixed part of an event.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Head {
    /// Of the whole event, a multiple of eight.
    size: usize,
    pub(crate) tag: Tag,
    pub(crate) code: i32,
    pub(crate) nodes: [Inode; 4],
    pub(crate) x: u64,
    pub(crate) y: u64,
    name: usize,
    other: usize,
}

impl Head {
    pub(crate) fn new(tag: Tag, nodes: &[Inode]) -> Head {
        let mut all = [Inode::default(); 4];
        for (to, from) in all.iter_mut().zip(nodes) {
            *to = *from;
        }
        Head {
            size: 0,
            tag,
            code: 0,
            nodes: all,
            x: 0,
            y: 0,
            name: 0,
            other: 0,
        }
    }

    pub(crate) fn with(self, x: u64, y: u64) -> Head {
        Head { x, y, ..self }
    }

    pub(crate) fn code(self, code: i32) -> Head {
        Head { code, ..self }
    }
}

impl Tape {
    /// Adds an event with its names.
    pub(crate) fn add(&self, head: Head, name: &[u8], other: &[u8]) {
        // SAFETY: as many bytes as the two slices have.
        self.add_with(head, name.len(), other.len(), |to| unsafe {
            to.copy_from_nonoverlapping(name.as_ptr(), name.len());
            to.add(name.len())
                .copy_from_nonoverlapping(other.as_ptr(), other.len());
        });
    }

    /// Adds an event whose bytes `fill` writes; the answer is where they are. `None`: there is
    /// no room, and the record is broken. The tape is locked by the caller.
    pub(crate) fn add_with(
        &self,
        mut head: Head,
        name: usize,
        other: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Option<*const u8> {
        let used = self.used.load(Relaxed);
        let size = size_of::<Head>()
            .saturating_add(name)
            .saturating_add(other)
            .checked_next_multiple_of(8);
        let end = size.and_then(|size| used.checked_add(size));
        let fits = end.filter(|end| *end <= self.room.load(Relaxed));
        let (Some(size), Some(end), None) = (size, fits, self.broken()) else {
            self.breaks(Broken::Room);
            return None;
        };
        (head.size, head.name, head.other) = (size, name, other);
        // SAFETY: the event ends inside of the record's memory, which is the tape's own while
        // it is locked; `used` is a multiple of eight.
        let bytes = unsafe {
            let at = self.base.load(Acquire).add(used);
            at.cast::<Head>().write(head);
            let bytes = at.add(size_of::<Head>());
            fill(bytes);
            bytes
        };
        self.used.store(end, Relaxed);
        self.ops.fetch_add(1, Release);
        Some(bytes)
    }

    /// The events from byte `first` on, with their names.
    ///
    /// # Safety
    ///
    /// The tape runs, and nothing is added or freed while the answer is used.
    pub(crate) unsafe fn events(
        &self,
        first: usize,
    ) -> impl Iterator<Item = (Head, &'static [u8], &'static [u8])> {
        let (base, end) = (self.base.load(Acquire), self.used.load(Acquire));
        let mut at = first;
        core::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            // SAFETY: `add_with` wrote a head and as many bytes as it says at each place.
            unsafe {
                let start = base.add(at);
                let head = start.cast::<Head>().read();
                let bytes = start.add(size_of::<Head>());
                at += head.size;
                Some((
                    head,
                    core::slice::from_raw_parts(bytes, head.name),
                    core::slice::from_raw_parts(bytes.add(head.name), head.other),
                ))
            }
        })
    }
}
