//! Stores that released formats left: they open for ever.

use std::fs;
use std::path::Path;

use crate::util::*;
use futures_util::StreamExt;
use sessionlog_backend_jsonl::{Jsonl, Options};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|e| (e.path(), e.file_name())).unwrap();
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

/// What the golden session was given.
fn given() -> Vec<NewEvent> {
    let at = |n: i64| Timestamp::from_micros(1_790_000_000_000_000 + n).unwrap();
    let event = |n: u8, kind: &'static str, text: &'static str| NewEvent {
        id: EventId::from_bytes([n; 16]),
        at: at(n.into()),
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

#[test]
fn format_1() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    copy(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/1")),
        &path,
    );
    let store = Jsonl::open(&path, Options::default()).unwrap();
    let (session, head) = block_on(store.head(&id("Golden.1"))).unwrap();
    assert_eq!(session.incarnation, Incarnation::from_bytes([9; 16]));
    assert_eq!(head.tail.get(), 5);
    assert_eq!(block_on(store.verify(&session.id)).unwrap(), []);
    assert_eq!(block_on(store.strays()).unwrap(), []);
    let events = read(&store, &session).unwrap();
    let new: Vec<_> = events.into_iter().map(Event::into_new).collect();
    assert_eq!(new, given());
    let card = Kind::from_static("card");
    let snapshot = block_on(store.latest(&session, &card, 1, SeqNum::MAX))
        .unwrap()
        .unwrap();
    assert_eq!((snapshot.covers.get(), snapshot.log), (5, head.sum));
    let pieces: Vec<_> = block_on(
        store
            .get(&session, BlobId::of(b"artifact"), 0..99)
            .collect(),
    );
    assert_eq!(
        pieces.into_iter().map(Result::unwrap).collect::<Vec<_>>(),
        ["artifact"]
    );
    let request = LeaseRequest::new(Owner::new("me").unwrap());
    assert_eq!(
        block_on(store.acquire(&session, request))
            .unwrap()
            .token
            .get(),
        3
    );

    // The same events make the same lines; how many empty ones are behind them is no part of the format.
    let again = Jsonl::open(
        dir.path().join("again"),
        Options::default().write_ahead(700),
    )
    .unwrap();
    block_on(again.create(&session)).unwrap();
    let mut rest = given();
    let batch = rest.split_off(1);
    for batch in [rest, batch] {
        block_on(again.append(&session, batch, NONE)).unwrap();
    }
    let log = |store: &Jsonl| fs::read_to_string(log_path(store, "golden.1=1")).unwrap();
    let (old, new) = (log(&store), log(&again));
    let lines = |log: &str| -> Vec<_> {
        let lines = log.lines().skip(1).filter(|line| !line.is_empty());
        lines.map(str::to_owned).collect()
    };
    assert_eq!(lines(&old), lines(&new));
    append(&store, &session, &["\"more\""]).unwrap();
    assert_eq!(read(&store, &session).unwrap().len(), 6);
}
