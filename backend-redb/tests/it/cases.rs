//! Situations that hurt users of other stores: several processes at the start, a lock that is held for
//! long, a full disk.

use std::time::Duration;

use crate::util::*;
use sessionlog_backend_redb::{Options, Redb};
use sessionlog_testkit::child::{join, part, run_behind, start};

/// Case 4b.
#[test]
fn many_processes_make_one_store() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/er/store.redb");
    let child = |n: usize| start("cases::child_that_creates", &path, &n.to_string());
    join((0..8).map(child).collect::<Vec<_>>());
    let store = Redb::open(&path, Options::default()).unwrap();
    let (same, _) = block_on(store.head(&id("same"))).unwrap();
    assert_eq!(read(&store, &same).unwrap().len(), 8);
    assert_eq!(block_on(store.strays()).unwrap(), []);
}

#[test]
fn child_that_creates() {
    let Some((path, _)) = part() else {
        return;
    };
    let patient = Options::default().busy_timeout(Duration::from_secs(60));
    let store = Redb::open(path, patient).unwrap();
    match block_on(store.create(&SessionRef::fresh(id("same")))) {
        Ok(()) => {}
        Err(error) => assert!(
            matches!(error.kind(), ErrorKind::Conflict { .. }),
            "{error}"
        ),
    }
    let (same, _) = block_on(store.head(&id("same"))).unwrap();
    append(&store, &same, &["1"]).unwrap();
}

/// Case 4c: somebody else has the write lock for longer than the timeout.
#[test]
fn a_lock_that_is_held_for_too_long_is_told_and_the_next_append_works() {
    let (dir, store, session) = with_events(1);
    drop(store);
    let path = dir.path().join("store.redb");
    let quick = Options::default().busy_timeout(Duration::from_millis(100));
    let store = Redb::open(&path, quick).unwrap();
    let mut builder = redb::Builder::new();
    builder.set_concurrency_mode(redb::ConcurrencyMode::MultiWriter);
    let other = builder.open(&path).unwrap();
    // The first time the handle has not written yet, the second time it has.
    for n in 1..3 {
        let held = other.begin_write().unwrap();
        let error = append(&store, &session, &["1"]).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("100 ms"), "{error}");
        let error = block_on(store.compact()).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
        let error = block_on(store.repair(&session.id, true)).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
        assert_eq!(read(&store, &session).unwrap().len(), n);
        let fresh = Redb::open(&path, Options::default()).unwrap();
        assert_eq!(block_on(fresh.verify(&session.id)).unwrap(), []);
        held.abort().unwrap();
        append(&store, &session, &["2"]).unwrap();
        assert_eq!(tail(&store, &session), n as u64 + 1);
    }
}

/// Somebody holds the lock that redb holds for moments, for longer than that: while it compacts, or
/// because it is halted.
#[test]
#[cfg(target_os = "linux")]
fn a_header_that_is_locked_for_too_long_is_told_and_the_next_use_works() {
    use redb::StorageBackend;
    use redb::backends::FileBackend;
    use std::ops::Bound;

    let (dir, store, session) = with_events(1);
    drop(store);
    let path = dir.path().join("store.redb");
    let quick = Options::default().busy_timeout(Duration::ZERO);
    let store = Redb::open(&path, quick.clone()).unwrap();
    let file = std::fs::File::options().read(true).write(true).open(&path);
    let other = FileBackend::new(file.unwrap()).unwrap();
    let header = (Bound::Included(0), Bound::Excluded(1));
    for n in 1..3 {
        assert!(other.try_lock_range(header.0, header.1).unwrap());
        let refused = [
            read(&store, &session).map(drop).unwrap_err(),
            append(&store, &session, &["1"]).map(drop).unwrap_err(),
            block_on(store.compact()).map(drop).unwrap_err(),
            Redb::open(&path, quick.clone()).map(drop).unwrap_err(),
        ];
        for error in refused {
            assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
            assert!(error.to_string().contains("busy"), "{error}");
        }
        other.unlock_range(header.0, header.1).unwrap();
        append(&store, &session, &["2"]).unwrap();
        assert_eq!(read(&store, &session).unwrap().len(), n + 1);
    }
}

/// Case 18: a limit on the length of files stands for a full disk.
#[test]
#[cfg(unix)]
fn an_append_that_the_disk_refuses_is_not_there_and_the_next_works() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.redb");
    let small = "trap '' XFSZ; ulimit -f 8192";
    run_behind(small, "cases::child_that_fills_up", &path, "full");
    let store = open(&dir);
    let (session, _) = block_on(store.head(&id("s"))).unwrap();
    let events = texts(&read(&store, &session).unwrap());
    assert_eq!(events, ["1", "2", "3"]);
    assert_eq!(block_on(store.verify(&session.id)).unwrap(), []);
}

#[test]
fn child_that_fills_up() {
    let Some((path, _)) = part() else {
        return;
    };
    let store = Redb::open(path, Options::default()).unwrap();
    let session = SessionRef::fresh(id("s"));
    block_on(store.create(&session)).unwrap();
    let huge = format!("\"{}\"", "x".repeat(12 << 20));
    for text in ["1", "2", "3"] {
        append(&store, &session, &[text]).unwrap();
        let before = tail(&store, &session);
        let error = append(&store, &session, &[&huge]).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error:?}");
        assert_eq!(tail(&store, &session), before);
    }
}
