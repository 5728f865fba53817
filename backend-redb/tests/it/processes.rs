//! Several processes on one file, and processes that are killed.

use crate::util::*;
use sessionlog_backend_redb::{Options, Redb};
use sessionlog_testkit::child::{join, part, start};

const APPENDS: u32 = 200;

#[test]
fn child_that_writes_without_end() {
    let Some((path, mode)) = part() else {
        return;
    };
    let options = match mode.as_str() {
        "exclusive" => Options::default().exclusive(),
        _ => Options::default(),
    };
    let store = Redb::open(path, options).unwrap();
    let session = create(&store, "s");
    let text = format!("\"{}\"", "x".repeat(1000));
    loop {
        append(&store, &session, &vec![text.as_str(); 100]).unwrap();
    }
}

#[test]
fn child_that_appends() {
    let Some((path, number)) = part() else {
        return;
    };
    let store = Redb::open(path, Options::default()).unwrap();
    let shared = block_on(store.head(&id("shared"))).unwrap().0;
    let own = create(&store, &format!("own-{number}"));
    for n in 0..APPENDS {
        append(&store, &shared, &[&format!("[{number},{n}]")]).unwrap();
        append(&store, &own, &[&n.to_string()]).unwrap();
    }
}

#[test]
fn eight_processes_append_to_one_session_and_to_many() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let shared = create(&store, "shared");
    let path = store.path();
    let child = |n: usize| start("processes::child_that_appends", path, &n.to_string());
    join((0..8).map(child).collect::<Vec<_>>());
    let events = texts(&read(&store, &shared).unwrap());
    assert_eq!(events.len(), 8 * APPENDS as usize);
    for process in 0..8 {
        let prefix = format!("[{process},");
        let own: Vec<_> = events.iter().filter(|e| e.starts_with(&prefix)).collect();
        let expected: Vec<_> = (0..APPENDS).map(|n| format!("[{process},{n}]")).collect();
        assert_eq!(own, expected.iter().collect::<Vec<_>>());
        let session = block_on(store.head(&id(&format!("own-{process}"))))
            .unwrap()
            .0;
        assert_eq!(read(&store, &session).unwrap().len(), APPENDS as usize);
    }
}

/// Case 25: a kill in the middle of writing. The size is `SESSIONLOG_TEST_KILL_MB`.
fn killed(mode: &str, options: Options) {
    let megabytes: u64 =
        std::env::var("SESSIONLOG_TEST_KILL_MB").map_or(16, |mb| mb.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.redb");
    let mut child = start("processes::child_that_writes_without_end", &path, mode);
    while std::fs::metadata(&path).map_or(0, |m| m.len()) < megabytes << 20 {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();

    // Reading changes nothing, although nobody has mended the file yet.
    let before = std::fs::read(&path).unwrap();
    let store = Redb::open(&path, options.clone()).unwrap();
    let session = block_on(store.head(&id("s"))).unwrap().0;
    let events = read(&store, &session).unwrap();
    assert!(!events.is_empty() && events.len().is_multiple_of(100));
    assert!(block_on(store.verify(&id("s"))).unwrap().is_empty());
    assert!(std::fs::read(&path).unwrap() == before, "reading wrote");

    append(&store, &session, &["1"]).unwrap();
    drop(store);
    let again = Redb::open(&path, options).unwrap();
    assert_eq!(read(&again, &session).unwrap().len(), events.len() + 1);
}

#[test]
fn a_kill_while_writing_leaves_a_shared_store_that_opens_without_a_check() {
    let never = Options::default().on_repair(|_| panic!("the whole file was read"));
    killed("shared", never);
}

#[test]
fn a_kill_while_writing_leaves_an_exclusive_store_that_tells_how_far_its_check_is() {
    let told = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let tell = std::sync::Arc::clone(&told);
    let options = Options::default().exclusive().on_repair(move |done| {
        assert!((0.0..=1.0).contains(&done));
        tell.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    killed("exclusive", options);
    assert!(told.load(std::sync::atomic::Ordering::Relaxed));
}

#[test]
fn a_reader_of_a_file_that_was_left_open_sees_what_a_later_writer_appends() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.redb");
    let mut child = start("processes::child_that_writes_without_end", &path, "shared");
    while std::fs::metadata(&path).map_or(0, |m| m.len()) < 1 << 20 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let reader = Redb::open(&path, Options::default()).unwrap();
    let session = block_on(reader.head(&id("s"))).unwrap().0;
    let before = tail(&reader, &session);
    let writer = Redb::open(&path, Options::default()).unwrap();
    for n in 1..5 {
        append(&writer, &session, &["1"]).unwrap();
        assert_eq!(tail(&reader, &session), before + n);
    }
    assert_eq!(read(&reader, &session).unwrap().len() as u64, before + 4);
}

#[test]
fn an_exclusive_writer_keeps_others_out_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.redb");
    let quick = Options::default().busy_timeout(std::time::Duration::from_millis(50));
    let one = Redb::open(&path, quick.clone().exclusive()).unwrap();
    let session = SessionRef::fresh(id("s"));
    block_on(one.create(&session)).unwrap();
    for options in [quick.clone(), quick.exclusive()] {
        let error = Redb::open(&path, options).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("for itself alone"), "{error}");
    }
    append(&one, &session, &["1"]).unwrap();
    drop(one);
    assert_eq!(tail(&open(&dir), &session), 1);
}
