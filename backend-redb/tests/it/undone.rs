//! What is acknowledged behind a commit that failed is not undone by a power loss.

use futures_util::{StreamExt, TryStreamExt, stream};
use sessionlog_backend_redb::{Options, Redb};
use sessionlog_crashfs::{Fault, FaultKind, Op, Record, Recorder, armed};

use crate::util::*;

/// More than one transaction takes.
const LARGE: usize = 17 * 258_048;

fn put(store: &Redb, session: &SessionRef, content: &[u8]) -> Result<BlobInfo> {
    let pieces = stream::iter([Ok(content.to_vec().into())]).boxed();
    block_on(store.put(session, pieces, None))
}

fn get(store: &Redb, session: &SessionRef, id: BlobId) -> Result<Vec<u8>> {
    let pieces: Vec<bytes::Bytes> = block_on(store.get(session, id, 0..u64::MAX).try_collect())?;
    Ok(pieces.concat())
}

/// The store as the worst power loss leaves it.
fn lost(record: &Record, mark: usize) -> (TempDir, Redb) {
    let dir = tempfile::tempdir().unwrap();
    record.least(mark).write(dir.path()).unwrap();
    let store = open(&dir);
    (dir, store)
}

fn fault(at: u64, lasting: bool) -> Fault {
    let kind = FaultKind::Eio;
    Fault { kind, at, lasting }
}

fn modes() -> [Options; 2] {
    [Options::default(), Options::default().exclusive()]
}

/// Puts a large blob beside a fault, and once more. Gives how many calls the first put made, and whether nobody
/// knows what became of it.
fn put_twice(options: &Options, fault: Fault) -> (u64, bool) {
    let content = vec![7; LARGE];
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.redb");
    let store = Redb::open(&path, options.clone()).unwrap();
    let session = filled(&store, "s", 1);
    let recorder = Recorder::with_room(dir.path(), 256 << 20).unwrap();
    recorder.inject(fault);
    let first = put(&store, &session, &content);
    recorder.heal();
    let calls = recorder.mark() as u64;
    let what = format!("{options:?}, {fault:?}: {first:?}");
    let listed: Vec<BlobInfo> = block_on(store.list(&session).try_collect()).unwrap();
    for info in listed {
        assert!(get(&store, &session, info.id).is_ok(), "{what}");
    }
    let info = put(&store, &session, &content).unwrap();
    let mark = recorder.mark();
    assert!(get(&store, &session, info.id).unwrap() == content, "{what}");
    drop(store);
    let record = recorder.finish().unwrap();
    let (_dir, store) = lost(&record, mark);
    assert!(get(&store, &session, info.id).unwrap() == content, "{what}");
    let undecided = first.is_err_and(|e| *e.kind() == ErrorKind::Indeterminate);
    (calls, undecided)
}

#[test]
fn a_large_blob_whose_last_commit_fails_keeps_its_content_and_is_there_once_it_is_acknowledged() {
    armed().unwrap();
    for options in modes() {
        let (calls, _) = put_twice(&options, fault(0, false));
        let ends = (calls - 4..=calls).flat_map(|at| [fault(at, false), fault(at, true)]);
        let undecided = ends.filter(|fault| put_twice(&options, *fault).1);
        assert!(undecided.count() > 0, "{options:?}");
    }
}

#[test]
fn a_blob_that_lost_its_rows_is_put_once_more() {
    let chunks = redb::TableDefinition::<(u64, u32), &[u8]>::new("chunks");
    for (len, keep) in [(LARGE, 3), (LARGE, 0), (10, 0)] {
        let (dir, store, session) = with_events(1);
        let content = vec![7; len];
        let info = put(&store, &session, &content).unwrap();
        drop(store);
        let path = dir.path().join("store.redb");
        let database = redb::Builder::new().open(&path).unwrap();
        let mut txn = database.begin_write().unwrap();
        txn.set_quick_repair(true);
        txn.open_table(chunks)
            .unwrap()
            .retain(|(_, index), _| index < keep)
            .unwrap();
        txn.commit().unwrap();
        drop(database);
        let store = open(&dir);
        assert!(get(&store, &session, info.id).unwrap_err().is_corrupt());
        put(&store, &session, &content).unwrap();
        assert!(get(&store, &session, info.id).unwrap() == content);
        assert_eq!(block_on(store.verify(&session.id)).unwrap(), []);
    }
}

/// A shared store shows what a commit made that failed behind the change of its header. Who finds that there is
/// nothing to do any more has to make it durable.
#[test]
fn what_another_handle_was_refused_is_not_acknowledged_before_it_is_durable() {
    armed().unwrap();
    let content = [7; 10];
    let mut undecided = 0;
    for (at, lasting) in (1..20).flat_map(|at| [(at, false), (at, true)]) {
        for removes in [false, true] {
            let (dir, store, session) = with_events(1);
            let id = put(&store, &session, &[1]).unwrap().id;
            drop(store);
            let (store, other) = (open(&dir), open(&dir));
            for store in [&store, &other] {
                append(store, &session, &["1"]).unwrap();
            }
            let send = |store: &Redb| match removes {
                false => put(store, &session, &content).map(drop),
                true => block_on(store.remove(&session, id, None)),
            };
            let recorder = Recorder::with_room(dir.path(), 64 << 20).unwrap();
            recorder.inject(fault(at, lasting));
            let first = send(&store);
            recorder.heal();
            let what = format!("{removes}, call {at}, lasting {lasting}: {first:?}");
            undecided += usize::from(first.is_err_and(|e| *e.kind() == ErrorKind::Indeterminate));
            send(&other).unwrap();
            let mark = recorder.mark();
            let record = recorder.finish().unwrap();
            let (_dir, store) = lost(&record, mark);
            let blobs: Vec<BlobInfo> = block_on(store.list(&session).try_collect()).unwrap();
            assert_eq!(blobs.len(), if removes { 0 } else { 2 }, "{what}");
        }
    }
    assert!(undecided > 2, "{undecided}");
}

/// The next handle, and so the next process, knows nothing of a flush that failed.
#[test]
fn a_flush_that_failed_is_made_up_for_by_whoever_opens_the_store_next() {
    armed().unwrap();
    let mut undecided = 0;
    for (first, second) in [(1, 1), (1, 0), (0, 1)] {
        for (at, lasting) in (1..12).flat_map(|at| [(at, false), (at, true)]) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("store.redb");
            let store = Redb::open(&path, modes()[first].clone()).unwrap();
            let session = filled(&store, "s", 3);
            let recorder = Recorder::with_room(dir.path(), 64 << 20).unwrap();
            recorder.inject(fault(at, lasting));
            let batch = vec![event("\"a\""), event("\"b\"")];
            let told = block_on(store.append(&session, batch.clone(), NONE));
            recorder.inject(fault(1, true));
            drop(store);
            recorder.heal();
            let what = format!("{first} {second}, call {at}, lasting {lasting}: {told:?}");
            undecided += usize::from(told.is_err_and(|e| *e.kind() == ErrorKind::Indeterminate));
            let store = Redb::open(&path, modes()[second].clone()).unwrap();
            block_on(store.append(&session, batch, NONE)).unwrap();
            let mut marks = vec![(5, recorder.mark())];
            // Written to other pages.
            let other = create(&store, "other");
            append(&store, &other, &["\"c\""]).unwrap();
            marks.push((5, recorder.mark()));
            append(&store, &session, &["\"c\""]).unwrap();
            marks.push((6, recorder.mark()));
            drop(store);
            let record = recorder.finish().unwrap();
            for (expected, mark) in marks {
                let (_dir, store) = lost(&record, mark);
                let log = read(&store, &session).map(|log| log.len());
                assert_eq!(log.unwrap(), expected, "{what}");
            }
        }
    }
    assert!(undecided > 2, "{undecided}");
}

#[test]
fn the_name_of_a_store_is_durable_before_anything_in_it_is_acknowledged() {
    armed().unwrap();
    for options in modes() {
        let mut refused = 0;
        for at in 1..40 {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("a/b/store.redb");
            let recorder = Recorder::with_room(dir.path(), 64 << 20).unwrap();
            recorder.inject(fault(at, false));
            let session = SessionRef::fresh(id("s"));
            let store = Redb::open(&path, options.clone()).unwrap();
            let first = block_on(store.create(&session));
            // The next handle finds the file, and does not know how it came there.
            drop(store);
            recorder.heal();
            let store = Redb::open(&path, options.clone()).unwrap();
            match block_on(store.create(&session)) {
                Err(error) if matches!(error.kind(), ErrorKind::Conflict { .. }) => {}
                created => created.unwrap(),
            }
            append(&store, &session, &["1"]).unwrap();
            let mark = recorder.mark();
            drop(store);
            let record = recorder.finish().unwrap();
            let flushed = |op: &Op| matches!(op, Op::FlushFolder { ok: false, .. });
            refused += usize::from(first.is_err() && record.ops.iter().any(flushed));
            let left = record.least(mark);
            assert!(
                left.find("a/b/store.redb").is_some(),
                "{options:?} {at}: {first:?}"
            );
        }
        assert_eq!(refused, 3);
    }
}
