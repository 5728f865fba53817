//! A session in another store is the same session.

use futures_util::StreamExt;
use pollster::block_on;
use sessionlog_core::*;

use crate::wrapper::{Wrapper, message};

fn options() -> CopyOptions {
    CopyOptions::new(Owner::new("the copy").unwrap())
}

fn store() -> Store {
    Store::new(Memory::new())
}

fn id() -> SessionId {
    "s".parse().unwrap()
}

/// A session of `n` events of some kilobytes, and a blob.
fn with_events(n: u64) -> (Store, Session) {
    let store = store();
    let session = block_on(store.create(id())).unwrap();
    block_on(session.put_blob("artifact")).unwrap();
    grow(&session, n);
    (store, session)
}

fn grow(session: &Session, n: u64) {
    for n in 0..n {
        let event = message(&format!("{n} {}", "x".repeat(4000)));
        block_on(session.append(vec![event])).unwrap();
    }
}

fn copy(from: &Store, to: &Store, options: &CopyOptions) -> Result<Copied> {
    block_on(from.copy_to(&id(), to, options, |_| {}))
}

fn events(store: &Store) -> Vec<Event> {
    block_on(async {
        let session = store.open(&id()).await.unwrap();
        session.read(SeqNum::all()).collect().await.unwrap()
    })
}

#[track_caller]
fn refused(outcome: Result<Copied>, name: &str, words: &str) {
    let error = outcome.unwrap_err();
    assert_eq!(error.kind().name(), name, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn everything_arrives_and_a_second_copy_finds_it() {
    let (from, session) = with_events(2500);
    block_on(session.save_card()).unwrap();
    let to = store();
    let would = copy(&from, &to, &options().dry_run()).unwrap();
    assert_eq!(block_on(to.ids()).unwrap(), []);

    let mut calls = Vec::new();
    let done = block_on(from.copy_to(&id(), &to, &options(), |copied| calls.push(*copied)));
    let done = done.unwrap();
    assert_eq!(done, would);
    assert_eq!((done.already, done.events, done.blobs), (0, 2500, 1));
    assert_eq!((done.snapshots, done.blob_bytes), (1, 8));
    assert_eq!(done.head, block_on(session.head()).unwrap());
    // The blob, 4 MiB of the log, 4 MiB, and the rest.
    assert_eq!(calls.len(), 4);
    assert!(calls.is_sorted_by_key(|copied| copied.events));

    assert_eq!(events(&from), events(&to));
    let there = block_on(to.open(&id())).unwrap();
    assert_eq!(there.incarnation(), session.incarnation());
    let piece = block_on(there.blob(BlobId::of(b"artifact"), 0..99).next());
    assert_eq!(piece.unwrap().unwrap(), "artifact");
    assert_eq!(block_on(there.project::<Card>()).unwrap().folded, 0);
    assert_eq!(block_on(there.holder()).unwrap(), Liveness::Idle);

    let again = copy(&from, &to, &options()).unwrap();
    assert!(again.is_nothing() && again.already == 2500, "{again:?}");
    // And back.
    assert!(copy(&to, &from, &options()).unwrap().is_nothing());
}

#[test]
fn a_card_is_made_where_the_source_has_none() {
    let (from, _) = with_events(3);
    let to = store();
    assert_eq!(copy(&from, &to, &options()).unwrap().snapshots, 0);
    let there = block_on(to.open(&id())).unwrap();
    assert_eq!(block_on(there.project::<Card>()).unwrap().folded, 0);
    assert!(copy(&from, &to, &options()).unwrap().is_nothing());

    let bare = store();
    copy(&from, &bare, &options().without_snapshots()).unwrap();
    let there = block_on(bare.open(&id())).unwrap();
    assert_eq!(block_on(there.project::<Card>()).unwrap().folded, 3);
}

#[test]
fn a_session_that_has_grown_is_continued() {
    let (from, session) = with_events(3);
    let to = store();
    copy(&from, &to, &options()).unwrap();
    grow(&session, 2);
    block_on(session.put_blob("more")).unwrap();
    let done = copy(&from, &to, &options()).unwrap();
    assert_eq!((done.already, done.events, done.blobs), (3, 2, 1));
    assert_eq!(events(&from), events(&to));
    // A blob alone is news too.
    block_on(session.put_blob("without an event")).unwrap();
    let done = copy(&from, &to, &options()).unwrap();
    assert_eq!((done.already, done.events, done.blobs), (5, 0, 1));
}

#[test]
fn an_empty_session_is_copied() {
    let from = store();
    block_on(from.create(id())).unwrap();
    let to = store();
    assert!(copy(&from, &to, &options()).unwrap().is_nothing());
    assert_eq!(block_on(to.ids()).unwrap(), [id()]);
    assert!(copy(&from, &to, &options()).unwrap().is_nothing());
}

#[test]
fn what_differs_is_named_and_left_as_it_is() {
    let (from, session) = with_events(7);
    let to = store();
    copy(&from, &to, &options()).unwrap();
    let there = block_on(to.open(&id())).unwrap();
    grow(&there, 2);
    let before = events(&to);
    refused(
        copy(&from, &to, &options()),
        "conflict",
        "2 events more than the source, copy them the other way",
    );
    grow(&session, 3);
    for options in [options(), options().dry_run()] {
        refused(copy(&from, &to, &options), "conflict", "from 7 on");
    }
    assert_eq!(before, events(&to));
    let request = LeaseRequest::new(Owner::new("me").unwrap());
    let token = block_on(there.acquire(request)).unwrap().token();
    assert_eq!(token.get(), 2, "a copy that is refused takes no lease");

    let other = store();
    block_on(other.create(id())).unwrap();
    refused(
        copy(&from, &other, &options()),
        "conflict",
        "another session of this name",
    );
    refused(copy(&store(), &other, &options()), "not-found", "");
}

#[test]
fn a_destination_that_somebody_drives_is_not_touched() {
    let (from, session) = with_events(3);
    let to = store();
    copy(&from, &to, &options()).unwrap();
    grow(&session, 1);
    let there = block_on(to.open(&id())).unwrap();
    let request = LeaseRequest::new(Owner::new("a driver").unwrap());
    let writer = block_on(there.acquire(request)).unwrap();
    refused(copy(&from, &to, &options()), "lease-held", "a driver");
    assert_eq!(events(&to).len(), 3);
    drop(writer);
    assert_eq!(copy(&from, &to, &options()).unwrap().events, 1);
    // Who drives the source is in nobody's way.
    let request = LeaseRequest::new(Owner::new("a driver").unwrap());
    let _writer = block_on(session.acquire(request)).unwrap();
    copy(&from, &store(), &options()).unwrap();
}

#[test]
fn an_append_to_the_destination_meanwhile_ends_the_copy() {
    let (from, _) = with_events(2500);
    let to = store();
    let outcome = block_on(from.copy_to(&id(), &to, &options(), |copied| {
        if copied.events > 0 {
            let there = block_on(to.open(&id())).unwrap();
            block_on(there.append(vec![message("from outside")])).unwrap();
        }
    }));
    refused(outcome, "conflict", "");
    let there = events(&to);
    let copied = there.len() - 1;
    assert!(copied > 0 && there[..copied] == events(&from)[..copied]);
}

#[test]
fn damage_of_the_source_is_told_with_its_place() {
    let backend = Wrapper::default();
    let from = Store::new(backend.clone());
    let session = block_on(from.create(id())).unwrap();
    let batch = (0..10).map(|n| message(&n.to_string())).collect();
    block_on(session.append(batch)).unwrap();
    let from = Store::new(backend.tampered(|events| {
        events
            .iter_mut()
            .filter(|e| e.seq.get() == 4)
            .for_each(|e| e.data = Data::from_json("{}").unwrap());
    }));
    let to = store();
    refused(copy(&from, &to, &options()), "corrupt", "event 4");
    refused(copy(&from, &to, &options().dry_run()), "corrupt", "event 4");
}

#[test]
fn a_destination_that_stores_something_else_is_found() {
    let (from, _) = with_events(10);
    let to = Store::new(Wrapper::default().tampered(|events| {
        events
            .iter_mut()
            .filter(|e| e.seq.get() == 4)
            .for_each(|e| e.kind = Kind::from_static("notice"));
    }));
    refused(copy(&from, &to, &options()), "corrupt", "event 4");
}
