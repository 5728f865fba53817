//! What a call does, as its hook tells it, and what has to be known of the place before.

use core::ffi::c_void;
use libc::{c_char, c_int, c_uint, iovec, off_t};

use crate::{
    Call,
    interpose::{
        gate::Hits,
        place,
        raw::{failed, sys},
        stat::{Inode, Stat},
    },
};

/// Without `RWF_`, as the libc crate doesn't know it.
const RWF_NOAPPEND: c_int = 0x20;

/// A name as a call gets it: relative to a folder's descriptor.
#[derive(Clone, Copy)]
pub(crate) struct At {
    pub(crate) dir: c_int,
    pub(crate) path: *const c_char,
}

/// The bytes that a write gets.
#[derive(Clone, Copy)]
pub(crate) enum Data {
    Flat(*const c_void, usize),
    Parts(*const iovec, c_int),
}

/// What a call does.
#[derive(Clone, Copy)]
pub(crate) enum Act {
    /// An open that may make a file or cut one.
    Open {
        at: At,
        flags: c_int,
    },
    /// An open with `O_TMPFILE`.
    OpenUnnamed,
    Write {
        fd: c_int,
        data: Data,
        /// `None`: where the descriptor stands.
        offset: Option<off_t>,
        /// The flags of `pwritev2`.
        flags: c_int,
    },
    Truncate {
        fd: c_int,
        len: off_t,
    },
    TruncateAt {
        at: At,
        len: off_t,
    },
    Allocate {
        fd: c_int,
        mode: c_int,
        offset: off_t,
        len: off_t,
    },
    Flush {
        fd: c_int,
        data_only: bool,
    },
    /// `sync_file_range`, which makes nothing durable.
    FlushRange {
        fd: c_int,
    },
    /// `msync`.
    FlushMap {
        address: usize,
        len: usize,
        flags: c_int,
    },
    /// `syncfs`.
    FlushSystem,
    /// `sync`.
    FlushAll,
    Rename {
        from: At,
        from_hits: Hits,
        to: At,
        to_hits: Hits,
        flags: c_uint,
    },
    Link(At),
    Symlink {
        target: *const c_char,
        at: At,
    },
    Unlink(At),
    Mkdir(At),
    Rmdir(At),
}

/// What was found out before the call.
pub(crate) struct Facts {
    /// What the call is about, if it was there.
    pub(crate) node: Option<Stat>,
    /// What the new name of a rename stood for.
    pub(crate) replaced: Option<Stat>,
    /// Where a write begins.
    pub(crate) position: u64,
    /// Whether a write flushes by itself: `Some(true)` if only its data.
    pub(crate) flushes: Option<bool>,
    /// Which call it is, for faults and errors.
    pub(crate) call: Option<Call>,
}

impl Facts {
    /// Asks what has to be known before the call. The tapes are locked.
    ///
    /// # Safety
    ///
    /// The act's pointers are those that its call got; paths are null or end with a NUL.
    pub(crate) unsafe fn before(act: &Act) -> Facts {
        // SAFETY: as the caller's.
        let (node, call) = unsafe { known(act) };
        let mut facts = Facts {
            node,
            replaced: None,
            position: 0,
            flushes: None,
            call,
        };
        match *act {
            Act::Rename { to, .. } => {
                // SAFETY: as the caller's.
                facts.replaced = unsafe { Stat::of_name(to.dir, to.path) };
            }
            Act::Write {
                fd, offset, flags, ..
            } => facts.write(fd, offset, flags),
            _ => {}
        }
        facts
    }

    /// Whether the call is on a pipe or a device, which a record knows nothing of, and which
    /// may let it wait for ever.
    pub(crate) fn foreign(&self, act: &Act) -> bool {
        match act {
            Act::Open { .. } | Act::Write { .. } => self.node.is_some_and(|node| !node.is_file()),
            _ => false,
        }
    }

    fn write(&mut self, fd: c_int, offset: Option<off_t>, flags: c_int) {
        // SAFETY: plain numbers.
        let status = unsafe { sys!(SYS_fcntl, fd, libc::F_GETFL) };
        let status = if failed(status) { 0 } else { status as c_int };
        let appends = status & libc::O_APPEND != 0 && flags & RWF_NOAPPEND == 0;
        self.position = if appends || flags & libc::RWF_APPEND != 0 {
            self.node.map_or(0, |node| node.size)
        } else if let Some(offset) = offset {
            offset as u64
        } else {
            // SAFETY: plain numbers.
            let at = unsafe { sys!(SYS_lseek, fd, 0, libc::SEEK_CUR) };
            if failed(at) { 0 } else { at as u64 }
        };
        if status & libc::O_SYNC == libc::O_SYNC || flags & libc::RWF_SYNC != 0 {
            self.flushes = Some(false);
        } else if status & libc::O_DSYNC != 0 || flags & libc::RWF_DSYNC != 0 {
            self.flushes = Some(true);
        }
    }
}

/// What the call is about, and which call that makes it.
unsafe fn known(act: &Act) -> (Option<Stat>, Option<Call>) {
    // SAFETY: as the caller's.
    unsafe {
        match *act {
            Act::Open { at, flags } => opens(at, flags),
            Act::OpenUnnamed => (None, Some(Call::Create)),
            Act::Write { fd, .. } => (Stat::of_fd(fd), Some(Call::Write)),
            Act::Truncate { fd, .. } => (Stat::of_fd(fd), Some(Call::Truncate)),
            Act::TruncateAt { at, .. } => (Stat::at(at.dir, at.path, 0), Some(Call::Truncate)),
            Act::Allocate { fd, .. } => (Stat::of_fd(fd), Some(Call::Allocate)),
            Act::Flush { fd, .. } => {
                let node = Stat::of_fd(fd);
                let folder = node.is_some_and(|node| node.is_folder());
                let call = if folder {
                    Call::FlushFolder
                } else {
                    Call::Flush
                };
                (node, Some(call))
            }
            Act::FlushRange { fd } => (Stat::of_fd(fd), Some(Call::Flush)),
            Act::FlushMap { .. } => (None, Some(Call::Flush)),
            Act::FlushSystem => (None, Some(Call::FlushAll)),
            Act::FlushAll => (None, None),
            Act::Rename { from, .. } => (Stat::of_name(from.dir, from.path), Some(Call::Rename)),
            Act::Link(_) | Act::Symlink { .. } => (None, Some(Call::Link)),
            Act::Unlink(at) => (Stat::of_name(at.dir, at.path), Some(Call::Unlink)),
            Act::Mkdir(_) => (None, Some(Call::Mkdir)),
            Act::Rmdir(at) => (Stat::of_name(at.dir, at.path), Some(Call::Rmdir)),
        }
    }
}

unsafe fn opens(at: At, flags: c_int) -> (Option<Stat>, Option<Call>) {
    let creates = flags & libc::O_CREAT != 0;
    let new_only = creates && flags & libc::O_EXCL != 0;
    let stays = new_only || flags & libc::O_NOFOLLOW != 0;
    let follow = if stays { libc::AT_SYMLINK_NOFOLLOW } else { 0 };
    // SAFETY: as the caller's.
    let node = unsafe { Stat::at(at.dir, at.path, follow) };
    let call = match node {
        None => creates.then_some(Call::Create),
        Some(node) => {
            let cuts = node.is_file() && flags & libc::O_TRUNC != 0 && !new_only;
            cuts.then_some(Call::Truncate)
        }
    };
    (node, call)
}

impl Act {
    /// The length of a write.
    ///
    /// # Safety
    ///
    /// As [`Data::len`].
    pub(super) unsafe fn len(&self) -> usize {
        match self {
            // SAFETY: as the caller's.
            Act::Write { data, .. } => unsafe { data.len() },
            _ => 0,
        }
    }
}

impl At {
    /// The folder that holds the name, and the name.
    ///
    /// # Safety
    ///
    /// The path is null or ends with a NUL, and outlives the answer.
    pub(crate) unsafe fn place<'a>(self) -> Option<(Inode, &'a [u8])> {
        // SAFETY: as the caller's.
        unsafe { place::folder_of(self.dir, self.path) }
    }
}

impl Data {
    /// How many bytes there are.
    ///
    /// # Safety
    ///
    /// A list of parts is as long as it says. The kernel may not have checked it yet.
    pub(crate) unsafe fn len(self) -> usize {
        match self {
            Data::Flat(_, len) => len,
            // SAFETY: as the caller's.
            Data::Parts(..) => unsafe { self.parts() }
                .iter()
                .fold(0, |sum, part| part.iov_len.saturating_add(sum)),
        }
    }

    /// Copies the first `len` bytes.
    ///
    /// # Safety
    ///
    /// The kernel has just read these bytes; there is room for them.
    pub(crate) unsafe fn copy(self, to: *mut u8, len: usize) {
        // SAFETY: as the caller's.
        unsafe {
            match self {
                Data::Flat(from, _) => to.copy_from_nonoverlapping(from.cast(), len),
                Data::Parts(..) => {
                    let mut done = 0;
                    for part in self.parts() {
                        let some = part.iov_len.min(len - done);
                        to.add(done)
                            .copy_from_nonoverlapping(part.iov_base.cast(), some);
                        done += some;
                    }
                }
            }
        }
    }

    /// # Safety
    ///
    /// A list of parts is as long as it says.
    pub(crate) unsafe fn parts<'a>(self) -> &'a [iovec] {
        match self {
            Data::Parts(parts, count) if !parts.is_null() => {
                let count = usize::try_from(count).unwrap_or(0);
                // SAFETY: as the caller's.
                unsafe { core::slice::from_raw_parts(parts, count) }
            }
            _ => &[],
        }
    }
}
