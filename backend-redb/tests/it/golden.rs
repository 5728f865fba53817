//! Stores of every format version, opened for ever.

use std::path::PathBuf;

use futures_util::{StreamExt, TryStreamExt, stream};
use sessionlog_backend_redb::{Options, Redb};

use crate::util::*;

fn golden(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden")).join(name)
}

fn session() -> SessionRef {
    SessionRef {
        id: id("Golden.1"),
        incarnation: Incarnation::from_bytes([9; 16]),
    }
}

/// What the golden session was given.
fn given() -> Vec<NewEvent> {
    let event = |n: u8, kind: &'static str, text: &'static str| NewEvent {
        id: EventId::from_bytes([n; 16]),
        at: Timestamp::from_micros(1_790_000_000_000_000 + i64::from(n)).unwrap(),
        kind: Kind::from_static(kind),
        data: Data::from_json(text).unwrap(),
    };
    vec![
        event(5, "message", r#"{"role":"user","text":"ä \u0000 \ud800"}"#),
        event(6, "message", "{\n\t\"pretty\": [1,\r\n 2, \"\\\"\\\\\"]\n}"),
        event(3, "tool.called", " -0 "),
        event(7, "permission.requested", "1e400"),
        event(4, "note", "null"),
    ]
}

/// A blob of two rows.
fn large() -> Vec<u8> {
    (0..300_000_u32).map(|n| n.to_le_bytes()[0]).collect()
}

fn request() -> LeaseRequest {
    LeaseRequest::new(Owner::new("me").unwrap())
}

/// Not a test but how the file came to be: it does nothing unless the variable is set.
#[test]
fn make() {
    let Some(target) = std::env::var_os("SESSIONLOG_TEST_GOLDEN") else {
        return;
    };
    let path = PathBuf::from(target).join("v1.redb");
    let store = Redb::open(&path, Options::default()).unwrap();
    let session = session();
    block_on(store.create(&session)).unwrap();
    let mut rest = given();
    let batch = rest.split_off(1);
    for batch in [rest, batch] {
        block_on(store.append(&session, batch, NONE)).unwrap();
    }
    for content in [b"artifact".to_vec(), large()] {
        let content = stream::iter([Ok(content.into())]).boxed();
        block_on(store.put(&session, content, None)).unwrap();
    }
    let snapshot = Snapshot {
        projection: Kind::from_static("fold"),
        version: 1,
        covers: SeqNum::new(5),
        log: block_on(store.head(&session.id)).unwrap().1.sum,
        state: "{\"n\":5}".into(),
    };
    block_on(store.save(&session, snapshot, None)).unwrap();
    for _ in 0..2 {
        let lease = block_on(store.acquire(&session, request())).unwrap();
        block_on(store.release(&lease)).unwrap();
    }
    block_on(store.compact()).unwrap();
}

#[test]
fn version_1() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.redb");
    std::fs::copy(golden("v1.redb"), &path).unwrap();
    let store = Redb::open(&path, Options::default()).unwrap();
    let (session, head) = block_on(store.head(&id("Golden.1"))).unwrap();
    assert_eq!(session, self::session());
    assert_eq!(block_on(store.verify(&session.id)).unwrap(), []);
    assert_eq!(block_on(store.strays()).unwrap(), []);

    let events = read(&store, &session).unwrap();
    assert_eq!(Head::after(events.last().unwrap()), head);
    let new: Vec<_> = events.into_iter().map(Event::into_new).collect();
    assert_eq!(new, given());

    let fold = Kind::from_static("fold");
    let latest = block_on(store.latest(&session, &fold, 1, SeqNum::MAX));
    let snapshot = latest.unwrap().unwrap();
    assert_eq!((snapshot.covers.get(), snapshot.log), (5, head.sum));
    assert_eq!(snapshot.state, "{\"n\":5}");
    for content in [b"artifact".to_vec(), large()] {
        let whole = store.get(&session, BlobId::of(&content), 0..u64::MAX);
        let pieces: Vec<_> = block_on(whole.try_collect()).unwrap();
        assert!(pieces.concat() == content);
    }
    let listed: Vec<_> = block_on(store.list(&session).try_collect()).unwrap();
    assert_eq!(listed.len(), 2);
    let token = block_on(store.acquire(&session, request())).unwrap().token;
    assert_eq!(token.get(), 3);

    append(&store, &session, &["\"more\""]).unwrap();
    assert_eq!(read(&store, &session).unwrap().len(), 6);
}
