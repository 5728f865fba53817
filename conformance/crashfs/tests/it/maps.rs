//! Stores through shared mappings are in the record, as writes.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::{
        fd::AsRawFd,
        unix::{fs::FileExt, process::CommandExt},
    },
    path::Path,
    process::Command,
};

use sessionlog_crashfs::{Fault, FaultKind, FileId, Op, Recorder};
use tempfile::tempdir;

use crate::records::{recorded, write};

const A: FileId = FileId(1);
const PAGE: usize = 4096;
const READ: i32 = libc::PROT_READ;
const BOTH: i32 = libc::PROT_READ | libc::PROT_WRITE;

fn file(at: &Path, len: u64) -> File {
    let mut options = File::options();
    let file = options
        .read(true)
        .write(true)
        .create(true)
        .open(at.join("a"))
        .unwrap();
    file.set_len(len).unwrap();
    file
}

/// A shared mapping of a whole file.
struct Map(*mut u8, usize);

impl Map {
    fn new(file: &File, len: usize, protection: i32) -> Map {
        let null = std::ptr::null_mut();
        // SAFETY: a new mapping.
        let map =
            unsafe { libc::mmap(null, len, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        assert_ne!(map, libc::MAP_FAILED);
        Map(map.cast(), len)
    }

    fn store(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.1);
        // SAFETY: inside of the mapping.
        unsafe {
            let to = self.0.add(at);
            to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }

    fn flush(&self, flags: i32) {
        // SAFETY: the mapping.
        assert_eq!(unsafe { libc::msync(self.0.cast(), self.1, flags) }, 0);
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: nobody else has it.
        unsafe { libc::munmap(self.0.cast(), self.1) };
    }
}

/// The writes of a record, with the zeroes at their ends cut off.
fn stores(ops: &[Op]) -> Vec<(u64, Vec<u8>)> {
    let store = |op: &Op| match op {
        Op::Write { at, data, .. } => {
            let end = data.iter().rposition(|b| *b != 0).map_or(0, |n| n + 1);
            Some((*at, data.get(..end)?.to_vec()))
        }
        _ => None,
    };
    ops.iter().filter_map(store).collect()
}

fn flush(data_only: bool) -> Op {
    let (file, ok) = (A, true);
    Op::Flush {
        file,
        data_only,
        ok,
    }
}

#[test]
fn stores_are_told_at_the_next_flush_of_anything_and_msync_flushes() {
    let record = recorded(|at| {
        let file = file(at, 8192);
        let map = Map::new(&file, 8192, BOTH);
        map.store(0, b"one");
        map.flush(libc::MS_ASYNC);
        map.store(5000, b"two");
        map.flush(libc::MS_SYNC);
        map.store(600, b"three");
        file.sync_data().unwrap();
        map.store(600, b"three");
        File::open(at).unwrap().sync_all().unwrap();
        map.store(1, b"N");
    });
    let expected: [(u64, &[u8]); 4] = [(0, b"one"), (4608, &[]), (512, &[]), (0, b"oNe")];
    let told = stores(&record.ops);
    assert_eq!(
        told.iter().map(|s| s.0).collect::<Vec<_>>(),
        expected.map(|s| s.0)
    );
    assert_eq!((&told[0].1[..], &told[3].1[..]), (&b"one"[..], &b"oNe"[..]));
    let flushes: Vec<_> = record
        .ops
        .iter()
        .filter(|op| matches!(op, Op::Flush { .. }))
        .collect();
    assert_eq!(flushes, [&flush(true), &flush(true)], "{:?}", record.ops);
    assert!(matches!(record.ops[2], Op::Write { at: 0, .. }));
    assert!(matches!(record.ops[3], Op::Write { at: 4608, .. }));
    assert_eq!(record.ops[4], flush(true));
}

#[test]
fn calls_and_stores_on_one_file_stay_in_order() {
    let record = recorded(|at| {
        let file = file(at, 4096);
        let map = Map::new(&file, 4096, BOTH);
        let twin = Map::new(&file, 4096, BOTH);
        map.store(0, b"stored");
        file.write_all_at(b"W", 0).unwrap();
        twin.store(1, b"T");
        file.set_len(3).unwrap();
        file.set_len(4096).unwrap();
        map.store(4, b"4");
    });
    let expected = [
        (0, b"stored".to_vec()),
        (0, b"W".to_vec()),
        (0, b"WTored".to_vec()),
        (0, b"WTo\x004".to_vec()),
    ];
    assert_eq!(stores(&record.ops), expected, "{:?}", record.ops);
}

#[test]
fn a_file_that_grows_under_a_longer_mapping() {
    let record = recorded(|at| {
        let mut file = file(at, 0);
        let map = Map::new(&file, 64 * PAGE, BOTH);
        file.write_all(&[7; 100]).unwrap();
        map.store(100 - 1, b"8");
        file.set_len(3 * PAGE as u64).unwrap();
        map.store(2 * PAGE, b"9");
        file.sync_all().unwrap();
    });
    let at: Vec<_> = stores(&record.ops).into_iter().map(|s| s.0).collect();
    assert_eq!(at, [0, 0, 2 * PAGE as u64]);
}

#[test]
fn a_closed_file_and_a_removed_one_are_still_looked_after() {
    let record = recorded(|at| {
        let file = file(at, 4096);
        let map = Map::new(&file, 4096, BOTH);
        drop(file);
        map.store(0, b"closed");
        drop(map);
        let file = File::options()
            .read(true)
            .write(true)
            .open(at.join("a"))
            .unwrap();
        let map = Map::new(&file, 4096, BOTH);
        fs::remove_file(at.join("a")).unwrap();
        map.store(0, b"gone");
    });
    let told = stores(&record.ops);
    assert_eq!(told, [(0, b"closed".to_vec()), (0, b"goneed".to_vec())]);
}

#[test]
fn a_mapping_made_writable_later_is_seen() {
    let record = recorded(|at| {
        let file = file(at, 4096);
        let map = Map::new(&file, 4096, READ);
        // SAFETY: the mapping.
        assert_eq!(unsafe { libc::mprotect(map.0.cast(), 4096, BOTH) }, 0);
        map.store(0, b"x");
    });
    assert_eq!(stores(&record.ops), [(0, b"x".to_vec())]);
}

#[test]
fn a_mapping_that_is_cut_moved_or_replaced_is_followed() {
    let record = recorded(|at| {
        let file = file(at, 4 * PAGE as u64);
        let map = Map::new(&file, 4 * PAGE, BOTH);
        map.store(0, b"first");
        map.store(PAGE, b"second");
        // SAFETY: parts of the mapping, which are not used any more.
        unsafe {
            assert_eq!(libc::munmap(map.0.cast(), PAGE), 0);
            assert_eq!(libc::munmap(map.0.add(3 * PAGE).cast(), PAGE), 0);
        }
        map.store(2 * PAGE, b"third");
        let (old, two) = (map.0.wrapping_add(PAGE), 2 * PAGE);
        std::mem::forget(map);
        // SAFETY: the rest of the mapping, which moves or grows.
        let moved = unsafe { libc::mremap(old.cast(), two, 3 * PAGE, libc::MREMAP_MAYMOVE) };
        assert_ne!(moved, libc::MAP_FAILED);
        let map = Map(moved.cast(), 3 * PAGE);
        map.store(2 * PAGE, b"fourth");
        // SAFETY: replaces the mapping, all of it.
        let replaced = unsafe {
            let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(moved, 3 * PAGE, BOTH, flags, -1, 0)
        };
        assert_eq!(replaced, moved);
        map.store(0, b"not the file's");
    });
    let page = PAGE as u64;
    let expected = [
        (0, b"first".to_vec()),
        (page, b"second".to_vec()),
        (2 * page, b"third".to_vec()),
        (3 * page, b"fourth".to_vec()),
    ];
    assert_eq!(stores(&record.ops), expected);
}

#[test]
fn private_and_foreign_mappings_are_left_alone() {
    let outside = tempdir().unwrap();
    let record = recorded(|at| {
        fs::write(at.join("a"), [1; 4096]).unwrap();
        let inside = File::open(at.join("a")).unwrap();
        let (null, flags) = (std::ptr::null_mut(), libc::MAP_PRIVATE);
        // SAFETY: a new mapping.
        let map = unsafe { libc::mmap(null, 4096, BOTH, flags, inside.as_raw_fd(), 0) };
        Map(map.cast(), 4096).store(0, b"mine");
        Map::new(&file(outside.path(), 4096), 4096, BOTH).store(0, b"theirs");
        drop(Map::new(&inside, 4096, READ));
    });
    assert_eq!(record.ops[1..], [write(A, 0, &[1; 4096])]);
}

#[test]
fn too_many_mappings_are_not_silence() {
    let folder = tempdir().unwrap();
    let recorder = Recorder::new(folder.path()).unwrap();
    let file = file(folder.path(), 4096);
    let maps: Vec<_> = (0..65).map(|_| Map::new(&file, 4096, BOTH)).collect();
    drop(maps);
    let said = recorder.finish().unwrap_err().to_string();
    assert!(said.contains("mapping"), "{said}");
}

#[test]
fn a_folder_with_a_mapping_from_before_is_refused() {
    let folder = tempdir().unwrap();
    let file = file(folder.path(), 4096);
    let map = Map::new(&file, 4096, BOTH);
    let busy = Recorder::new(folder.path()).unwrap_err();
    assert_eq!(busy.kind(), io::ErrorKind::ResourceBusy);
    drop(map);
    Recorder::new(folder.path()).unwrap();
}

#[test]
fn no_lock_of_a_file_is_given_away() {
    let folder = tempdir().unwrap();
    let file = file(folder.path(), 4096);
    // SAFETY: zeroes are a lock of the whole file, from its start.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as i16;
    // SAFETY: the lock outlives the call.
    let locked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &lock) };
    assert_eq!(locked, 0);
    let recorder = Recorder::new(folder.path()).unwrap();
    let map = Map::new(&file, 4096, BOTH);
    map.store(0, b"x");
    drop(map);
    recorder.finish().unwrap();

    // Only another process sees whether the lock is still there.
    let mut child = Command::new("true");
    // SAFETY: `fcntl` is allowed in a forked child.
    unsafe {
        child.pre_exec(move || {
            let taken = libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &lock) == 0;
            if taken {
                Err(io::ErrorKind::Other.into())
            } else {
                Ok(())
            }
        });
    }
    assert!(child.status().unwrap().success());
}

#[test]
fn a_part_that_is_flushed_is_no_flush_but_taints_when_it_fails() {
    let folder = tempdir().unwrap();
    let recorder = Recorder::new(folder.path()).unwrap();
    let file = file(folder.path(), 2 * PAGE as u64);
    let map = Map::new(&file, 2 * PAGE, BOTH);
    // SAFETY: a part of the mapping.
    let part = || unsafe { libc::msync(map.0.cast(), PAGE, libc::MS_SYNC) };
    assert_eq!(part(), 0);
    assert_eq!(recorder.mark(), 2, "created and made longer");
    recorder.inject(Fault {
        kind: FaultKind::Eio,
        at: 1,
        lasting: false,
    });
    assert_eq!(part(), -1);
    drop(map);
    let record = recorder.finish().unwrap();
    assert!(
        matches!(record.ops[2], Op::Flush { ok: false, .. }),
        "{record:?}"
    );
}
