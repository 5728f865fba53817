//! Stores of every format version, opened for ever.

use std::fmt::Write;
use std::path::PathBuf;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::util::*;

fn golden(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden")).join(name)
}

fn fixed(n: u8) -> [u8; 16] {
    let mut bytes = [n; 16];
    bytes[0] = 1;
    bytes
}

fn made(n: u8, kind: &str, data: &str) -> NewEvent {
    NewEvent::json(Kind::new(kind).unwrap(), data.to_owned())
        .unwrap()
        .with_id(EventId::from_bytes(fixed(n)))
        .with_time(Timestamp::from_micros(1_780_000_000_000_000 + i64::from(n)).unwrap())
}

/// Everything that can be read, as text.
fn dump(store: &Sqlite) -> String {
    let mut out = String::new();
    for id in block_on(Store::new(store.clone()).ids()).unwrap() {
        let (session, head) = block_on(store.head(&id)).unwrap();
        writeln!(
            out,
            "{id} {} {} {}",
            session.incarnation, head.tail, head.sum
        )
        .unwrap();
        for event in read(store, id.as_str()).unwrap() {
            let Event {
                seq,
                id,
                at,
                kind,
                data,
                top,
                sum,
                ..
            } = event;
            writeln!(out, "  {seq} {id} {at} {kind} {top:?} {sum} {data}").unwrap();
        }
        let blobs: Vec<BlobInfo> = block_on(store.list(&session).try_collect()).unwrap();
        for blob in blobs {
            let pieces: Vec<Bytes> =
                block_on(store.get(&session, blob.id, 0..u64::MAX).try_collect()).unwrap();
            assert_eq!(pieces.concat().len() as u64, blob.len);
            writeln!(out, "  blob {} {}", blob.id, blob.len).unwrap();
        }
        let fold = Kind::from_static("fold");
        if let Some(found) = block_on(store.latest(&session, &fold, 1, SeqNum::MAX)).unwrap() {
            writeln!(out, "  snapshot {} {:?}", found.covers, found.state).unwrap();
        }
        let lease = block_on(store.acquire(&session, request("golden").forced()));
        writeln!(out, "  next token {}", lease.unwrap().token).unwrap();
        assert_eq!(block_on(store.verify(&id)).unwrap(), []);
    }
    assert_eq!(block_on(store.strays()).unwrap(), []);
    out
}

#[test]
fn version_1() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(golden("v1.db"), path(&dir)).unwrap();
    let expected = std::fs::read_to_string(golden("v1.txt")).unwrap();
    assert_eq!(dump(&open(&dir)), expected);
    let store = open(&dir);
    let (session, head) = block_on(store.head(&id("one"))).unwrap();
    let range = append(&store, &session, &["\"more\""]).unwrap();
    assert_eq!(range.start, head.tail);
}

/// Not a test but how the files came to be: it does nothing unless the variable is set.
#[test]
fn make() {
    let Some(target) = std::env::var_os("SESSIONLOG_TEST_GOLDEN") else {
        return;
    };
    let target = PathBuf::from(target);
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    for (n, name) in [(1, "one"), (2, "Two.x"), (3, "empty")] {
        let session = SessionRef {
            id: id(name),
            incarnation: Incarnation::from_bytes(fixed(n)),
        };
        block_on(store.create(&session)).unwrap();
        if name == "empty" {
            continue;
        }
        for batch in [
            vec![made(10, "message", r#"{"role":"user","text":"ü\n"}"#)],
            vec![made(12, "note", " 1e400 "), made(11, "a.b_c", "[\r\n]")],
            vec![made(
                20,
                "message",
                &format!("\"{}\"", "long ".repeat(3000)),
            )],
        ] {
            block_on(store.append(&session, batch, NONE)).unwrap();
        }
        let (_, head) = block_on(store.head(&session.id)).unwrap();
        let snapshot = Snapshot {
            projection: Kind::from_static("fold"),
            version: 1,
            covers: head.tail,
            log: head.sum,
            state: "{\"n\":4}".into(),
        };
        block_on(store.save(&session, snapshot, None)).unwrap();
        let content = stream::iter([Ok(Bytes::from_static(b"some bytes"))]).boxed();
        block_on(store.put(&session, content, None)).unwrap();
        drop(block_on(store.acquire(&session, request("maker"))).unwrap());
    }
    drop(store);
    std::fs::copy(path(&dir), target.join("v1.db")).unwrap();
    std::fs::write(target.join("v1.txt"), dump(&open(&dir))).unwrap();
}
