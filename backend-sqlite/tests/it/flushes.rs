//! What is acknowledged is flushed: seen by a record of the store's file calls.

use sessionlog_crashfs::{Fault, FaultKind, FileId, Op, Record, Recorder, Risk, Tree, armed};

use crate::util::*;

fn flushes(ops: &[Op], wal: FileId) -> usize {
    let of_wal = |op: &&Op| matches!(op, Op::Flush { file, ok: true, .. } if *file == wal);
    ops.iter().filter(of_wal).count()
}

#[test]
fn what_a_killed_process_left_unflushed_is_flushed_before_it_is_acknowledged_again() {
    armed().unwrap();
    let (dir, store, session) = with_events(1);
    let events = vec![event("\"a\""), event("\"b\"")];
    let range = block_on(store.append(&session, events.clone(), NONE)).unwrap();
    // A kill leaves what was written, all of it in the write-ahead log. Here, nobody has flushed it.
    let left = tempfile::tempdir().unwrap();
    Tree::read(dir.path()).unwrap().write(left.path()).unwrap();

    let recorder = Recorder::new(left.path()).unwrap();
    let other = open(&left);
    assert_eq!(tail(&other, &session), 3);
    let mut marks = vec![recorder.mark()];
    for _ in 0..2 {
        let again = block_on(other.append(&session, events.clone(), NONE));
        assert_eq!(again.unwrap(), range);
        marks.push(recorder.mark());
    }
    drop(other);
    let record = recorder.finish().unwrap();
    let wal = record.start.find("store.db-wal").unwrap();
    for between in marks.windows(2) {
        let ops = &record.ops[between[0]..between[1]];
        assert_eq!(flushes(ops, wal), 1, "{ops:?}");
    }
}

/// How much of the write-ahead log a power loss behind the first `mark` calls could take.
fn at_risk(record: &Record, mark: usize) -> Risk {
    let log = record.ops.iter().find_map(|op| match op {
        Op::Create { file, place } if &*place.name == "store.db-wal" => Some(*file),
        _ => None,
    });
    record.risk(log.unwrap(), mark)
}

#[test]
fn what_a_killed_process_left_is_not_taken_for_durable_behind_a_flush_that_failed() {
    armed().unwrap();
    let (dir, store, session) = with_events(1);
    let again = vec![event("\"a\"")];
    let range = block_on(store.append(&session, again.clone(), NONE)).unwrap();
    let mut start = Tree::read(dir.path()).unwrap();
    // Without what no process that was killed keeps: its index of the log.
    let log = start.bytes("store.db-wal").unwrap().to_vec();
    let root = start.folders.get_mut(&FileId::ROOT).unwrap();
    root.retain(|name, _| name.to_str() == Some("store.db"));
    let mut failed = 0;
    for (at, lasting) in (1..24).flat_map(|at| [(at, false), (at, true)]) {
        let place = tempfile::tempdir().unwrap();
        start.write(place.path()).unwrap();
        let recorder = Recorder::new(place.path()).unwrap();
        std::fs::write(place.path().join("store.db-wal"), &log).unwrap();
        let kind = FaultKind::Eio;
        recorder.inject(Fault { kind, at, lasting });
        // Who can't open the store tries again.
        let send = || {
            let other = Sqlite::open(path(&place), Options::default())?;
            let told = block_on(other.append(&session, again.clone(), NONE));
            let mark = recorder.mark();
            told.map(|told| (told, mark))
        };
        let first = send();
        recorder.heal();
        let second = send().unwrap();
        assert_eq!(
            second.0, range,
            "call {at}, lasting {lasting}, behind {first:?}"
        );
        let record = recorder.finish().unwrap();
        failed += usize::from(
            record
                .ops
                .iter()
                .any(|op| matches!(op, Op::Flush { ok: false, .. })),
        );
        for (_, mark) in first.into_iter().chain([second]) {
            assert_eq!(
                at_risk(&record, mark),
                Risk::default(),
                "call {at}, lasting {lasting}"
            );
        }
    }
    assert!(failed > 3, "{failed}");
}
