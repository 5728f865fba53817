//! Several processes: this test binary starts itself again.

use crate::util::*;
use futures_util::future::join_all;
use sessionlog_backend_jsonl::{Jsonl, Options};
use sessionlog_testkit::child::{await_word, join, part, start, tell};

const PROCESSES: usize = 8;
const APPENDS: usize = 200;

fn child() -> Option<(Jsonl, SessionRef, String)> {
    let (path, name) = part()?;
    let ahead = if name.ends_with('1') { 5000 } else { 0 };
    let store = Jsonl::open(path, Options::default().write_ahead(ahead)).unwrap();
    let (session, _) = block_on(store.head(&id("s"))).unwrap();
    Some((store, session, name))
}

#[test]
fn eight_processes_append_in_one_dense_order() {
    let (_dir, store, session) = with_events(0);
    let path = store.path();
    let child = |n| start("processes::child_that_appends", path, &format!("p{n}"));
    join((0..PROCESSES).map(child).collect::<Vec<_>>());
    let events = read(&store, &session).unwrap();
    assert_eq!(events.len(), PROCESSES * APPENDS);
    for n in 0..PROCESSES {
        let mine = format!("\"p{n} ");
        let own: Vec<_> = events
            .iter()
            .filter(|e| e.data.as_text().starts_with(&mine))
            .collect();
        for (i, event) in own.iter().enumerate() {
            assert!(event.data.as_text().starts_with(&format!("\"p{n} {i} ")));
        }
        assert_eq!(own.len(), APPENDS);
    }
    assert_eq!(block_on(store.verify(&session.id)).unwrap(), []);
}

#[test]
fn child_that_appends() {
    let Some((store, session, name)) = child() else {
        return;
    };
    for i in 0..APPENDS {
        let pad = "x".repeat(if i % 50 == 0 { 100_000 } else { 10 });
        let range = append(&store, &session, &[&format!("\"{name} {i} {pad}\"")]).unwrap();
        // What this process has appended, it reads.
        let mine = read_range(&store, &session, range).unwrap();
        assert!(
            mine[0]
                .data
                .as_text()
                .starts_with(&format!("\"{name} {i} "))
        );
    }
}

#[test]
fn a_reader_beside_a_writer_sees_whole_batches_and_no_damage() {
    for name in ["w0", "w1"] {
        let (_dir, store, session) = with_events(0);
        let mut child = start("processes::child_that_appends_batches", store.path(), name);
        let mut seen = 0;
        while seen < 150 {
            let now = tail(&store, &session);
            assert!(now >= seen && now.is_multiple_of(3), "{now}");
            seen = now;
            assert!(read(&store, &session).unwrap().len() as u64 >= seen);
            let fresh = Jsonl::open(store.path(), Options::default()).unwrap();
            assert!(tail(&fresh, &session) >= seen);
            assert!(seen > 0 || child.try_wait().unwrap().is_none_or(|s| s.success()));
        }
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn child_that_appends_batches() {
    let Some((store, session, _)) = child() else {
        return;
    };
    for i in 0..50 {
        let pad = format!("\"{i} {}\"", "y".repeat(3000));
        append(&store, &session, &[&pad, "1", &pad]).unwrap();
    }
}

#[test]
fn a_killed_holder_is_replaced_at_once_and_a_stopped_one_by_force() {
    let (_dir, store, session) = with_events(1);
    let mut child = start("processes::child_that_holds", store.path(), "holder");
    await_word(&mut child, "holding");
    let request = LeaseRequest::new(Owner::new("me").unwrap());
    let live = block_on(store.holder(&session)).unwrap();
    assert!(matches!(live, Liveness::Live(Some(h)) if h.owner.as_str() == "holder"));
    assert!(block_on(store.acquire(&session, request.clone())).is_err());
    let forced = block_on(store.acquire(&session, request.clone().forced())).unwrap();
    assert_eq!(forced.token.get(), 2);
    drop(forced);
    // The old holder still has its useless lock; it is in nobody's way.
    let third = block_on(store.acquire(&session, request.clone())).unwrap();
    drop(third);
    child.kill().unwrap();
    child.wait().unwrap();

    let mut child = start("processes::child_that_holds", store.path(), "holder");
    await_word(&mut child, "holding");
    assert!(block_on(store.acquire(&session, request.clone())).is_err());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(block_on(store.holder(&session)).unwrap(), Liveness::Idle);
    assert_eq!(
        block_on(store.acquire(&session, request))
            .unwrap()
            .token
            .get(),
        5
    );
}

#[test]
fn child_that_holds() {
    let Some((store, session, name)) = child() else {
        return;
    };
    let request = LeaseRequest::new(Owner::new(name).unwrap());
    let _lease = block_on(store.acquire(&session, request)).unwrap();
    tell("holding");
    std::thread::sleep(std::time::Duration::from_secs(60));
}

#[test]
fn many_processes_make_one_store() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/er/store");
    let child = |n| start("processes::child_that_creates", &path, &format!("c{n}"));
    join((0..4).map(child).collect::<Vec<_>>());
    let store = Jsonl::open(&path, Options::default()).unwrap();
    let (session, head) = block_on(store.head(&id("same"))).unwrap();
    assert_eq!(head.tail.get(), 4);
    assert_eq!(read(&store, &session).unwrap().len(), 4);
    assert_eq!(block_on(store.strays()).unwrap(), []);
}

#[test]
fn child_that_creates() {
    let Some((path, name)) = part() else {
        return;
    };
    let store = Jsonl::open(path, Options::default()).unwrap();
    for n in 0..10 {
        block_on(store.create(&SessionRef::fresh(id(&format!("{name}-{n}"))))).unwrap();
    }
    match block_on(store.create(&SessionRef::fresh(id("same")))) {
        Ok(()) => {}
        Err(error) => assert!(
            matches!(error.kind(), ErrorKind::Conflict { .. }),
            "{error}"
        ),
    }
    let (session, _) = block_on(store.head(&id("same"))).unwrap();
    append(&store, &session, &["1"]).unwrap();
}

#[test]
fn tasks_and_threads_share_commits() {
    let (_dir, store, session) = with_events(0);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (store, session) = (&store, &session);
            scope.spawn(move || {
                for round in 0..10 {
                    let tasks = (0..16).map(|task| {
                        let text = format!("\"{thread} {round} {task}\"");
                        store.append(session, vec![event(&text), event("0")], NONE)
                    });
                    for range in block_on(join_all(tasks)) {
                        let range = range.unwrap();
                        assert_eq!(span(&range), 2);
                    }
                }
            });
        }
    });
    let events = read(&store, &session).unwrap();
    assert_eq!(events.len(), 4 * 10 * 16 * 2);
    assert!(events.chunks(2).all(|pair| pair[1].data.as_bytes() == b"0"));
}

#[test]
fn of_racing_appends_with_one_stated_tail_exactly_one_wins() {
    let (_dir, store, session) = with_events(2);
    let at = AppendCondition::at(SeqNum::new(2));
    let tasks = (0..20).map(|n| store.append(&session, vec![event(&n.to_string())], at));
    let outcomes = block_on(join_all(tasks));
    assert_eq!(outcomes.iter().filter(|o| o.is_ok()).count(), 1);
    assert_eq!(tail(&store, &session), 3);
}
