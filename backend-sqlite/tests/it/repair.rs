//! Verification and repair of damaged rows.

use crate::util::*;

fn outside(store: &Sqlite, sql: &str) {
    let conn = rusqlite::Connection::open(store.path()).unwrap();
    assert!(conn.execute(sql, []).unwrap() > 0, "{sql}");
}

fn key(n: u64) -> u64 {
    (1 << 36) + n
}

/// Damages, sees what verification finds, repairs, and reads.
fn mended(damage: &[String], places: &[u64]) -> (Repair, Vec<Event>, Vec<Event>) {
    let (_dir, store, session) = with_events(12);
    let before = read(&store, "s").unwrap();
    for sql in damage {
        outside(&store, sql);
    }
    let findings = block_on(store.verify(&session.id)).unwrap();
    let found: Vec<_> = findings
        .iter()
        .map(|f| f.place.seq.unwrap().get())
        .collect();
    assert_eq!(found, places, "{findings:?}");
    assert!(read(&store, "s").unwrap_err().is_corrupt());
    let plan = block_on(store.repair(&session.id, false)).unwrap();
    assert!(read(&store, "s").is_err(), "a plan changed something");
    let repair = block_on(store.repair(&session.id, true)).unwrap();
    assert_eq!((plan.events, plan.lost), (repair.events, repair.lost));
    assert_eq!(block_on(store.verify(&session.id)).unwrap(), []);
    assert_eq!(block_on(store.strays()).unwrap(), []);
    let after = read(&store, "s").unwrap();
    // It goes on as any log does.
    let range = append(&store, &session, &["1"]).unwrap();
    assert_eq!(range.start.get(), after.len() as u64);
    assert_eq!(read(&store, "s").unwrap().len(), after.len() + 1);
    (repair, before, after)
}

/// Every event but some is as it was, at its position.
fn all_but(lost: &[u64], before: &[Event], after: &[Event]) {
    for (old, new) in before.iter().zip(after) {
        if lost.contains(&old.seq.get()) {
            assert_eq!(new.kind, "repair.lost");
        } else {
            assert!(
                old.seq == new.seq && new.holds(&old.clone().into_new()),
                "{}",
                old.seq
            );
        }
    }
}

#[test]
fn a_changed_payload_is_replaced_by_a_mark_and_kept() {
    let sql = format!(
        "UPDATE event SET data = CAST('{{\"n\":9}}' AS BLOB) WHERE key = {}",
        key(4)
    );
    let (repair, before, after) = mended(&[sql], &[4]);
    assert_eq!((repair.events, repair.lost), (11, 1));
    assert_eq!(repair.kept, ["kept/1"]);
    all_but(&[4], &before, &after);
    let data: serde_json::Value = after[4].data.parse().unwrap();
    assert_eq!(data["kept"], 1);
}

#[test]
fn a_lost_row_is_replaced_by_a_mark() {
    let sql = format!("DELETE FROM event WHERE key IN ({}, {})", key(3), key(4));
    let (repair, before, after) = mended(&[sql], &[3, 4]);
    assert_eq!((repair.events, repair.lost), (10, 2));
    all_but(&[3, 4], &before, &after);
}

#[test]
fn an_event_whose_checksum_alone_is_damaged_is_whole() {
    let sql = format!("UPDATE event SET sum = sum + 1 WHERE key = {}", key(5));
    let (repair, before, after) = mended(&[sql], &[5]);
    assert_eq!((repair.events, repair.lost), (12, 0));
    assert!(before == after);
}

#[test]
fn several_places_are_all_found() {
    let damage = [
        format!("UPDATE event SET at = at + 1 WHERE key = {}", key(0)),
        format!("UPDATE event SET id = zeroblob(16) WHERE key = {}", key(6)),
        format!(
            "UPDATE event SET kind = 'Not A Kind' WHERE key = {}",
            key(8)
        ),
        format!("DELETE FROM event WHERE key = {}", key(10)),
    ];
    let (repair, before, after) = mended(&damage, &[0, 6, 8, 10]);
    assert_eq!((repair.events, repair.lost), (8, 4));
    all_but(&[0, 6, 8, 10], &before, &after);
}

#[test]
fn a_log_that_lost_its_end_goes_on_behind_what_is_there() {
    let sql = format!("DELETE FROM event WHERE key >= {}", key(9));
    let (repair, before, after) = mended(&[sql], &[9]);
    assert_eq!((repair.events, repair.lost), (9, 0));
    assert_eq!(after.len(), 9);
    all_but(&[], &before, &after);
}

#[test]
fn a_log_that_lost_everything_is_empty_only_after_a_repair() {
    let sql = format!("DELETE FROM event WHERE key >= {}", key(0));
    let (repair, _, after) = mended(&[sql], &[0]);
    assert_eq!((repair.events, repair.lost), (0, 0));
    assert!(after.is_empty());
}

#[test]
fn a_driven_session_is_not_repaired() {
    let (_dir, store, session) = with_events(5);
    outside(
        &store,
        &format!("UPDATE event SET at = 0 WHERE key = {}", key(2)),
    );
    let lease = block_on(store.acquire(&session, request("driver")));
    let lease = lease.unwrap();
    let error = block_on(store.repair(&session.id, true)).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::LeaseHeld { .. }),
        "{error}"
    );
    drop(lease);
    assert_eq!(block_on(store.repair(&session.id, true)).unwrap().lost, 1);
}

#[test]
fn damaged_snapshots_and_blobs_are_found() {
    use futures_util::{StreamExt, stream};
    let (_dir, store, session) = with_events(5);
    let (_, head) = block_on(store.head(&session.id)).unwrap();
    let snapshot = |covers| Snapshot {
        projection: Kind::from_static("fold"),
        version: 1,
        covers: SeqNum::new(covers),
        log: head.sum,
        state: "state".into(),
    };
    for covers in [4, 5] {
        block_on(store.save(&session, snapshot(covers), None)).unwrap();
    }
    let content = stream::iter([Ok(vec![1; 600_000].into())]).boxed();
    let info = block_on(store.put(&session, content, None)).unwrap();
    outside(
        &store,
        "UPDATE snapshot SET data = zeroblob(9) WHERE covers = 5",
    );
    outside(
        &store,
        "UPDATE piece SET data = zeroblob(262144) WHERE key & 15 = 1",
    );
    let findings = block_on(store.verify(&session.id)).unwrap();
    let severities: Vec<_> = findings.iter().map(|f| f.severity).collect();
    assert_eq!(
        severities,
        [Severity::Derived, Severity::Damage],
        "{findings:?}"
    );
    let fold = Kind::from_static("fold");
    let latest = block_on(store.latest(&session, &fold, 1, SeqNum::MAX)).unwrap();
    assert_eq!(latest.unwrap().covers.get(), 4);
    let pieces: Vec<_> = block_on(store.get(&session, info.id, 0..u64::MAX).collect());
    assert!(pieces.last().unwrap().as_ref().unwrap_err().is_corrupt());
}
