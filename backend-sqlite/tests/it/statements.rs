//! What goes wrong in the middle of a transaction.

use crate::util::*;
use futures_util::future::join_all;

fn outside(store: &Sqlite, sql: &str) {
    let conn = rusqlite::Connection::open(store.path()).unwrap();
    conn.busy_timeout(std::time::Duration::from_secs(5))
        .unwrap();
    conn.execute_batch(sql).unwrap();
}

const REFUSE: &str = "CREATE TRIGGER refuse BEFORE INSERT ON event WHEN NEW.data = CAST('\"bad\"' AS BLOB) \
                      BEGIN SELECT RAISE(ABORT, 'on purpose'); END";

#[test]
fn an_append_that_fails_half_way_leaves_nothing_and_no_transaction() {
    let (_dir, store, session) = with_events(2);
    outside(&store, REFUSE);
    for _ in 0..3 {
        let failed = append(&store, &session, &["1", "2", "\"bad\"", "4"]);
        assert!(failed.is_err());
        assert_eq!(tail(&store, &session), 2);
        // Others can write: no transaction is open here.
        outside(&store, "UPDATE store SET settled = settled + 1");
    }
    assert_eq!(read(&store, "s").unwrap().len(), 2);
    let range = append(&store, &session, &["3"]).unwrap();
    assert_eq!(range.start.get(), 2);
    assert_eq!(block_on(store.verify(&session.id)).unwrap(), []);
}

#[test]
fn one_that_fails_takes_no_other_of_its_commit_with_it() {
    let (_dir, store, session) = with_events(2);
    let other = create(&store, "other");
    outside(&store, REFUSE);
    let all = (0..9).map(|n| {
        let last = if n % 3 == 1 { "\"bad\"" } else { "\"good\"" };
        let to = if n % 2 == 0 { &session } else { &other };
        store.append(to, vec![event(&n.to_string()), event(last)], NONE)
    });
    let outcomes = block_on(join_all(all));
    let failed: Vec<_> = outcomes.iter().map(Result::is_err).collect();
    let expected: Vec<_> = (0..9).map(|n| n % 3 == 1).collect();
    assert_eq!(failed, expected);
    assert_eq!(read(&store, "s").unwrap().len(), 2 + 2 * 4);
    assert_eq!(read(&store, "other").unwrap().len(), 2 * 2);
    append(&store, &session, &["1"]).unwrap();
    append(&store, &other, &["1"]).unwrap();
}

#[test]
fn a_conflict_beside_an_append_that_fails_is_still_a_conflict() {
    let (_dir, store, session) = with_events(2);
    let at = |n| AppendCondition::at(SeqNum::new(n));
    let batch = || vec![event("1")];
    let all = join_all([
        store.append(&session, batch(), at(2)),
        store.append(&session, batch(), at(2)),
        store.append(&session, batch(), at(3)),
    ]);
    let outcomes = block_on(all);
    assert_eq!(outcomes[0].as_ref().unwrap().start.get(), 2);
    let tail = SeqNum::new(3);
    assert_eq!(
        *outcomes[1].as_ref().unwrap_err().kind(),
        ErrorKind::Conflict { tail }
    );
    assert_eq!(outcomes[2].as_ref().unwrap().start.get(), 3);
}

#[test]
fn a_grant_that_is_not_committed_holds_nothing() {
    let (_dir, store, session) = with_events(1);
    outside(
        &store,
        "CREATE TRIGGER refuse BEFORE UPDATE OF token ON session WHEN NEW.token > 0 \
         BEGIN SELECT RAISE(ABORT, 'on purpose'); END",
    );
    assert!(block_on(store.acquire(&session, request("me"))).is_err());
    assert_eq!(block_on(store.holder(&session)).unwrap(), Liveness::Idle);
    outside(&store, "DROP TRIGGER refuse");
    let lease = block_on(store.acquire(&session, request("me"))).unwrap();
    assert_eq!(lease.token.get(), 1);
}

#[test]
fn what_another_connection_wrote_is_noticed_by_the_ledger() {
    let (dir, store, session) = with_events(3);
    let second = open(&dir);
    let batch = vec![event("\"mine\"")];
    let first = block_on(second.append(&session, batch.clone(), NONE)).unwrap();
    append(&store, &session, &["1", "2"]).unwrap();
    // The answer was lost; the other handle finds the batch.
    assert_eq!(
        block_on(store.append(&session, batch, NONE)).unwrap(),
        first
    );
    assert_eq!(tail(&second, &session), 6);
}
