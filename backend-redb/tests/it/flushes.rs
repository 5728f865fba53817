//! After a flush that failed, nothing is acknowledged that may rest on what it lost.

use sessionlog_backend_redb::{Options, Redb};
use sessionlog_crashfs::{Fault, FaultKind, FileId, Op, Recorder, Tree, armed};

use crate::util::*;

#[test]
fn what_a_killed_process_left_is_not_taken_for_durable_behind_a_flush_that_failed() {
    armed().unwrap();
    // A shared store commits in two phases: it flushes what a header leads to before it writes the header.
    let options = Options::default().exclusive();
    let dir = tempfile::tempdir().unwrap();
    let store = Redb::open(dir.path().join("store.redb"), options.clone()).unwrap();
    let session = filled(&store, "s", 1);
    drop(store);
    let start = Tree::read(dir.path()).unwrap();
    let store = Redb::open(dir.path().join("store.redb"), options.clone()).unwrap();
    let again = vec![event("\"a\"")];
    let range = block_on(store.append(&session, again.clone(), NONE)).unwrap();
    // A kill leaves what was written. Here, nobody has flushed it.
    let left = std::fs::read(dir.path().join("store.redb")).unwrap();
    drop(store);
    let mut failed = 0;
    for (at, lasting) in (1..12).flat_map(|at| [(at, false), (at, true)]) {
        let place = tempfile::tempdir().unwrap();
        start.write(place.path()).unwrap();
        let recorder = Recorder::new(place.path()).unwrap();
        std::fs::write(place.path().join("store.redb"), &left).unwrap();
        let other = Redb::open(place.path().join("store.redb"), options.clone()).unwrap();
        let send = || {
            let told = block_on(other.append(&session, again.clone(), NONE));
            told.map(|told| (told, recorder.mark()))
        };
        let kind = FaultKind::Eio;
        recorder.inject(Fault { kind, at, lasting });
        let first = send();
        recorder.heal();
        let second = send().unwrap();
        assert_eq!(second.0, range, "call {at}, lasting {lasting}");
        let record = recorder.finish().unwrap();
        let flush = |op: &Op| matches!(op, Op::Flush { ok: false, .. });
        failed += usize::from(record.ops.iter().any(flush));
        let file: FileId = record.start.find("store.redb").unwrap();
        for (_, mark) in first.into_iter().chain([second]) {
            // A mark in the header that says who writes needs no flush.
            let doubtful = record.risk(file, mark).doubtful;
            assert_eq!(doubtful, 0, "{options:?}, call {at}, lasting {lasting}");
        }
    }
    assert!(failed > 2, "{failed}");
}

/// Several processes can share a store only if a header leads to nothing that is not flushed.
#[test]
fn a_commit_of_a_shared_store_is_flushed_twice_and_one_of_an_exclusive_store_once() {
    armed().unwrap();
    for (options, expected) in [(Options::default(), 2), (Options::default().exclusive(), 1)] {
        let dir = tempfile::tempdir().unwrap();
        let store = Redb::open(dir.path().join("store.redb"), options).unwrap();
        let session = filled(&store, "s", 3);
        let recorder = Recorder::with_room(dir.path(), 64 << 20).unwrap();
        append(&store, &session, &["4"]).unwrap();
        let record = recorder.finish().unwrap();
        let flush = |op: &&Op| matches!(op, Op::Flush { ok: true, .. });
        assert_eq!(record.ops.iter().filter(flush).count(), expected);
    }
}
