//! Repair, and giving space back.

use crate::util::*;
use futures_util::{StreamExt, TryStreamExt};
use redb::{Builder, ConcurrencyMode, ReadableTable, TableDefinition};
use sessionlog_backend_redb::Redb;

const EVENTS: TableDefinition<'_, (u64, u64), &[u8]> = TableDefinition::new("events");
const BLOBS: TableDefinition<'_, (u64, &[u8; 32]), (u64, u64)> = TableDefinition::new("blobs");
const SESSIONS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("sessions");

/// Changes rows as another program could.
fn tamper(store: Redb, change: impl Fn(&redb::WriteTransaction)) -> Redb {
    let path = store.path().to_owned();
    drop(store);
    let mut builder = Builder::new();
    builder.set_concurrency_mode(ConcurrencyMode::MultiWriter);
    let database = builder.open(&path).unwrap();
    let txn = database.begin_write().unwrap();
    change(&txn);
    txn.commit().unwrap();
    drop(database);
    Redb::open(path, sessionlog_backend_redb::Options::default()).unwrap()
}

fn flip(txn: &redb::WriteTransaction, seq: u64, at: usize) {
    let mut table = txn.open_table(EVENTS).unwrap();
    let key = table.iter().unwrap().next().unwrap().unwrap().0.value().0;
    let mut row = table.get((key, seq)).unwrap().unwrap().value().to_vec();
    row[at] ^= 1;
    table.insert((key, seq), row.as_slice()).unwrap();
}

fn lost(events: &[Event]) -> Vec<u64> {
    let lost = events.iter().filter(|e| e.kind == "repair.lost");
    lost.map(|e| e.seq.get()).collect()
}

/// Events behind the end of the log are somebody's: nothing is written over them, however many events come.
#[test]
fn an_append_over_events_behind_the_end_is_refused() {
    for many in [1, 300] {
        let (_dir, store, session) = with_events(3);
        let store = tamper(store, |txn| {
            let mut table = txn.open_table(EVENTS).unwrap();
            let key = table.iter().unwrap().next().unwrap().unwrap().0.value().0;
            let row = table.get((key, 2)).unwrap().unwrap().value().to_vec();
            table.insert((key, 3), row.as_slice()).unwrap();
        });
        let new = (0..many).map(|n| event(&n.to_string())).collect();
        let error = block_on(store.append(&session, new, NONE)).unwrap_err();
        assert!(error.is_corrupt(), "{error}");
        assert_eq!(tail(&store, &session), 3);
    }
}

#[test]
fn damaged_and_missing_events_are_all_found_and_noted_and_the_rest_stays() {
    let (_dir, store, session) = with_events(30);
    let store = tamper(store, |txn| {
        flip(txn, 3, 44);
        flip(txn, 10, 3);
        flip(txn, 17, 25);
        flip(txn, 22, 32);
        let mut table = txn.open_table(EVENTS).unwrap();
        let key = table.iter().unwrap().next().unwrap().unwrap().0.value().0;
        table.remove((key, 29)).unwrap();
    });
    let error = read(&store, &session).unwrap_err();
    assert!(error.is_corrupt(), "{error}");
    let found = block_on(store.verify(&session.id)).unwrap();
    let places: Vec<_> = found.iter().map(|f| f.place.seq.unwrap().get()).collect();
    assert_eq!(places, [3, 10, 17, 22, 29]);

    let before = std::fs::read(store.path()).unwrap();
    let planned = block_on(store.repair(&session.id, false)).unwrap();
    assert!(std::fs::read(store.path()).unwrap() == before);
    assert_eq!((planned.events, planned.lost), (25, 5));
    let done = block_on(store.repair(&session.id, true)).unwrap();
    assert_eq!(done, planned);

    assert!(block_on(store.verify(&session.id)).unwrap().is_empty());
    let events = read(&store, &session).unwrap();
    assert_eq!(lost(&events), [3, 10, 17, 22, 29]);
    for event in events.iter().filter(|e| e.kind != "repair.lost") {
        assert_eq!(event.data.to_string(), format!("{{\"n\":{}}}", event.seq));
    }
    assert!(events[3].data.to_string().contains("\"kept\":3"));
    assert!(events[29].data.to_string().contains("\"kept\":null"));
    append(&store, &session, &["1"]).unwrap();
    assert_eq!(read(&store, &session).unwrap().len(), 31);
    assert!(
        block_on(store.repair(&session.id, true))
            .unwrap()
            .steps
            .is_empty()
    );
}

#[test]
fn a_damaged_session_row_is_listed_refused_and_written_anew() {
    let (_dir, store, session) = with_events(5);
    let owner = Owner::new("me").unwrap();
    let lease = block_on(store.acquire(&session, LeaseRequest::new(owner.clone()))).unwrap();
    block_on(store.release(&lease)).unwrap();
    let store = tamper(store, |txn| {
        let mut table = txn.open_table(SESSIONS).unwrap();
        let mut row = table.get(&b"s"[..]).unwrap().unwrap().value().to_vec();
        row[33] ^= 4;
        table.insert(&b"s"[..], row.as_slice()).unwrap();
    });
    assert!(block_on(store.head(&session.id)).unwrap_err().is_corrupt());
    assert!(append(&store, &session, &["1"]).unwrap_err().is_corrupt());
    assert!(block_on(store.create(&session)).unwrap_err().is_corrupt());
    assert!(!block_on(store.verify(&session.id)).unwrap().is_empty());
    block_on(store.repair(&session.id, true)).unwrap();
    assert_eq!(read(&store, &session).unwrap().len(), 5);
    let next = block_on(store.acquire(&session, LeaseRequest::new(owner))).unwrap();
    assert!(next.token > lease.token);
}

/// A page as it was earlier has no trace of a blob; its content does.
#[test]
fn content_whose_blob_has_lost_its_name_is_damage() {
    let (_dir, store, session) = with_events(1);
    let pieces = || futures_util::stream::iter([Ok("content".into())]).boxed();
    let blob = block_on(store.put(&session, pieces(), None)).unwrap();
    let damage = |store: &Redb| {
        let strays = block_on(store.strays()).unwrap();
        strays
            .iter()
            .filter(|f| f.severity == Severity::Damage)
            .count()
    };
    assert_eq!(damage(&store), 0);
    let store = tamper(store, |txn| {
        let mut table = txn.open_table(BLOBS).unwrap();
        table.retain(|_, _| false).unwrap();
    });
    let get = store.get(&session, blob.id, 0..u64::MAX);
    let get: Result<Vec<_>> = block_on(get.try_collect());
    assert!(get.unwrap_err().is_not_found());
    assert_eq!(damage(&store), 1);
}

/// The number of a damaged row may be that of another session, whose events a repair must not touch.
#[test]
fn a_row_that_names_another_sessions_events_costs_that_one_nothing() {
    let (_dir, store, _) = with_events(1);
    let damaged = filled(&store, "t", 4);
    let other = filled(&store, "u", 4);
    let before = read(&store, &other).unwrap();
    let store = tamper(store, |txn| {
        let mut table = txn.open_table(SESSIONS).unwrap();
        let number = table.get(&b"u"[..]).unwrap().unwrap().value()[0];
        let mut row = table.get(&b"t"[..]).unwrap().unwrap().value().to_vec();
        row[0] = number;
        table.insert(&b"t"[..], row.as_slice()).unwrap();
    });
    let repair = block_on(store.repair(&damaged.id, true));
    assert_eq!(read(&store, &other).unwrap(), before, "{repair:?}");
    assert_eq!(repair.unwrap_err().kind().name(), "unsupported");
    assert!(block_on(store.head(&damaged.id)).unwrap_err().is_corrupt());
}

#[test]
fn a_driven_session_is_not_mended() {
    let (_dir, store, session) = with_events(2);
    let owner = Owner::new("me").unwrap();
    let _lease = block_on(store.acquire(&session, LeaseRequest::new(owner))).unwrap();
    for apply in [false, true] {
        let error = block_on(store.repair(&session.id, apply)).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::LeaseHeld { .. }),
            "{error}"
        );
    }
}

/// Case 14c: half the sessions are deleted.
#[test]
fn space_is_used_again_and_a_command_gives_it_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let text = format!("\"{}\"", "x".repeat(100_000));
    let fill = |name: &str| {
        let session = SessionRef::fresh(id(name));
        block_on(store.create(&session)).unwrap();
        append(&store, &session, &[text.as_str(); 50]).unwrap();
        session
    };
    let size = || std::fs::metadata(store.path()).unwrap().len();
    let kept = fill("kept");
    let gone = fill("gone");
    let full = size();
    block_on(store.delete(&gone, None)).unwrap();
    for _ in 0..5 {
        let again = fill("again");
        block_on(store.delete(&again, None)).unwrap();
    }
    assert!(size() <= full * 2, "{} {full}", size());
    let (before, after) = block_on(store.compact()).unwrap();
    assert!(after < before && after < 8_000_000, "{before} {after}");
    assert_eq!(read(&store, &kept).unwrap().len(), 50);
    append(&store, &kept, &["1"]).unwrap();
}

/// A slow reader keeps nothing from being used again.
#[test]
fn a_reader_that_never_ends_does_not_make_the_file_grow() {
    use futures_util::StreamExt;
    let (_dir, store, session) = with_events(1);
    let text = format!("\"{}\"", "x".repeat(100_000));
    append(&store, &session, &[text.as_str(); 20]).unwrap();
    let mut reading = store.read(&session, SeqNum::all());
    assert!(block_on(reading.next()).unwrap().is_ok());
    let churn = SessionRef::fresh(id("churn"));
    let mut sizes = Vec::new();
    for _ in 0..20 {
        block_on(store.create(&churn)).unwrap();
        append(&store, &churn, &[text.as_str(); 20]).unwrap();
        block_on(store.delete(&churn, None)).unwrap();
        sizes.push(std::fs::metadata(store.path()).unwrap().len());
    }
    let most = sizes[..4].iter().max().unwrap();
    assert!(sizes[4..].iter().all(|size| size <= most), "{sizes:?}");
    while let Some(chunk) = block_on(reading.next()) {
        chunk.unwrap();
    }
}

/// Case 14a: a message that grows word by word.
#[test]
fn a_message_that_grows_costs_what_it_grew() {
    let (_dir, store, session) = with_events(0);
    let size = |store: &Redb| std::fs::metadata(store.path()).unwrap().len();
    let mut sizes = Vec::new();
    for n in 0..2000 {
        append(&store, &session, &[&format!("{{\"delta\":\"word {n} \"}}")]).unwrap();
        if n % 500 == 499 {
            sizes.push(size(&store));
        }
    }
    // A file grows in steps: what counts is that later words cost no more than earlier ones.
    let [_, _, _, last] = sizes[..] else {
        panic!("{sizes:?}")
    };
    assert!(last < 2 << 20, "{sizes:?}");
    block_on(store.compact()).unwrap();
    assert!(size(&store) < 2000 * 200 + 300_000, "{}", size(&store));
}
