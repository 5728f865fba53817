//! Commits that fail, with a look at the connection itself.

use pollster::block_on;
use sessionlog_core::{AppendCondition, ErrorKind, EventLog, Kind, NewEvent, SessionRef};

use super::*;
use crate::{Options, Sqlite};

fn store() -> (tempfile::TempDir, Sqlite, SessionRef) {
    let dir = tempfile::tempdir().unwrap();
    let store = Sqlite::open(dir.path().join("a.db"), Options::default()).unwrap();
    let session = SessionRef::fresh("s".parse().unwrap());
    block_on(store.create(&session)).unwrap();
    (dir, store, session)
}

fn append(store: &Sqlite, session: &SessionRef, bytes: usize) -> Result<u64> {
    let data = format!("\"{}\"", "x".repeat(bytes));
    let event = NewEvent::json(Kind::from_static("message"), data).unwrap();
    let append = store.append(session, vec![event], AppendCondition::NONE);
    block_on(append).map(|range| range.end.get())
}

/// What the connection says, and that it has no transaction open.
fn ask(store: &Sqlite, sql: &str) -> i64 {
    let desk = store.inner.take_desk().unwrap();
    assert!(desk.conn.is_autocommit());
    let answer = desk.conn.query_row(sql, [], |row| row.get(0)).unwrap();
    store.inner.put_desk(desk);
    answer
}

#[test]
fn an_append_that_does_not_fit_is_not_there_and_the_next_one_works() {
    let (_dir, store, session) = store();
    append(&store, &session, 10).unwrap();
    let pages = ask(&store, "PRAGMA page_count");
    assert_eq!(
        ask(&store, &format!("PRAGMA max_page_count = {}", pages + 4)),
        pages + 4
    );
    for _ in 0..3 {
        let error = append(&store, &session, 100_000).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains("the disk is full"), "{error}");
        assert_eq!(ask(&store, "SELECT count(*) FROM event"), 1);
    }
    assert_eq!(append(&store, &session, 10).unwrap(), 2);
    ask(&store, "PRAGMA max_page_count = 1000000");
    assert_eq!(append(&store, &session, 100_000).unwrap(), 3);
    assert_eq!(
        block_on(sessionlog_core::Upkeep::verify(&store, &session.id)).unwrap(),
        []
    );
}

#[test]
fn a_full_disk_fails_everything_of_its_commit_and_nothing_before() {
    let (_dir, store, session) = store();
    append(&store, &session, 10).unwrap();
    let pages = ask(&store, "PRAGMA page_count");
    ask(&store, &format!("PRAGMA max_page_count = {}", pages + 4));
    let event = |bytes: usize| {
        let data = format!("\"{}\"", "x".repeat(bytes));
        vec![NewEvent::json(Kind::from_static("message"), data).unwrap()]
    };
    let all = [10, 100_000, 10].map(|n| store.append(&session, event(n), AppendCondition::NONE));
    let outcomes = block_on(futures_util::future::join_all(all));
    let stored = u64::try_from(ask(&store, "SELECT count(*) FROM event")).unwrap();
    let done = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(stored, 1 + u64::try_from(done).unwrap());
    assert!(outcomes.iter().any(Result::is_err));
    assert_eq!(append(&store, &session, 10).unwrap(), stored + 1);
}

#[test]
fn dropping_an_append_that_waits_for_the_lock_leaves_no_transaction() {
    use futures_util::FutureExt;
    let (dir, store, session) = store();
    let other = rusqlite::Connection::open(dir.path().join("a.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let event = NewEvent::json(Kind::from_static("message"), "1").unwrap();
    let mut waiting = store.append(&session, vec![event], AppendCondition::NONE);
    for _ in 0..3 {
        assert!(waiting.as_mut().now_or_never().is_none());
    }
    drop(waiting);
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(ask(&store, "SELECT count(*) FROM event"), 0);
    assert_eq!(append(&store, &session, 10).unwrap(), 1);
}

#[test]
fn a_commit_that_failed_is_settled_by_another() {
    let (_dir, store, session) = store();
    append(&store, &session, 10).unwrap();
    let mut desk = store.inner.take_desk().unwrap();
    settle(&mut desk).unwrap();
    store.inner.put_desk(desk);
    assert_eq!(ask(&store, "SELECT settled FROM store"), 1);
    assert_eq!(append(&store, &session, 10).unwrap(), 2);
}

#[test]
fn only_a_lock_is_waited_for() {
    let (_dir, store, session) = store();
    let desk = store.inner.take_desk().unwrap();
    desk.conn.execute_batch("PRAGMA query_only = 1").unwrap();
    store.inner.put_desk(desk);
    let error = append(&store, &session, 10).unwrap_err();
    assert!(!error.to_string().contains("the write lock"), "{error}");
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
    // The next one has a new connection.
    assert_eq!(append(&store, &session, 10).unwrap(), 1);
}

/// A reader keeps the write-ahead log from being cut when a session is deleted. The next commit behind it
/// does so.
#[test]
fn what_was_deleted_beside_a_reader_is_erased_once_it_is_gone() {
    let (dir, store, session) = store();
    let other = SessionRef::fresh("other".parse().unwrap());
    block_on(store.create(&other)).unwrap();
    append(&store, &session, 50_000).unwrap();
    let log_len = || {
        std::fs::metadata(dir.path().join("a.db-wal"))
            .unwrap()
            .len()
    };
    let reader = rusqlite::Connection::open(dir.path().join("a.db")).unwrap();
    reader
        .execute_batch("BEGIN; SELECT * FROM session")
        .unwrap();
    block_on(store.delete(&session, None)).unwrap();
    assert!(log_len() > 0);
    append(&store, &other, 1).unwrap();
    assert!(log_len() > 0);
    reader.execute_batch("COMMIT").unwrap();
    append(&store, &other, 1).unwrap();
    assert_eq!(log_len(), 0);
    // Once is enough.
    append(&store, &other, 1).unwrap();
    assert!(log_len() > 0);
}
