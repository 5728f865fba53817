//! The session of the golden stores, which the first version of each format wrote.

use std::path::Path;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use sessionlog_core::{
    Backend, BlobId, Data, Event, EventId, Head, Incarnation, Kind, NewEvent, SeqNum, SessionRef,
    Snapshot, Timestamp,
};

use crate::{NONE, block_on, id, read, request};

const BLOB: &[u8] = b"artifact";

/// The golden session.
pub fn session() -> SessionRef {
    SessionRef {
        id: id("Golden.1"),
        incarnation: Incarnation::from_bytes([9; 16]),
    }
}

/// The events that it was given.
pub fn given() -> Vec<NewEvent> {
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

/// Makes the golden session in an empty store, with a snapshot of this projection, a blob and two leases.
pub fn make(store: &impl Backend, batches: Vec<Vec<NewEvent>>, projection: Kind) {
    let session = session();
    block_on(store.create(&session)).unwrap();
    for batch in batches {
        block_on(store.append(&session, batch, NONE)).unwrap();
    }
    put(store, BLOB.to_vec());
    let snapshot = Snapshot {
        projection,
        version: 1,
        covers: SeqNum::new(5),
        log: block_on(store.head(&session.id)).unwrap().1.sum,
        state: "{\"n\":5}".into(),
    };
    block_on(store.save(&session, snapshot, None)).unwrap();
    for _ in 0..2 {
        let lease = block_on(store.acquire(&session, request("me"))).unwrap();
        block_on(store.release(&lease)).unwrap();
    }
}

/// Puts a blob into the golden session.
pub fn put(store: &impl Backend, content: Vec<u8>) {
    let content = stream::iter([Ok(content.into())]).boxed();
    block_on(store.put(&session(), content, None)).unwrap();
}

/// The content of a blob of the golden session.
pub fn blob(store: &impl Backend, content: &[u8]) -> Vec<u8> {
    let pieces = store.get(&session(), BlobId::of(content), 0..u64::MAX);
    let pieces: Vec<_> = block_on(pieces.try_collect()).unwrap();
    pieces.concat()
}

/// Opens what [`make`] made, and goes on with it. Gives the state of the snapshot.
pub fn check(store: &impl Backend, projection: &Kind) -> Bytes {
    let (session, head) = block_on(store.head(&session().id)).unwrap();
    assert_eq!(session, self::session());
    assert_eq!(block_on(store.verify(&session.id)).unwrap(), []);
    assert_eq!(block_on(store.strays()).unwrap(), []);
    let ids: Vec<_> = block_on(store.sessions().try_collect()).unwrap();
    assert_eq!(ids, std::slice::from_ref(&session.id));

    let events = read(store, &session).unwrap();
    assert_eq!(events.last().map(Head::after), Some(head));
    let new: Vec<_> = events.into_iter().map(Event::into_new).collect();
    assert_eq!(new, given());

    let latest = block_on(store.latest(&session, projection, 1, SeqNum::MAX));
    let snapshot = latest.unwrap().unwrap();
    assert_eq!((snapshot.covers.get(), snapshot.log), (5, head.sum));
    assert_eq!(blob(store, BLOB), BLOB);
    let token = block_on(store.acquire(&session, request("me")))
        .unwrap()
        .token;
    assert_eq!(token.get(), 3);

    let again = block_on(store.append(&session, vec![given().remove(2)], NONE));
    assert_eq!(again.unwrap().start.get(), 2, "an event that is there");
    crate::append(store, &session, &["\"more\""]).unwrap();
    assert_eq!(read(store, &session).unwrap().len(), 6);
    snapshot.state
}

/// Copies a golden folder, and all that is in it.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|e| (e.path(), e.file_name())).unwrap();
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            std::fs::copy(&path, to.join(name)).unwrap();
        }
    }
}
