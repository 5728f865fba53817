//! Shared mappings: what the process stores through them reaches the file without a call.
//!
//! Each writable shared mapping of a recorded file has a copy of its contents beside it, the
//! shadow. Mapping and shadow are compared before every flush, before a call that changes the
//! file, when the mapping goes, and at the end; what differs is written down as writes.

mod map;

use core::{
    cell::Cell,
    sync::atomic::Ordering::{Acquire, Relaxed},
};

use self::map::Map;
use super::{
    act::{Act, Facts},
    lock::Locked,
};
use crate::{
    Call,
    interpose::{
        gate::Hits,
        place,
        raw::{failed, sys},
        stat::{Inode, Stat},
    },
    slot,
    tape::{Broken, Tape},
};

/// How many mappings can be looked after at once.
const MAPS: usize = 64;
/// What the table of mappings takes at the beginning of a record's memory.
pub(crate) const MAPS_ROOM: usize = MAPS * size_of::<Map>();
/// Mappings are compared by as many bytes: what a disk writes at once.
const SECTOR: usize = 512;

/// Looks after a new shared mapping of the file behind `fd`, if it is recorded.
pub(crate) fn mapped(fd: i32, address: usize, len: usize, offset: u64, writable: bool) {
    let mask = place::of_fd(fd).recorders();
    if mask == 0 || !(writable || can_become_writable(fd)) {
        return;
    }
    let locked = Locked::all(mask);
    for (_, slot) in locked.running() {
        let tape = &slot.tape;
        let Some(stat) = Stat::of_fd(fd).filter(Stat::is_file) else {
            continue;
        };
        collect(tape, Some(stat.inode));
        let map = Map {
            address,
            len,
            offset,
            inode: stat.inode,
            fd: place::reopen(fd),
            shadow: core::ptr::null_mut(),
            shadow_len: 0,
            skip: 0,
        };
        tape.maps.fetch_add(1, Relaxed);
        match maps(tape).find(|place| place.get().address == 0) {
            Some(free) if map.fd >= 0 => {
                free.set(if writable { map.begin(tape) } else { map });
            }
            _ => tape.breaks(Broken::Maps),
        }
    }
}

/// Lets a call through that takes mappings in a range away.
pub(crate) fn unmapped(address: usize, len: usize, call: impl FnOnce() -> isize) -> isize {
    let mask = with_maps();
    if mask == 0 {
        return call();
    }
    let locked = Locked::all(mask);
    let end = address.saturating_add(len).next_multiple_of(page());
    for (_, slot) in locked.running() {
        for map in in_range(&slot.tape, address, end) {
            map.get().collect(&slot.tape);
        }
    }
    let ret = call();
    if !failed(ret) {
        for (_, slot) in locked.running() {
            for map in in_range(&slot.tape, address, end) {
                map.set(map.get().cut_out(&slot.tape, address, end));
            }
        }
    }
    ret
}

/// Lets `mremap` through.
pub(crate) fn remapped(
    address: usize,
    old_len: usize,
    new_len: usize,
    call: impl FnOnce() -> isize,
) -> isize {
    let mask = with_maps();
    if mask == 0 {
        return call();
    }
    let locked = Locked::all(mask);
    for (_, slot) in locked.running() {
        collect(&slot.tape, None);
    }
    let ret = call();
    if failed(ret) {
        return ret;
    }
    let pages = |len: usize| len.div_ceil(page());
    let (new, end) = (ret as usize, address.saturating_add(old_len));
    for (_, slot) in locked.running() {
        let tape = &slot.tape;
        for place in in_range(tape, address, end) {
            let mut map = place.get();
            if map.address != address || pages(map.len) != pages(old_len) {
                tape.breaks(Broken::Maps);
            }
            let written = !map.shadow.is_null();
            map.drop_shadow();
            (map.address, map.len, map.shadow) = (new, new_len, core::ptr::null_mut());
            place.set(if written { map.begin(tape) } else { map });
        }
    }
    ret
}

/// Looks after mappings that a call is about to make writable.
pub(crate) fn protected(address: usize, len: usize) {
    let mask = with_maps();
    if mask == 0 {
        return;
    }
    let locked = Locked::all(mask);
    for (_, slot) in locked.running() {
        let end = address.saturating_add(len);
        for map in in_range(&slot.tape, address, end) {
            if map.get().shadow.is_null() {
                map.set(map.get().begin(&slot.tape));
            }
        }
    }
}

/// Writes down what was stored so far: before flushes, and before the file itself changes.
pub(super) fn before(tape: &Tape, act: &Act, facts: &Facts) {
    match (*act, facts.call) {
        (Act::FlushAll, _) | (_, Some(Call::Flush | Call::FlushFolder | Call::FlushAll)) => {
            collect(tape, None);
        }
        (_, Some(Call::Write | Call::Truncate | Call::Allocate)) => {
            collect(tape, facts.node.map(|node| node.inode));
        }
        _ => {}
    }
}

/// Writes down what was stored so far through the mappings of a file, or of all.
pub(crate) fn collect(tape: &Tape, file: Option<Inode>) {
    for map in maps(tape).map(Cell::get) {
        if map.address != 0 && file.is_none_or(|file| file == map.inode) {
            map.collect(tape);
        }
    }
}

/// A call has written these bytes: the mappings show them already.
pub(super) fn wrote(tape: &Tape, file: Inode, at: u64, bytes: &[u8]) {
    for map in maps(tape).map(Cell::get).filter(|map| map.shows(file)) {
        let skipped = map.offset.saturating_sub(at) as usize;
        let to = at.saturating_sub(map.offset) as usize;
        let bytes = bytes.get(skipped..).unwrap_or(&[]);
        let len = bytes.len().min(map.len.saturating_sub(to));
        if let Some(bytes) = bytes.get(..len) {
            map.keep(to, bytes);
        }
    }
}

/// A call has cut the file.
pub(super) fn cut(tape: &Tape, file: Inode, len: u64) {
    zeroed(tape, file, len, u64::MAX);
}

/// A call has filled a range with zeroes.
pub(super) fn zeroed(tape: &Tape, file: Inode, at: u64, len: u64) {
    for map in maps(tape).map(Cell::get).filter(|map| map.shows(file)) {
        let end = at.saturating_add(len).saturating_sub(map.offset);
        let from = (at.saturating_sub(map.offset) as usize).min(map.len);
        let end = usize::try_from(end).unwrap_or(usize::MAX).min(map.len);
        let mut at = from;
        while at < end {
            let some = (SECTOR - at % SECTOR).min(end - at);
            // SAFETY: inside of the shadow.
            unsafe { fill_with_zeroes(map.shadow_at(at), some) };
            at += some;
        }
    }
}

/// The file of which a range of memory shows something.
pub(super) fn file_in(tape: &Tape, address: usize, len: usize) -> Option<Inode> {
    let end = address.saturating_add(len);
    in_range(tape, address, end)
        .map(|map| map.get().inode)
        .next()
}

/// The file of which a range of memory shows all that there is.
pub(super) fn whole_file(tape: &Tape, address: usize, len: usize) -> Option<Inode> {
    let end = address.saturating_add(len);
    maps(tape).map(Cell::get).find_map(|map| {
        let here = map.address != 0 && address <= map.address && map.offset == 0;
        let size = Stat::of_fd(map.fd)?.size as usize;
        (here && size <= map.len && map.address.saturating_add(size) <= end).then_some(map.inode)
    })
}

/// Gives back what the mappings of a record hold.
///
/// # Safety
///
/// `base` is the memory of a record that nobody uses any more.
pub(super) unsafe fn release(base: *mut u8) {
    for n in 0..MAPS {
        // SAFETY: the table is at the beginning of the memory.
        let map = unsafe { base.cast::<Map>().add(n).read() };
        if map.address != 0 {
            map.release();
        }
    }
}

/// The table of mappings; without a record there is none.
fn maps(tape: &Tape) -> impl Iterator<Item = &'static Cell<Map>> {
    let base = tape.base.load(Acquire).cast::<Cell<Map>>();
    let count = if tape.maps.load(Relaxed) > 0 { MAPS } else { 0 };
    // SAFETY: the table is at the beginning of the record's memory, and the tape is locked.
    (0..count).map(move |n| unsafe { &*base.add(n) })
}

fn in_range(tape: &Tape, address: usize, end: usize) -> impl Iterator<Item = &'static Cell<Map>> {
    maps(tape).filter(move |map| map.get().overlaps(address, end))
}

/// The recorders of this process that look after mappings.
fn with_maps() -> u64 {
    let any = slot::each(slot::recording()).any(|(_, slot)| slot.tape.maps.load(Relaxed) > 0);
    if !any {
        return 0;
    }
    Hits::among(slot::recording(), |slot| slot.tape.maps.load(Relaxed) > 0).recorders()
}

/// Whether `mprotect` could make a mapping of this descriptor writable.
fn can_become_writable(fd: i32) -> bool {
    // SAFETY: plain numbers.
    let flags = unsafe { sys!(SYS_fcntl, fd, libc::F_GETFL) };
    !failed(flags) && flags as i32 & libc::O_ACCMODE == libc::O_RDWR
}

/// Stores zeroes, unless there are some already: a page that was never used stays so.
///
/// # Safety
///
/// There are `len` bytes.
unsafe fn fill_with_zeroes(to: *mut u8, len: usize) {
    // SAFETY: as the caller's.
    unsafe {
        let old = core::slice::from_raw_parts(to, len);
        if old.iter().any(|byte| *byte != 0) {
            to.write_bytes(0, len);
        }
    }
}

fn page() -> usize {
    // SAFETY: reads what the kernel said when the program began.
    let size = unsafe { libc::getauxval(libc::AT_PAGESZ) } as usize;
    size.max(SECTOR)
}
