//! Stores of every format version, opened for ever; and those of a newer one, refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::local::LocalFileSystem;
use pollster::block_on;
use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_core::{
    AppendCondition, BlobId, BlobStore, Data, Event, EventId, EventLog, Head, Incarnation, Kind,
    LeaseRequest, LeaseStore, NewEvent, Owner, SeqNum, SessionRef, Snapshot, SnapshotStore,
    Timestamp, Upkeep,
};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/v1");

fn open(folder: &Path) -> Bucket {
    let store = LocalFileSystem::new_with_prefix(folder).unwrap();
    let mut options = Options::default();
    // Some of the few events are in chunks.
    options.seal_bytes = 200;
    Bucket::new(Arc::new(store), "", options)
}

fn session() -> SessionRef {
    SessionRef {
        id: "Golden.1".parse().unwrap(),
        incarnation: Incarnation::from_bytes([9; 16]),
    }
}

/// What the golden session was given, event by event.
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

fn request() -> LeaseRequest {
    LeaseRequest::new(Owner::new("me").unwrap())
}

/// Not a test but how the folder came to be: it does nothing unless the variable is set.
#[test]
fn make() {
    let Some(target) = std::env::var_os("SESSIONLOG_TEST_GOLDEN") else {
        return;
    };
    let folder = PathBuf::from(target).join("v1");
    std::fs::create_dir_all(&folder).unwrap();
    let (store, session) = (open(&folder), session());
    block_on(store.create(&session)).unwrap();
    for event in given() {
        let append = store.append(&session, vec![event], AppendCondition::NONE);
        block_on(append).unwrap();
    }
    let content = stream::iter([Ok("artifact".into())]).boxed();
    block_on(store.put(&session, content, None)).unwrap();
    let log = block_on(store.head(&session.id)).unwrap().1.sum;
    let fold = Kind::from_static("fold");
    let snapshot = Snapshot {
        projection: fold,
        version: 1,
        covers: SeqNum::new(5),
        log,
        state: "{\"n\":5}".into(),
    };
    block_on(store.save(&session, snapshot, None)).unwrap();
    for _ in 0..2 {
        let other = open(&folder);
        let lease = block_on(other.acquire(&session, request())).unwrap();
        block_on(other.release(&lease)).unwrap();
    }
}

/// A copy of the golden folder.
fn copy() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut left = vec![PathBuf::new()];
    while let Some(below) = left.pop() {
        for entry in std::fs::read_dir(Path::new(GOLDEN).join(&below)).unwrap() {
            let entry = entry.unwrap();
            let (name, target) = (below.join(entry.file_name()), folder.path().join(&below));
            if entry.file_type().unwrap().is_dir() {
                left.push(name);
            } else {
                std::fs::create_dir_all(&target).unwrap();
                std::fs::copy(entry.path(), target.join(entry.file_name())).unwrap();
            }
        }
    }
    folder
}

/// The newest head of the golden session.
fn newest(folder: &Path) -> PathBuf {
    let heads = folder.join("v1/s");
    let session = std::fs::read_dir(heads).unwrap().next().unwrap().unwrap();
    let heads = std::fs::read_dir(session.path().join("h")).unwrap();
    heads.map(|head| head.unwrap().path()).min().unwrap()
}

#[test]
fn version_1() {
    let folder = copy();
    let store = open(folder.path());
    let (session, head) = block_on(store.head(&"Golden.1".parse().unwrap())).unwrap();
    assert_eq!(session, self::session());
    assert_eq!(block_on(store.verify(&session.id)).unwrap(), []);
    assert_eq!(block_on(store.strays()).unwrap(), []);
    let ids: Vec<_> = block_on(store.sessions().try_collect()).unwrap();
    assert_eq!(ids, std::slice::from_ref(&session.id));

    let read = |store: &Bucket| {
        let chunks = store.read(&session, SeqNum::all());
        block_on(chunks.try_collect::<Vec<_>>()).unwrap().concat()
    };
    let events = read(&store);
    assert_eq!(Head::after(events.last().unwrap()), head);
    let new: Vec<_> = events.into_iter().map(Event::into_new).collect();
    assert_eq!(new, given());

    let fold = Kind::from_static("fold");
    let latest = block_on(store.latest(&session, &fold, 1, SeqNum::MAX));
    let snapshot = latest.unwrap().unwrap();
    assert_eq!((snapshot.covers.get(), snapshot.log), (5, head.sum));
    assert_eq!(snapshot.state, "{\"n\":5}");
    let blob = store.get(&session, BlobId::of(b"artifact"), 0..u64::MAX);
    let pieces: Vec<_> = block_on(blob.try_collect()).unwrap();
    assert_eq!(pieces.concat(), b"artifact");
    let token = block_on(store.acquire(&session, request())).unwrap().token;
    assert_eq!(token.get(), 3);

    let again = store.append(&session, vec![given().remove(2)], AppendCondition::NONE);
    assert_eq!(block_on(again).unwrap().start.get(), 2, "an id in a chunk");
    let more = NewEvent::json(Kind::from_static("note"), "\"more\"").unwrap();
    let append = store.append(&session, vec![more], AppendCondition::NONE);
    assert_eq!(block_on(append).unwrap().start.get(), 5);
    assert_eq!(read(&store).len(), 6);
}

#[test]
fn a_newer_version_is_refused() {
    let folder = copy();
    let head = newest(folder.path());
    let mut bytes = std::fs::read(&head).unwrap();
    bytes[16] = 2;
    std::fs::write(&head, bytes).unwrap();
    let store = open(folder.path());
    let (session, more) = (session(), given());
    let refusals = [
        block_on(store.head(&session.id)).map(drop),
        block_on(store.append(&session, more, AppendCondition::NONE)).map(drop),
        block_on(store.acquire(&session, request())).map(drop),
        block_on(store.delete(&session, None)),
        block_on(store.verify(&session.id)).map(drop),
    ];
    for refused in refusals {
        assert_eq!(refused.unwrap_err().kind().name(), "unsupported");
    }
}

#[test]
fn every_changed_byte_of_what_holds_events_is_found_and_named() {
    let original = copy();
    let head = newest(original.path());
    let session_folder = head.parent().unwrap().parent().unwrap().to_owned();
    let life = std::fs::read_dir(session_folder.join("d"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let chunks = std::fs::read_dir(life.path().join("c")).unwrap();
    let mut files: Vec<PathBuf> = chunks.map(|chunk| chunk.unwrap().path()).collect();
    assert!(!files.is_empty());
    files.push(head);
    for file in files {
        let whole = std::fs::read(&file).unwrap();
        // One that claims to be of a newer version is refused instead.
        for at in (0..whole.len()).filter(|at| !(16..20).contains(at)) {
            let mut changed = whole.clone();
            changed[at] ^= 1 << (at % 8);
            std::fs::write(&file, changed).unwrap();
            let store = open(original.path());
            let chunks = store.read(&session(), SeqNum::all());
            let error = block_on(chunks.try_collect::<Vec<_>>()).unwrap_err();
            assert!(
                error.is_corrupt(),
                "byte {at} of {}: {error}",
                file.display()
            );
            let name = file.file_name().unwrap().to_str().unwrap();
            assert!(error.to_string().contains(name), "{error}");
        }
        std::fs::write(&file, &whole).unwrap();
    }
    assert_eq!(
        block_on(open(original.path()).verify(&session().id)).unwrap(),
        []
    );
}
