//! The beginning and the end of a record.

use std::{fs, io, os::unix::ffi::OsStrExt, path::Path, sync::atomic::Ordering::Relaxed, thread};

use super::{Locked, Memory, decode, shadow};
use crate::{
    Op, Tree, Watch,
    interpose::raw::{self, sys},
    slot,
    tape::Faults,
    tree::{self, Start},
};

/// Reads the folder and begins to record; `room` is what the record may take, in bytes.
pub(crate) fn begin(watch: &Watch, room: usize) -> io::Result<Start> {
    let used = shadow::MAPS_ROOM;
    let room = room.saturating_add(used);
    let memory = Memory::reserve(room).ok_or(io::ErrorKind::OutOfMemory)?;
    let locked = Locked::all(watch.bit);
    watch.slot.tape.begin(memory.start, room, used);
    // Whoever calls from here on waits until the folder has been read.
    slot::record(watch.bit);
    let start = no_mappings(watch.root()).and_then(|()| apart(|| tree::read(watch.root())));
    if start.is_err() {
        watch.slot.tape.end();
    }
    drop(locked);
    start
}

/// Sets a fault or takes it away.
pub(crate) fn inject(watch: &Watch, change: impl FnOnce(&Faults)) {
    if !own(watch) {
        return;
    }
    let _locked = Locked::all(watch.bit);
    change(&watch.slot.tape.faults);
}

/// Ends the record: every op, if they make of the start what is there now.
pub(crate) fn finish(watch: &Watch, start: Start) -> Result<(Tree, Vec<Op>), String> {
    let tape = &watch.slot.tape;
    if !own(watch) {
        return Err("the recorder belongs to another process".into());
    }
    let locked = Locked::all(watch.bit);
    shadow::collect(tape, None);
    // The thread that reads unmaps memory of its own, and would wait for this lock.
    tape.maps.store(0, Relaxed);
    let folder = apart(|| tree::read(watch.root()));
    // SAFETY: the tape runs since `begin`, and is locked.
    let ops = unsafe { decode(tape, shadow::MAPS_ROOM, &start) };
    let broken = tape.broken();
    tape.end();
    drop(locked);

    if let Some(why) = broken {
        return Err(why.reason().into());
    }
    let unresolved = watch.counts().unresolved;
    if unresolved > 0 {
        return Err(format!(
            "of {unresolved} calls it is not known where they took place"
        ));
    }
    let ops = ops?;
    let folder = folder.map_err(|e| format!("the folder could not be read: {e}"))?;
    let mut tree = start.tree.clone();
    ops.iter().for_each(|op| tree.apply(op));
    match tree.difference(&folder.tree) {
        None => Ok((start.tree, ops)),
        Some(difference) => Err(format!(
            "something changed without being seen: {difference}"
        )),
    }
}

/// Gives up a record that was not finished.
pub(crate) fn end(watch: &Watch) {
    if !own(watch) {
        return;
    }
    let _locked = Locked::all(watch.bit);
    watch.slot.tape.end();
}

/// Whether this is not a forked child, in which the lock may be held by nobody who is there.
fn own(watch: &Watch) -> bool {
    watch.slot.pid.load(Relaxed) == raw::pid()
}

/// Runs `work` on a thread with descriptors of its own: closing a file on any other gives away
/// every lock that the process has on it by `fcntl`, as SQLite has them. Where that is not
/// allowed, it runs all the same.
fn apart<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let alone = || {
        // SAFETY: the thread has no descriptors of its own yet; closing the copies of the
        // others' closes nothing of theirs.
        unsafe {
            if sys!(SYS_unshare, libc::CLONE_FILES) == 0 {
                sys!(SYS_close_range, 0, u32::MAX, 0);
            }
        }
        work()
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, alone)?;
        thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("reading the folder panicked")))
    })
}

/// Refuses a folder of which the process has a shared mapping that it can write to: what is
/// stored there would not be seen.
fn no_mappings(root: &Path) -> io::Result<()> {
    let maps = fs::read("/proc/self/maps")?;
    let root = root.as_os_str().as_bytes();
    let writable = |line: &&[u8]| {
        let mut fields = line.splitn(6, |b| *b == b' ');
        let shared = fields
            .nth(1)
            .is_some_and(|mode| mode.starts_with(b"rw") && mode.ends_with(b"s"));
        let path = fields.nth(3).unwrap_or(b"").trim_ascii_start();
        shared
            && path
                .strip_prefix(root)
                .is_some_and(|rest| rest.starts_with(b"/"))
    };
    match maps.split(|b| *b == b'\n').find(writable) {
        None => Ok(()),
        Some(line) => {
            let message = format!(
                "a file below the root is mapped: {}",
                String::from_utf8_lossy(line)
            );
            Err(io::Error::new(io::ErrorKind::ResourceBusy, message))
        }
    }
}
