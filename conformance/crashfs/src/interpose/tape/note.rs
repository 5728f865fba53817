//! What is written down once a call has returned.

use core::{ffi::CStr, sync::atomic::Ordering::Relaxed};
use libc::{RENAME_EXCHANGE, RENAME_WHITEOUT};

use super::{
    act::{Act, At, Data, Facts},
    event::{Head, Tag},
    shadow,
};
use crate::{
    Allocation, Call,
    interpose::{
        raw::{errno, failed},
        stat::{Inode, Stat},
    },
    slot::Slot,
    tape::{Broken, Tape},
};

/// Notes the effect of a call that the kernel answered with `ret`, which may be an error.
///
/// # Safety
///
/// As for [`Facts::before`]; the call has returned.
pub(super) unsafe fn effect(bit: u64, slot: &Slot, act: &Act, facts: &Facts, ret: isize) {
    let tape = &slot.tape;
    flushed(tape, act, facts, !failed(ret));
    if failed(ret) {
        failure(tape, facts, errno(ret));
        return;
    }
    // SAFETY: as the caller's.
    let done = unsafe {
        match *act {
            Act::Write { data, .. } => written(tape, data, facts, ret as usize),
            Act::Rename { .. } => renamed(bit, tape, act, facts),
            _ => changed(tape, act, facts, ret),
        }
    };
    if done.is_none() {
        tape.breaks(Broken::Identity);
    }
}

/// Notes an error that the caller is told of, if it is one of input or output.
pub(super) fn failure(tape: &Tape, facts: &Facts, errno: i32) {
    let matters = matches!(
        errno,
        libc::EIO | libc::ENOSPC | libc::EDQUOT | libc::EFBIG | libc::EROFS | libc::EINTR
    );
    if let (true, Some(call)) = (matters, facts.call) {
        let head = Head::new(Tag::Failed, &[inode(facts.node)]);
        tape.add(head.with(call as u64, 0).code(errno), b"", b"");
    }
}

unsafe fn written(tape: &Tape, data: Data, facts: &Facts, len: usize) -> Option<()> {
    let node = facts.node?;
    if len > 0 {
        let head = Head::new(Tag::Write, &[node.inode]).with(facts.position, 0);
        // SAFETY: the kernel has read these bytes just now.
        let bytes = tape.add_with(head, len, 0, |to| unsafe { data.copy(to, len) });
        if let Some(bytes) = bytes {
            // SAFETY: just written, and as long.
            let bytes = unsafe { core::slice::from_raw_parts(bytes, len) };
            shadow::wrote(tape, node.inode, facts.position, bytes);
        }
    }
    if let Some(data_only) = facts.flushes {
        let head = Head::new(Tag::Flush, &[node.inode]);
        tape.add(head.with(1, u64::from(data_only)), b"", b"");
    }
    Some(())
}

/// Notes a flush, failed ones too: what was written before one of those is lost for good.
fn flushed(tape: &Tape, act: &Act, facts: &Facts, ok: bool) {
    let ok = u64::from(ok);
    let (head, data_only) = match (*act, facts.node) {
        (Act::Flush { .. }, Some(node)) if node.is_folder() => {
            (Head::new(Tag::FlushFolder, &[node.inode]), false)
        }
        (Act::Flush { data_only, .. }, Some(node)) => {
            (Head::new(Tag::Flush, &[node.inode]), data_only)
        }
        (Act::Write { .. }, Some(node)) if ok == 0 && facts.flushes.is_some() => {
            (Head::new(Tag::Flush, &[node.inode]), false)
        }
        (
            Act::FlushMap {
                address,
                len,
                flags,
            },
            _,
        ) if flags & libc::MS_SYNC != 0 => {
            // A flush of a part makes nothing durable here, but its failure taints all.
            let file = match ok {
                0 => shadow::file_in(tape, address, len),
                _ => shadow::whole_file(tape, address, len),
            };
            match file {
                Some(inode) => (Head::new(Tag::Flush, &[inode]), true),
                None => return,
            }
        }
        (Act::FlushSystem | Act::FlushAll, _) => (Head::new(Tag::FlushAll, &[]), false),
        _ => return,
    };
    tape.add(head.with(ok, u64::from(data_only)), b"", b"");
}

unsafe fn renamed(bit: u64, tape: &Tape, act: &Act, facts: &Facts) -> Option<()> {
    let Act::Rename {
        from,
        from_hits,
        to,
        to_hits,
        flags,
    } = *act
    else {
        return None;
    };
    let node = facts.node?;
    let exchange = flags & RENAME_EXCHANGE != 0;
    if !exchange
        && facts
            .replaced
            .is_some_and(|other| other.inode == node.inode)
    {
        // Two names of one file: the kernel leaves both.
        return Some(());
    }
    if flags & RENAME_WHITEOUT != 0 {
        tape.breaks(Broken::Whiteout);
        return Some(());
    }
    // SAFETY: as the caller's.
    let ((dir, name), (new_dir, new_name)) = unsafe { (from.place()?, to.place()?) };
    let tag = if exchange { Tag::Exchange } else { Tag::Rename };
    match (from_hits.has(bit), to_hits.has(bit)) {
        (true, true) => {
            let nodes = [node.inode, dir, new_dir, inode(facts.replaced)];
            tape.add(Head::new(tag, &nodes), name, new_name);
        }
        (true, false) if !exchange && !node.is_folder() => {
            tape.add(Head::new(Tag::Unlink, &[node.inode, dir]), name, b"");
        }
        (true, false) => tape.breaks(Broken::MovedOut),
        (false, _) => tape.breaks(Broken::MovedIn),
    }
    Some(())
}

unsafe fn changed(tape: &Tape, act: &Act, facts: &Facts, ret: isize) -> Option<()> {
    // SAFETY: as the caller's.
    unsafe {
        match *act {
            Act::Open { at, .. } => match facts.call {
                Some(Call::Create) => {
                    let file = Stat::of_fd(ret as i32)?;
                    named(tape, Tag::Create, file.inode, at)?;
                }
                Some(_) => cut(tape, facts.node?.inode, 0),
                None => {}
            },
            Act::OpenUnnamed => {
                let file = Stat::of_fd(ret as i32)?;
                tape.add(Head::new(Tag::CreateUnnamed, &[file.inode]), b"", b"");
            }
            Act::Truncate { len, .. } | Act::TruncateAt { len, .. } => {
                cut(tape, facts.node?.inode, len as u64);
            }
            Act::Allocate {
                mode, offset, len, ..
            } => allocated(tape, facts.node?.inode, mode, (offset as u64, len as u64)),
            Act::Link(at) => named(tape, Tag::Link, new(at)?, at)?,
            Act::Symlink { target, at } => {
                let (dir, name) = at.place()?;
                let target = CStr::from_ptr(target).to_bytes();
                tape.add(Head::new(Tag::Symlink, &[new(at)?, dir]), name, target);
            }
            Act::Unlink(at) => named(tape, Tag::Unlink, facts.node?.inode, at)?,
            Act::Mkdir(at) => named(tape, Tag::Mkdir, new(at)?, at)?,
            Act::Rmdir(at) => named(tape, Tag::Rmdir, facts.node?.inode, at)?,
            Act::Write { .. }
            | Act::Rename { .. }
            | Act::Flush { .. }
            | Act::FlushRange { .. }
            | Act::FlushMap { .. }
            | Act::FlushSystem
            | Act::FlushAll => {}
        }
    }
    Some(())
}

unsafe fn named(tape: &Tape, tag: Tag, node: Inode, at: At) -> Option<()> {
    // SAFETY: as the caller's.
    let (dir, name) = unsafe { at.place()? };
    tape.add(Head::new(tag, &[node, dir]), name, b"");
    Some(())
}

/// What a new name stands for.
unsafe fn new(at: At) -> Option<Inode> {
    // SAFETY: as the caller's.
    unsafe { Stat::of_name(at.dir, at.path) }.map(|stat| stat.inode)
}

fn cut(tape: &Tape, file: Inode, len: u64) {
    tape.add(Head::new(Tag::Truncate, &[file]).with(len, 0), b"", b"");
    shadow::cut(tape, file, len);
}

fn allocated(tape: &Tape, file: Inode, mode: i32, (at, len): (u64, u64)) {
    let maps = tape.maps.load(Relaxed) > 0;
    match allocation(mode) {
        Some(Allocation::Collapse | Allocation::Insert) if maps => tape.breaks(Broken::Allocation),
        Some(how) => {
            if matches!(how, Allocation::Punch | Allocation::Zero { .. }) {
                shadow::zeroed(tape, file, at, len);
            }
            let head = Head::new(Tag::Allocate, &[file]).with(at, len);
            tape.add(head.code(mode), b"", b"");
        }
        None => tape.breaks(Broken::Allocation),
    }
}

/// What a mode of `fallocate` asks for.
pub(super) fn allocation(mode: i32) -> Option<Allocation> {
    const KEEP: i32 = libc::FALLOC_FL_KEEP_SIZE;
    const PUNCH: i32 = libc::FALLOC_FL_PUNCH_HOLE | KEEP;
    const ZERO: i32 = libc::FALLOC_FL_ZERO_RANGE;
    const ZERO_KEEP: i32 = ZERO | KEEP;
    const UNSHARE: i32 = libc::FALLOC_FL_UNSHARE_RANGE;
    const UNSHARE_KEEP: i32 = UNSHARE | KEEP;
    match mode {
        0 | UNSHARE => Some(Allocation::Grow),
        KEEP | UNSHARE_KEEP => Some(Allocation::Reserve),
        PUNCH => Some(Allocation::Punch),
        ZERO => Some(Allocation::Zero { keep_size: false }),
        ZERO_KEEP => Some(Allocation::Zero { keep_size: true }),
        libc::FALLOC_FL_COLLAPSE_RANGE => Some(Allocation::Collapse),
        libc::FALLOC_FL_INSERT_RANGE => Some(Allocation::Insert),
        _ => None,
    }
}

fn inode(stat: Option<Stat>) -> Inode {
    stat.map_or(Inode::default(), |stat| stat.inode)
}
