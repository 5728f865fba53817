//! Several processes: this test binary starts itself again.

use std::time::{Duration, Instant};

use crate::util::*;
use futures_util::future::join_all;
use sessionlog_testkit::child::{await_word, join, part, start, tell};

const PROCESSES: usize = 8;
const APPENDS: usize = 200;

fn child() -> Option<(Sqlite, String)> {
    let (path, name) = part()?;
    Some((Sqlite::open(path, Options::default()).unwrap(), name))
}

#[test]
fn eight_processes_append_in_one_dense_order() {
    let (_dir, store, _) = with_events(0);
    let own: Vec<_> = (0..PROCESSES)
        .map(|n| create(&store, &format!("own-{n}")))
        .collect();
    let path = store.path();
    let child = |n: usize| start("processes::child_that_appends", path, &n.to_string());
    join((0..PROCESSES).map(child).collect::<Vec<_>>());
    let events = read(&store, "s").unwrap();
    assert_eq!(events.len(), PROCESSES * APPENDS);
    for (n, own) in own.iter().enumerate() {
        let mine = format!("\"p{n} ");
        let texts: Vec<_> = events.iter().map(|e| e.data.to_string()).collect();
        let texts: Vec<_> = texts.iter().filter(|t| t.starts_with(&mine)).collect();
        for (i, text) in texts.iter().enumerate() {
            assert!(text.starts_with(&format!("\"p{n} {i} ")));
        }
        assert_eq!(texts.len(), APPENDS);
        assert_eq!(read(&store, own.id.as_str()).unwrap().len(), APPENDS);
    }
    assert_eq!(block_on(store.verify(&id("s"))).unwrap(), []);
    assert_eq!(block_on(store.strays()).unwrap(), []);
}

#[test]
fn child_that_appends() {
    let Some((store, name)) = child() else {
        return;
    };
    let (shared, _) = block_on(store.head(&id("s"))).unwrap();
    let (own, _) = block_on(store.head(&id(&format!("own-{name}")))).unwrap();
    for i in 0..APPENDS {
        let pad = "x".repeat(if i % 50 == 0 { 100_000 } else { 10 });
        append(&store, &shared, &[&format!("\"p{name} {i} {pad}\"")]).unwrap();
        append(&store, &own, &[&format!("\"{pad}\"")]).unwrap();
        assert_eq!(tail(&store, &own), i as u64 + 1);
    }
}

#[test]
fn many_processes_make_one_store() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/er/store.db");
    let child = |n: usize| start("processes::child_that_creates", &path, &n.to_string());
    join((0..PROCESSES).map(child).collect::<Vec<_>>());
    let store = Sqlite::open(&path, Options::default()).unwrap();
    assert_eq!(read(&store, "same").unwrap().len(), PROCESSES);
    let ids = block_on(Store::new(store.clone()).ids()).unwrap();
    assert_eq!(ids.len(), PROCESSES * 5 + 1);
    assert_eq!(block_on(store.strays()).unwrap(), []);
    drop(store);
    let names: Vec<_> = everything(path.parent().unwrap())
        .into_iter()
        .skip(1)
        .map(|(path, _)| path.file_name().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["store.db", "store.db-leases"]);
}

#[test]
fn child_that_creates() {
    let Some((store, name)) = child() else {
        return;
    };
    for n in 0..5 {
        create(&store, &format!("c{name}-{n}"));
    }
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

#[test]
fn a_killed_holder_is_replaced_at_once_and_a_live_one_by_force() {
    let (_dir, store, session) = with_events(1);
    let mut child = start("processes::child_that_holds", store.path(), "holder");
    await_word(&mut child, "holding");
    let live = block_on(store.holder(&session)).unwrap();
    assert!(matches!(live, Liveness::Live(Some(h)) if h.owner.as_str() == "holder"));
    assert!(block_on(store.acquire(&session, request("me"))).is_err());
    let forced = block_on(store.acquire(&session, request("me").forced())).unwrap();
    assert_eq!(forced.token.get(), 2);
    drop(forced);
    // The old holder still has its useless lock; it is in nobody's way.
    drop(block_on(store.acquire(&session, request("me"))).unwrap());
    child.kill().unwrap();
    child.wait().unwrap();

    let mut child = start("processes::child_that_holds", store.path(), "holder");
    await_word(&mut child, "holding");
    assert!(block_on(store.acquire(&session, request("me"))).is_err());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(block_on(store.holder(&session)).unwrap(), Liveness::Idle);
    let next = block_on(store.acquire(&session, request("me"))).unwrap();
    assert_eq!(next.token.get(), 5);
}

#[test]
fn child_that_holds() {
    let Some((store, name)) = child() else {
        return;
    };
    let (session, _) = block_on(store.head(&id("s"))).unwrap();
    let _lease = block_on(store.acquire(&session, request(&name))).unwrap();
    tell("holding");
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_lock_that_is_held_for_too_long_is_told_and_the_next_append_works() {
    let (_dir, store, session) = with_events(1);
    let path = store.path().to_owned();
    drop(store);
    let timeout = Duration::from_millis(300);
    let store = Sqlite::open(&path, Options::default().busy_timeout(timeout)).unwrap();
    let mut child = start("processes::child_that_locks", &path, "locker");
    await_word(&mut child, "locked");
    let begun = Instant::now();
    let batch = vec![event("1"), event("2")];
    let error = block_on(store.append(&session, batch.clone(), NONE)).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable);
    assert!(
        error.to_string().contains("busy timeout of 300 ms"),
        "{error}"
    );
    assert!(begun.elapsed() >= timeout);
    // Reading goes on, and so do other tasks of this thread while one waits.
    assert_eq!(read(&store, "s").unwrap().len(), 1);
    let many = (0..10).map(|_| store.append(&session, batch.clone(), NONE));
    assert!(block_on(join_all(many)).iter().all(Result::is_err));
    child.kill().unwrap();
    child.wait().unwrap();
    let range = block_on(store.append(&session, batch, NONE)).unwrap();
    assert_eq!((range.start.get(), range.end.get()), (1, 3));
}

#[test]
fn child_that_locks() {
    let Some((store, _)) = child() else {
        return;
    };
    let conn = rusqlite::Connection::open(store.path()).unwrap();
    conn.execute_batch("BEGIN IMMEDIATE; UPDATE store SET settled = 99")
        .unwrap();
    tell("locked");
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_follower_sees_the_appends_of_another_process() {
    use futures_util::StreamExt;
    let (_dir, store, session) = with_events(2);
    let handle = Store::new(store.clone());
    let own = create(&store, "own-0");
    let opened = block_on(handle.open(&own.id)).unwrap();
    let mut follower = opened.follow(SeqNum::ZERO);
    let mut child = start("processes::child_that_appends", store.path(), "0");
    for n in 0..APPENDS as u64 {
        let event = block_on(StreamExt::next(&mut follower)).unwrap().unwrap();
        assert_eq!(event.seq.get(), n);
    }
    assert!(child.wait().unwrap().success());
    assert_eq!(tail(&store, &session), 2 + APPENDS as u64);
}
