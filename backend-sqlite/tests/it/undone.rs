//! What is acknowledged is not undone by a power loss, whatever failed before.

use std::collections::BTreeSet;
use std::fs::{self, File};

use rusqlite::Connection;
use sessionlog_crashfs::{Fault, FaultKind, FileId, Op, Record, Recorder, Risk, Tree, armed};

use crate::util::*;

fn fault(at: u64, lasting: bool) -> Fault {
    let kind = FaultKind::Eio;
    Fault { kind, at, lasting }
}

/// How many events the session has in the store that the worst power loss leaves.
fn lost(record: &Record, mark: usize, session: &SessionRef) -> Result<u64> {
    let dir = tempfile::tempdir().unwrap();
    record.least(mark).write(dir.path()).unwrap();
    let store = Sqlite::open(path(&dir), Options::default())?;
    read(&store, session.id.as_str()).map(|events| events.len() as u64)
}

/// The process behind the one that was killed knows nothing of the flush that failed.
#[test]
fn what_a_process_left_that_was_killed_behind_a_failed_flush_is_written_anew() {
    armed().unwrap();
    let (dir, store, session) = with_events(1);
    let again = vec![event("\"a\"")];
    let range = block_on(store.append(&session, again.clone(), NONE)).unwrap();
    let mut start = Tree::read(dir.path()).unwrap();
    let log = start.bytes("store.db-wal").unwrap().to_vec();
    let root = start.folders.get_mut(&FileId::ROOT).unwrap();
    root.retain(|name, _| name.to_str() == Some("store.db"));
    for (repeats, reads) in [(true, false), (true, true), (false, false), (false, true)] {
        let place = tempfile::tempdir().unwrap();
        start.write(place.path()).unwrap();
        let recorder = Recorder::with_room(place.path(), 64 << 20).unwrap();
        let wal = place.path().join("store.db-wal");
        fs::write(&wal, &log).unwrap();
        recorder.inject(fault(1, false));
        File::open(&wal).unwrap().sync_data().unwrap_err();
        recorder.heal();

        let store = open(&place);
        if reads {
            assert_eq!(tail(&store, &session), 2);
        }
        let expected = if repeats {
            let told = block_on(store.append(&session, again.clone(), NONE));
            assert_eq!(told.unwrap(), range);
            2
        } else {
            append(&store, &session, &["\"b\""]).unwrap();
            3
        };
        let mark = recorder.mark();
        drop(store);
        let record = recorder.finish().unwrap();
        let file = record.ops.iter().find_map(|op| match op {
            Op::Create { file, place } if &*place.name == "store.db-wal" => Some(*file),
            _ => None,
        });
        assert_eq!(record.risk(file.unwrap(), mark), Risk::default());
        assert_eq!(lost(&record, mark, &session).unwrap(), expected);
    }
}

/// SQLite flushes the name of its log, and keeps to itself whether that worked.
#[test]
fn the_names_of_a_store_and_its_log_are_durable_before_anything_is_acknowledged() {
    armed().unwrap();
    let mut folders = 0;
    for at in 1.. {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a/b");
        let file = folder.join("store.db");
        let recorder = Recorder::with_room(dir.path(), 64 << 20).unwrap();
        recorder.inject(fault(at, false));
        let session = SessionRef::fresh(id("s"));
        let send = || -> Result<()> {
            let store = Sqlite::open(&file, Options::default())?;
            match block_on(store.create(&session)) {
                Err(error) if matches!(error.kind(), ErrorKind::Conflict { .. }) => {}
                created => created?,
            }
            append(&store, &session, &["1"])?;
            // Closed, the log would be copied into the database.
            std::mem::forget(store);
            Ok(())
        };
        let mut told = send();
        let mut mark = recorder.mark();
        let hits = recorder.hits();
        recorder.heal();
        if told.is_err() {
            told = send();
            mark = recorder.mark();
        }
        told.unwrap();
        let record = recorder.finish().unwrap();
        let failed = |op: &Op| matches!(op, Op::FlushFolder { ok: false, .. });
        folders += usize::from(record.ops.iter().any(failed));
        let place = tempfile::tempdir().unwrap();
        record.least(mark).write(place.path()).unwrap();
        let store = Sqlite::open(place.path().join("a/b/store.db"), Options::default()).unwrap();
        assert_eq!(tail(&store, &session), 1, "call {at}");
        if hits == 0 {
            break;
        }
    }
    assert!(folders > 3, "{folders}");
}

/// A database of which a page of events is damaged.
fn damaged() -> (TempDir, SessionRef) {
    let (dir, store, session) = with_events(0);
    for n in 0..40 {
        append(
            &store,
            &session,
            &[&format!("\"{n} {}\"", "x".repeat(1_000))],
        )
        .unwrap();
    }
    drop(store);
    let mut bytes = fs::read(path(&dir)).unwrap();
    let at = bytes.windows(8).position(|at| at == b"\"20 xxxx").unwrap();
    let page = bytes.chunks_mut(8192).nth(at / 8192).unwrap();
    page.fill(0);
    fs::write(path(&dir), bytes).unwrap();
    (dir, session)
}

fn kept(dir: &TempDir) -> usize {
    let entries = fs::read_dir(dir.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name());
    let kept = names.filter(|name| name.to_string_lossy().contains("-damaged-"));
    kept.count()
}

fn is_sound(dir: &TempDir) -> bool {
    let conn = Connection::open(path(dir)).unwrap();
    let check = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    check.is_ok_and(|check| check == "ok")
}

#[test]
fn a_repair_whose_last_flush_fails_keeps_the_damaged_database_and_says_that_it_may_have_happened() {
    armed().unwrap();
    let (dir, session) = damaged();
    let recorder = Recorder::with_room(dir.path(), 256 << 20).unwrap();
    block_on(open(&dir).repair(&session.id, true)).unwrap();
    assert_eq!(kept(&dir), 1);
    let record = recorder.finish().unwrap();
    let of = |name: &str| {
        record.ops.iter().find_map(|op| match op {
            Op::Create { file, place } if place.name.to_str() == Some(name) => Some(*file),
            _ => None,
        })
    };
    let (log, index) = (of("store.db-wal"), of("store.db-shm"));
    // The index of the log is written without calls.
    let is_call = |op: &&Op| !matches!(op, Op::Write { file, .. } if Some(*file) == index);
    let calls = (1_u64..).zip(record.ops.iter().filter(is_call));
    let flushes =
        calls.filter(|(_, op)| matches!(op, Op::Flush { file, .. } if Some(*file) == log));
    let near: BTreeSet<u64> = flushes.flat_map(|(at, _)| at - 1..at + 2).collect();
    for at in near {
        let (dir, session) = damaged();
        let recorder = Recorder::with_room(dir.path(), 256 << 20).unwrap();
        recorder.inject(fault(at, true));
        let store = open(&dir);
        let told = block_on(store.repair(&session.id, true));
        recorder.heal();
        // What a kill leaves: nobody has closed the database.
        let left = tempfile::tempdir().unwrap();
        for name in ["store.db", "store.db-wal"] {
            if dir.path().join(name).exists() {
                fs::copy(dir.path().join(name), left.path().join(name)).unwrap();
            }
        }
        if is_sound(&left) {
            assert_eq!(kept(&dir), 1, "{at}: {told:?}");
            let error = told.unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Indeterminate, "{at}: {error}");
            // The disk works again.
            block_on(store.repair(&session.id, true)).unwrap();
            assert_eq!(block_on(store.verify(&session.id)).unwrap(), []);
            return;
        }
    }
    unreachable!("no flush of the commit failed");
}
