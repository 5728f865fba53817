//! Others touch the files while they are open.

use std::fs;
use std::time::Duration;

use crate::util::*;
use sessionlog_backend_jsonl::{Jsonl, Options};

#[test]
fn a_log_that_was_cut_under_us_is_refused_and_not_written_over() {
    let (_dir, store, session) = with_events(5);
    let path = log_path(&store, "s");
    let whole = fs::read(&path).unwrap();
    let cut = whole[..whole.len() - 1]
        .iter()
        .rposition(|b| *b == b'\n')
        .unwrap()
        + 1;
    for len in [cut, cut - 10, 0] {
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(len as u64).unwrap();
        for _ in 0..2 {
            assert!(append(&store, &session, &["1"]).unwrap_err().is_corrupt());
            assert!(block_on(store.head(&session.id)).unwrap_err().is_corrupt());
            assert!(read(&store, &session).unwrap_err().is_corrupt());
        }
        assert_eq!(fs::read(&path).unwrap().len(), len);
    }
    fs::write(&path, &whole).unwrap();
    append(&store, &session, &["1"]).unwrap();
}

#[test]
fn a_log_that_was_replaced_by_a_shorter_one_is_refused_and_by_an_equal_one_is_not() {
    let (_dir, store, session) = with_events(5);
    let path = log_path(&store, "s");
    let whole = fs::read(&path).unwrap();
    let cut = whole[..whole.len() - 1]
        .iter()
        .rposition(|b| *b == b'\n')
        .unwrap()
        + 1;
    let replace = |bytes: &[u8]| {
        let new = path.with_extension("new");
        fs::write(&new, bytes).unwrap();
        fs::rename(new, &path).unwrap();
    };
    replace(&whole[..cut]);
    for _ in 0..2 {
        assert!(append(&store, &session, &["1"]).unwrap_err().is_corrupt());
        assert!(read(&store, &session).unwrap_err().is_corrupt());
    }
    assert_eq!(fs::read(&path).unwrap(), &whole[..cut]);
    replace(&whole);
    assert_eq!(read(&store, &session).unwrap().len(), 5);
    append(&store, &session, &["1"]).unwrap();
    replace(&fs::read(&path).unwrap());
    let error = append(&store, &session, &["1"]).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
    append(&store, &session, &["1"]).unwrap();
    assert_eq!(read(&store, &session).unwrap().len(), 7);
}

#[test]
fn a_session_that_was_copied_there_by_hand_is_found() {
    let (dir, store, session) = with_events(5);
    let other = Jsonl::open(dir.path().join("other"), Options::default()).unwrap();
    block_on(other.create(&SessionRef::fresh(id("x")))).unwrap();
    assert!(
        block_on(other.head(&session.id))
            .unwrap_err()
            .is_not_found()
    );
    fs::create_dir(other.path().join("s")).unwrap();
    fs::copy(log_path(&store, "s"), log_path(&other, "s")).unwrap();
    assert_eq!(
        read(&other, &session).unwrap(),
        read(&store, &session).unwrap()
    );
    append(&other, &session, &["1"]).unwrap();
    assert_eq!(tail(&other, &session), 6);
    assert_eq!(tail(&store, &session), 5);
}

#[test]
fn a_change_is_noticed_within_and_across_handles() {
    let (_dir, store, session) = with_events(1);
    let other = Jsonl::open(store.path(), Options::default()).unwrap();
    let none = block_on(store.changed(&session, SeqNum::ZERO));
    none.unwrap();
    for writer in [&store, &other] {
        let at = SeqNum::new(tail(&store, &session));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| block_on(store.changed(&session, at)));
            std::thread::sleep(Duration::from_millis(30));
            append(writer, &session, &["1"]).unwrap();
            waits.join().unwrap().unwrap();
        });
    }
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| block_on(store.changed(&session, SeqNum::new(3))));
        std::thread::sleep(Duration::from_millis(30));
        block_on(other.delete(&session, None)).unwrap();
        assert!(waits.join().unwrap().unwrap_err().is_not_found());
    });
}

#[test]
fn leftovers_of_crashes_are_cleared_by_the_next_create_alone() {
    let (_dir, store, session) = with_events(1);
    for folder in [".new/x", ".trash/y"] {
        let folder = store.path().join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::copy(log_path(&store, "s"), folder.join("events.jsonl")).unwrap();
    }
    let before = everything(store.path());
    let store = Jsonl::open(store.path(), Options::default()).unwrap();
    assert_eq!(read(&store, &session).unwrap().len(), 1);
    assert_eq!(block_on(store.strays()).unwrap().len(), 2);
    assert_eq!(everything(store.path()), before);
    block_on(store.create(&SessionRef::fresh(id("t")))).unwrap();
    assert_eq!(block_on(store.strays()).unwrap(), []);
}
