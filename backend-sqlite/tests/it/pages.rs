//! Damaged pages of the database: what can be read is carried into a new one.

use std::collections::BTreeMap;
use std::fs;

use futures_util::{StreamExt, TryStreamExt, stream};
use rusqlite::Connection;

use crate::util::*;

const PAGE: usize = 8192;

/// What is stored of a session, by content.
#[derive(Debug, PartialEq)]
struct Content {
    events: Vec<Event>,
    blobs: Vec<Vec<u8>>,
}

struct Whole {
    bytes: Vec<u8>,
    sessions: BTreeMap<SessionId, Content>,
}

fn content(store: &Sqlite, name: &SessionId) -> Result<Content> {
    block_on(async {
        let session = Store::new(store.clone()).open(name).await?;
        let events = session.read(SeqNum::all()).collect().await?;
        let mut blobs = Vec::new();
        for info in session.blobs().await? {
            let pieces: Vec<_> = session.blob(info.id, 0..u64::MAX).try_collect().await?;
            blobs.push(pieces.concat());
        }
        Ok(Content { events, blobs })
    })
}

/// A database of several sessions whose events lie between each other's, closed and in one file.
fn whole() -> Whole {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let names: Vec<_> = (0..4).map(|n| format!("s{n}")).collect();
    let sessions: Vec<_> = names.iter().map(|name| create(&store, name)).collect();
    for round in 0..12 {
        for session in &sessions {
            // One of them reaches over several pages.
            let len = if round == 5 { 30_000 } else { 700 + round * 31 };
            let text = format!("\"{round} {}\"", "x".repeat(len));
            append(&store, session, &[&text, "[1]"]).unwrap();
        }
    }
    for (n, session) in (0..).zip(&sessions) {
        let blob = stream::iter([Ok(vec![n; 20_000].into())]).boxed();
        block_on(store.put(session, blob, None)).unwrap();
    }
    drop(block_on(store.acquire(sessions.first().unwrap(), request("me"))).unwrap());
    let sessions = sessions
        .into_iter()
        .map(|session| (session.id.clone(), content(&store, &session.id).unwrap()));
    let sessions = sessions.collect();
    drop(store);
    let bytes = fs::read(path(&dir)).unwrap();
    Whole { bytes, sessions }
}

/// Repairs every session of a store; gives how many events are there and how many are marks.
fn repaired(dir: &TempDir, whole: &Whole, what: &str) -> (usize, usize) {
    let store = open(dir);
    let (mut there, mut lost) = (0, 0);
    for (name, before) in &whole.sessions {
        if let Ok(now) = content(&store, name) {
            assert_eq!(now.events, before.events, "{what}");
        }
        let told = block_on(store.repair(name, false)).unwrap();
        let repair = block_on(store.repair(name, true));
        assert!(repair.is_ok(), "{what}: {repair:?}");
        let done = repair.unwrap();
        // What can't be foreseen is not told.
        if (told.events, told.lost) != (0, 0) {
            let counts = |repair: &Repair| (repair.events, repair.lost);
            assert_eq!(counts(&told), counts(&done), "{what}: {told:?} {done:?}");
        }
        let session = block_on(Store::new(store.clone()).open(name)).unwrap();
        let events = block_on(session.read(SeqNum::all()).collect()).unwrap();
        for (old, new) in before.events.iter().zip(&events) {
            if new.kind == "repair.lost" {
                lost += 1;
            } else {
                assert!(new.holds(&old.clone().into_new()), "{what}");
                there += 1;
            }
        }
        // It goes on.
        append(&store, session_ref(&store, name), &["1"]).unwrap();
    }
    let integrity = block_on(store.strays()).unwrap();
    let bad = integrity.iter().filter(|f| f.severity == Severity::Damage);
    assert_eq!(bad.collect::<Vec<_>>(), [] as [&Finding; 0], "{what}");
    (there, lost)
}

fn session_ref(store: &Sqlite, name: &SessionId) -> &'static SessionRef {
    Box::leak(Box::new(block_on(store.head(name)).unwrap().0))
}

/// The root pages of the tables and indices.
fn roots(dir: &TempDir) -> BTreeMap<String, usize> {
    let conn = Connection::open(path(dir)).unwrap();
    let mut statement = conn
        .prepare("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0")
        .unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)));
    rows.unwrap()
        .map(|row| {
            row.map(|(name, page)| (name, usize::try_from(page).unwrap() - 1))
                .unwrap()
        })
        .collect()
}

/// Writes a file with damage, and the file beside it is gone.
fn write(dir: &TempDir, bytes: &[u8]) {
    for entry in fs::read_dir(dir.path()).unwrap() {
        let entry = entry.unwrap().path();
        if entry.is_dir() {
            fs::remove_dir_all(entry).unwrap();
        } else {
            fs::remove_file(entry).unwrap();
        }
    }
    fs::write(path(dir), bytes).unwrap();
}

#[test]
fn a_damaged_page_costs_what_was_on_it_and_nothing_else() {
    let whole = whole();
    let dir = tempfile::tempdir().unwrap();
    write(&dir, &whole.bytes);
    let roots = roots(&dir);
    let all: usize = whole.sessions.values().map(|c| c.events.len()).sum();
    let pages = whole.bytes.len() / PAGE;
    let (mut losses, mut mended) = (0, 0);
    // The first page has the schema and the second one SQLite's map of pages.
    // Of the many with events only some are tried: each repair flushes a database.
    for page in (2..pages).filter(|page| *page < 14 || page % 4 == 0) {
        for fill in if page % 2 == 0 { [0] } else { [0xa5] } {
            let what = format!("page {page} filled with {fill}");
            let mut bytes = whole.bytes.clone();
            bytes[page * PAGE..(page + 1) * PAGE].fill(fill);
            write(&dir, &bytes);
            if roots.get("event") == Some(&page) {
                // Behind the root of the events is everything.
                continue;
            }
            let (there, lost) = repaired(&dir, &whole, &what);
            assert!(
                there + lost <= all && there >= all - 40,
                "{what}: {there} {lost}"
            );
            losses += usize::from(lost > 0);
            mended += 1;
            let kept = fs::read_dir(dir.path()).unwrap().filter(|entry| {
                let name = entry.as_ref().unwrap().file_name();
                name.to_string_lossy().contains("-damaged-")
            });
            for kept in kept {
                assert!(fs::read(kept.unwrap().path()).unwrap() == bytes, "{what}");
            }
        }
    }
    assert!(losses > 4 && mended > 12, "{losses} of {mended}");
}

#[test]
fn a_key_that_misleads_searches_ends_them_and_costs_nothing() {
    let whole = whole();
    let dir = tempfile::tempdir().unwrap();
    write(&dir, &whole.bytes);
    let root = *roots(&dir).get("event").unwrap();
    let all: usize = whole.sessions.values().map(|c| c.events.len()).sum();
    // A page above others: each of its cells is the number of a page and the last key that is there.
    let page = &whole.bytes[root * PAGE..(root + 1) * PAGE];
    assert_eq!(page[0], 5);
    let word = |at: usize| usize::from(u16::from_be_bytes([page[at], page[at + 1]]));
    let places: Vec<_> = (0..word(3)).map(|n| word(12 + 2 * n) + 4).collect();
    assert!(places.len() > 3, "{places:?}");
    for (n, at) in places.iter().enumerate().step_by(places.len() / 4) {
        // The position in the log, or the number of the session.
        for byte in [n % 4 + 2, 0] {
            let mut bytes = whole.bytes.clone();
            bytes[root * PAGE + at + byte] ^= 1;
            write(&dir, &bytes);
            let what = format!("byte {byte} of key {n}");
            assert_eq!(repaired(&dir, &whole, &what), (all, 0), "{what}");
        }
    }
}

#[test]
fn a_session_whose_row_is_damaged_is_mended_as_a_new_life_with_all_its_events() {
    let (_dir, store, session) = with_events(9);
    let old = block_on(store.acquire(&session, request("old"))).unwrap();
    drop(old);
    let before = read(&store, "s").unwrap();
    let conn = Connection::open(store.path()).unwrap();
    conn.execute("UPDATE session SET token = 0", []).unwrap();
    assert!(read(&store, "s").unwrap_err().is_corrupt());
    let plan = block_on(store.repair(&session.id, false)).unwrap();
    assert!(plan.steps[0].contains("new life"), "{plan:?}");
    let repair = block_on(store.repair(&session.id, true)).unwrap();
    assert_eq!((repair.events, repair.lost), (9, 0));
    let after = read(&store, "s").unwrap();
    assert_eq!(after.len(), 9);
    for (old, new) in before.iter().zip(&after) {
        assert!(new.holds(&old.clone().into_new()));
    }
    // A writer of the old life writes nothing more.
    let late = append(&store, &session, &["1"]).unwrap_err();
    assert!(late.is_not_found(), "{late}");
    let (now, _) = block_on(store.head(&session.id)).unwrap();
    append(&store, &now, &["1"]).unwrap();
    assert_eq!(block_on(store.verify(&session.id)).unwrap(), []);
}

#[test]
fn others_who_have_the_store_open_go_on_in_the_new_database() {
    let whole = whole();
    let dir = tempfile::tempdir().unwrap();
    let mut bytes = whole.bytes.clone();
    // A leaf of a table, with rows.
    let middle = bytes.len() / PAGE / 2;
    let mut leaves = (middle..).filter(|page| bytes[page * PAGE] == 13);
    let page = leaves.next().unwrap();
    bytes[page * PAGE..(page + 1) * PAGE].fill(0);
    write(&dir, &bytes);
    let (one, other) = (open(&dir), open(&dir));
    let names: Vec<_> = whole.sessions.keys().cloned().collect();
    let broken = names.iter().find(|name| content(&other, name).is_err());
    let broken = broken.expect("the page is in use");
    // Both have written before.
    for name in names.iter().filter(|name| *name != broken) {
        let session = session_ref(&other, name);
        drop((
            append(&one, session, &["2"]),
            append(&other, session, &["3"]),
        ));
    }
    let repair = block_on(one.repair(broken, true)).unwrap();
    assert!(
        repair.kept.iter().any(|kept| kept.contains("-damaged-")),
        "{repair:?}"
    );
    for name in &names {
        block_on(other.repair(name, true)).unwrap();
        let session = session_ref(&other, name);
        let range = append(&other, session, &["4"]).unwrap();
        assert_eq!(tail(&one, session), range.end.get());
        assert!(block_on(other.verify(name)).unwrap().is_empty());
    }
}

#[test]
fn a_damaged_session_is_deleted_when_asked_explicitly() {
    for sql in [
        "UPDATE session SET token = 7 WHERE id = 's'",
        "DELETE FROM event WHERE key & 15 = 11",
    ] {
        let (_dir, store, session) = with_events(12);
        create(&store, "other");
        let conn = Connection::open(store.path()).unwrap();
        conn.execute(sql, []).unwrap();
        let whole = Store::new(store.clone());
        assert!(
            block_on(whole.delete(&session.id))
                .unwrap_err()
                .is_corrupt()
        );
        block_on(whole.delete_damaged(&session.id)).unwrap();
        let ids = block_on(whole.ids()).unwrap();
        assert_eq!(ids, [id("other")], "{sql}");
    }
}

#[test]
fn what_is_lost_behind_the_last_page_that_can_be_read_is_told_as_it_is_done() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let session = create(&store, "a");
    for n in 0..30 {
        let text = format!("\"{n} {}\"", "x".repeat(1_000));
        append(&store, &session, &[&text]).unwrap();
    }
    let name = session.id.clone();
    let before = content(&store, &name).unwrap();
    drop(store);
    let bytes = fs::read(path(&dir)).unwrap();
    let last = bytes.windows(8).rposition(|at| at == b"\"29 xxxx").unwrap();
    let mut damaged = bytes;
    damaged[last / PAGE * PAGE..][..PAGE].fill(0xa5);
    write(&dir, &damaged);
    let whole = Whole {
        bytes: damaged,
        sessions: BTreeMap::from([(name, before)]),
    };
    let (there, lost) = repaired(&dir, &whole, "the last page");
    assert!(lost == 0 && there > 20 && there < 30, "{there} {lost}");
}
