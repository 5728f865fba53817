//! What is acknowledged is flushed: seen by a record of the store's file calls.

use sessionlog_crashfs::{FileId, Op, Recorder, Tree, armed};

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
