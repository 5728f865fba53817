//! Snapshots and blobs.

use std::fs;

use crate::util::*;
use futures_util::{StreamExt, stream};
use sessionlog_backend_jsonl::{Jsonl, Options};

const CARD: Kind = Kind::from_static("card");

fn snapshot(covers: u64, state: &str) -> Snapshot {
    Snapshot {
        projection: CARD,
        version: 1,
        covers: SeqNum::new(covers),
        log: Sum::from_u64(covers),
        state: state.to_owned().into(),
    }
}

fn latest(store: &Jsonl, session: &SessionRef, at: u64) -> Option<u64> {
    let found = block_on(store.latest(session, &CARD, 1, SeqNum::new(at))).unwrap();
    found.map(|s| s.covers.get())
}

#[test]
fn the_last_two_snapshots_are_kept_and_damaged_ones_passed_over() {
    let (_dir, store, session) = with_events(3);
    assert_eq!(latest(&store, &session, 9), None);
    for covers in [1, 2, 3] {
        block_on(store.save(&session, snapshot(covers, "x"), None)).unwrap();
    }
    assert_eq!(latest(&store, &session, 9), Some(3));
    assert_eq!(latest(&store, &session, 2), Some(2));
    assert_eq!(latest(&store, &session, 1), None);
    let folder = store.path().join("s/snapshots");
    // And the record for lists.
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
    let newest = folder.join("00000000000000000003-card-v1.snap");
    for damage in [&b""[..], &[0; 90], b"x"] {
        fs::write(&newest, damage).unwrap();
        assert_eq!(latest(&store, &session, 9), Some(2));
        let found = block_on(store.verify(&session.id)).unwrap();
        assert_eq!(found[0].severity, Severity::Derived);
    }
    // A snapshot under the name of another is not believed.
    fs::copy(folder.join("00000000000000000002-card-v1.snap"), &newest).unwrap();
    assert_eq!(latest(&store, &session, 9), Some(2));
    fs::write(folder.join(".tmp-left"), "x").unwrap();
    block_on(store.repair(&session.id, true)).unwrap();
    block_on(store.save(&session, snapshot(4, "y"), None)).unwrap();
    assert_eq!(latest(&store, &session, 9), Some(4));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
    let scanned: Vec<_> = block_on(store.scan(&CARD, 1).collect());
    let (id, found) = scanned[0].as_ref().unwrap();
    assert_eq!(
        (id.as_str(), found.covers.get(), scanned.len()),
        ("s", 4, 1)
    );
}

#[test]
fn snapshots_and_blobs_of_a_replaced_holder_are_refused() {
    let (_dir, store, session) = with_events(1);
    let request = LeaseRequest::new(Owner::new("me").unwrap());
    let old = block_on(store.acquire(&session, request.clone()))
        .unwrap()
        .token;
    let new = block_on(store.acquire(&session, request)).unwrap().token;
    let content = || stream::iter([Ok("x".into())]).boxed();
    assert!(block_on(store.save(&session, snapshot(1, "x"), Some(old))).is_err());
    assert!(block_on(store.put(&session, content(), Some(old))).is_err());
    block_on(store.save(&session, snapshot(1, "x"), Some(new))).unwrap();
    let id = block_on(store.put(&session, content(), Some(new)))
        .unwrap()
        .id;
    assert!(block_on(store.remove(&session, id, Some(old))).is_err());
    block_on(store.remove(&session, id, Some(new))).unwrap();
    block_on(store.remove(&session, id, Some(new))).unwrap();
}

fn get(
    store: &Jsonl,
    session: &SessionRef,
    id: BlobId,
    range: std::ops::Range<u64>,
) -> Result<Vec<u8>> {
    let mut pieces = store.get(session, id, range);
    let mut all = Vec::new();
    while let Some(piece) = block_on(pieces.next()) {
        all.extend_from_slice(&piece?);
    }
    Ok(all)
}

#[test]
fn blobs_are_streamed_checked_and_go_with_their_session() {
    let (_dir, store, session) = with_events(1);
    let content: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let pieces: Vec<_> = content
        .chunks(70_000)
        .map(|c| Ok(c.to_vec().into()))
        .collect();
    let put = || stream::iter(pieces.clone()).boxed();
    let info = block_on(store.put(&session, put(), None)).unwrap();
    assert_eq!(info.id, BlobId::of(&content));
    assert_eq!(block_on(store.put(&session, put(), None)).unwrap(), info);
    assert_eq!(
        get(&store, &session, info.id, 0..u64::MAX).unwrap(),
        content
    );
    assert_eq!(
        get(&store, &session, info.id, 5..300_000).unwrap(),
        &content[5..300_000]
    );
    assert_eq!(
        get(&store, &session, info.id, 2_999_999..9_999_999)
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        get(&store, &session, info.id, 7_000_000..9_999_999).unwrap(),
        [0; 0]
    );
    let absent = get(&store, &session, BlobId::of(b"x"), 0..1).unwrap_err();
    assert!(absent.is_not_found());
    let broken = stream::iter([Ok("x".into()), Err(Error::invalid("broken off"))]).boxed();
    assert!(block_on(store.put(&session, broken, None)).is_err());
    let folder = store.path().join("s/blobs");
    fs::write(folder.join(".tmp-left"), "x").unwrap();
    let empty = block_on(store.put(&session, stream::empty().boxed(), None)).unwrap();
    assert_eq!((empty.len, empty.id), (0, BlobId::of(b"")));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    let listed: Vec<_> = block_on(store.list(&session).collect());
    assert_eq!(listed.len(), 2);

    let path = folder.join(info.id.to_string());
    let mut changed = content.clone();
    changed[2_000_000] ^= 1;
    for damage in [&changed[..], &content[..1000]] {
        fs::write(&path, damage).unwrap();
        assert!(
            get(&store, &session, info.id, 0..u64::MAX)
                .unwrap_err()
                .is_corrupt()
        );
        let found = block_on(store.verify(&session.id)).unwrap();
        assert_eq!(found[0].severity, Severity::Damage);
    }
    block_on(store.put(&session, put(), None)).unwrap();
    assert_eq!(block_on(store.verify(&session.id)).unwrap(), []);

    block_on(store.delete(&session, None)).unwrap();
    assert!(
        get(&store, &session, info.id, 0..1)
            .unwrap_err()
            .is_not_found()
    );
    for (path, content) in everything(store.path()) {
        assert!(
            !content.is_some_and(|c| c.windows(3).any(|w| w == b"\"s\"")),
            "{path:?}"
        );
    }
}

#[test]
fn limits_that_allow_a_commit_that_could_not_be_found_again_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let open = |limits| Jsonl::open(dir.path().join("store"), Options::default().limits(limits));
    let limits = Limits::default();
    assert!(open(limits).is_ok());
    for limits in [
        limits.with_batch_bytes(256 << 20),
        limits.with_batch_events(1 << 20),
        limits
            .with_batch_events(usize::MAX)
            .with_batch_bytes(usize::MAX),
    ] {
        let error = open(limits).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::InvalidInput, "{error}");
    }
}

#[test]
fn events_up_to_the_limit_and_lines_of_any_length() {
    let (_dir, store, session) = with_events(0);
    let huge = format!("\"{}\"", "x".repeat((16 << 20) - 2));
    append(&store, &session, &["1"]).unwrap();
    append(&store, &session, &[&huge]).unwrap();
    for n in 0..20 {
        append(&store, &session, &[&n.to_string()]).unwrap();
    }
    append(&store, &session, &[&huge, "2"]).unwrap();
    let over = append(&store, &session, &[&format!("{huge} ")]).unwrap_err();
    assert_eq!(*over.kind(), ErrorKind::InvalidInput);
    let store = Jsonl::open(store.path(), Options::default()).unwrap();
    let events = read(&store, &session).unwrap();
    assert_eq!(events.len(), 24);
    assert_eq!(events[22].data.len(), 16 << 20);
    for at in [0, 1, 2, 12, 21, 22, 23] {
        let slice = read_range(&store, &session, SeqNum::new(at)..SeqNum::new(at + 1)).unwrap();
        assert_eq!(slice, &events[at as usize..at as usize + 1]);
    }
}
