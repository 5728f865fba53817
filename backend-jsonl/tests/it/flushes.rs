//! What is acknowledged is flushed: seen by a record of the store's file calls.

use sessionlog_backend_jsonl::{Jsonl, Options};
use sessionlog_crashfs::{FileId, Op, Recorder, Tree, armed};

use crate::util::*;

/// How often `file` was flushed, and how often it was changed.
fn flushes_and_writes(ops: &[Op], file: FileId) -> (usize, usize) {
    let count = |what: fn(&Op) -> Option<FileId>| {
        let of_file = |op: &&Op| what(op) == Some(file);
        ops.iter().filter(of_file).count()
    };
    let flush = |op: &Op| match op {
        Op::Flush { file, ok: true, .. } => Some(*file),
        _ => None,
    };
    let write = |op: &Op| match op {
        Op::Write { file, .. } | Op::Truncate { file, .. } => Some(*file),
        _ => None,
    };
    (count(flush), count(write))
}

#[test]
fn what_a_killed_process_left_unflushed_is_flushed_before_it_is_acknowledged_again() {
    armed().unwrap();
    let (_dir, store, session) = with_events(1);
    let events = vec![event("\"a\""), event("\"b\"")];
    let range = block_on(store.append(&session, events.clone(), NONE)).unwrap();
    // A kill leaves what was written. Here, nobody has flushed it.
    let left = tempfile::tempdir().unwrap();
    Tree::read(store.path())
        .unwrap()
        .write(left.path())
        .unwrap();

    let recorder = Recorder::new(left.path()).unwrap();
    let other = Jsonl::open(left.path(), Options::default()).unwrap();
    assert_eq!(tail(&other, &session), 3);
    let mut marks = vec![recorder.mark()];
    for _ in 0..2 {
        let again = block_on(other.append(&session, events.clone(), NONE));
        assert_eq!(again.unwrap(), range);
        marks.push(recorder.mark());
    }
    drop(other);
    let record = recorder.finish().unwrap();
    let log = record.start.find("s/events.jsonl").unwrap();
    let first = flushes_and_writes(&record.ops[marks[0]..marks[1]], log);
    assert_eq!(first, (1, 0));
    // The same handle knows by then that it is flushed.
    let second = flushes_and_writes(&record.ops[marks[1]..marks[2]], log);
    assert_eq!(second, (0, 0));
}
