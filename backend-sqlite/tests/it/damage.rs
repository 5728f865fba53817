//! Damaged bytes: the right answer or an error, never other bytes, never a shorter log, and no change.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::util::*;

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// What is in the store.
struct Whole {
    dir: TempDir,
    bytes: Vec<u8>,
    logs: Vec<(String, Vec<Event>)>,
    blob: (BlobId, Vec<u8>),
}

fn whole() -> Whole {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let mut logs = Vec::new();
    for (name, n) in [("one", 40), ("two", 3), ("three", 0), ("four", 25)] {
        let session = create(&store, name);
        for i in 0..n {
            let text = format!("\"{name} {i} {}\"", "y".repeat(i * 37 % 700));
            append(&store, &session, &[&text]).unwrap();
        }
        if name == "two" {
            append(&store, &session, &[&format!("\"{}\"", "z".repeat(30_000))]).unwrap();
        }
        logs.push((name.to_owned(), read(&store, name).unwrap()));
    }
    let (session, _) = block_on(store.head(&id("one"))).unwrap();
    let content = vec![7; 20_000];
    let pieces = stream::iter([Ok(Bytes::from(content.clone()))]).boxed();
    let info = block_on(store.put(&session, pieces, None)).unwrap();
    drop(block_on(store.acquire(&session, request("me"))).unwrap());
    drop(store);
    Whole {
        bytes: fs::read(path(&dir)).unwrap(),
        dir,
        logs,
        blob: (info.id, content),
    }
}

/// The right answer or an error.
fn look(whole: &Whole, file: &Path, what: &str) -> bool {
    let Ok(store) = Sqlite::open(file, Options::default()) else {
        return false;
    };
    let mut right = true;
    for (name, events) in &whole.logs {
        match read(&store, name) {
            Ok(found) => assert!(found == *events, "{what}: other events of {name}"),
            Err(error) => {
                right = false;
                assert!(!error.is_not_found(), "{what}: {name}: {error}");
            }
        }
    }
    let ids = block_on(Store::new(store.clone()).ids());
    if let Ok(ids) = ids {
        let names: Vec<_> = ids.iter().map(SessionId::as_str).collect();
        assert_eq!(names, ["four", "one", "three", "two"], "{what}");
    } else {
        right = false;
    }
    let names: Vec<_> = whole.logs.iter().map(|(name, _)| id(name)).collect();
    let heads = block_on(store.heads(&names)).into_iter();
    for ((name, events), head) in whole.logs.iter().zip(heads) {
        match head {
            Ok((_, head)) => assert_eq!(head.tail.get(), events.len() as u64, "{what}: {name}"),
            Err(error) => assert!(!error.is_not_found(), "{what}: {name}: {error}"),
        }
    }
    let none = block_on(store.heads(&[id("none")])).remove(0);
    assert!(none.is_err(), "{what}: a session that never was");
    if let Ok((session, _)) = block_on(store.head(&id("one"))) {
        let got: Result<Vec<Bytes>> =
            block_on(store.get(&session, whole.blob.0, 0..u64::MAX).try_collect());
        match got {
            Ok(pieces) => assert!(pieces.concat() == whole.blob.1, "{what}: another blob"),
            Err(_) => right = false,
        }
        match block_on(store.holder(&session)) {
            Ok(holder) => assert_eq!(holder, Liveness::Idle, "{what}"),
            Err(_) => right = false,
        }
    }
    right
}

/// Damages a copy, looks at it, and finds it as it was left.
fn damaged(whole: &Whole, copy: &TempDir, what: &str, damage: impl FnOnce(&mut Vec<u8>)) -> bool {
    let mut bytes = whole.bytes.clone();
    damage(&mut bytes);
    let file = copy.path().join("store.db");
    fs::write(&file, &bytes).unwrap();
    settle(&file);
    let right = look(whole, &file, what);
    assert!(
        fs::read(&file).unwrap() == bytes,
        "{what}: the file was changed"
    );
    assert_eq!(fs::read_dir(copy.path()).unwrap().count(), 1, "{what}");
    right
}

#[test]
fn a_flipped_bit_is_never_an_answer() {
    let whole = whole();
    let copy = tempfile::tempdir().unwrap();
    assert!(damaged(&whole, &copy, "nothing", |_| {}));
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut found = 0;
    let all = whole.bytes.len();
    // Every bit of the first hundred bytes would take long; of the rest a sample.
    for _ in 0..1200 {
        let (at, bit) = (dice.below(all), dice.below(8));
        let what = format!("bit {bit} of byte {at}");
        found += u32::from(!damaged(&whole, &copy, &what, |b| b[at] ^= 1 << bit));
    }
    for at in 0..100 {
        let what = format!("byte {at} of the header");
        damaged(&whole, &copy, &what, |b| b[at] ^= 1 << (at % 8));
    }
    assert!(found > 120, "{found}");
}

#[test]
fn the_rows_at_the_ends_of_pages_are_not_lost_in_silence() {
    // The number of rows of a page, and where each of them is. Pages are alike: each has a third of the bits.
    let whole = whole();
    let copy = tempfile::tempdir().unwrap();
    let pages = whole.bytes.len() / 8192;
    for page in 1..pages {
        for at in 0..24 {
            for bit in (0..8).filter(|bit| (page + at + bit) % 3 == 0) {
                let at = page * 8192 + at;
                let what = format!("bit {bit} of byte {at}");
                damaged(&whole, &copy, &what, |b| b[at] ^= 1 << bit);
            }
        }
    }
}

#[test]
fn lost_blocks_are_never_an_answer() {
    let whole = whole();
    let copy = tempfile::tempdir().unwrap();
    let blocks = whole.bytes.len() / 512;
    for block in 0..blocks {
        let place = block * 512..block * 512 + 512;
        let zeroed = |b: &mut Vec<u8>| b[place.clone()].fill(0);
        damaged(&whole, &copy, &format!("block {block} zeroed"), zeroed);
        let other = (block + 7) % blocks * 512;
        let swapped = |b: &mut Vec<u8>| {
            let first = b[place.clone()].to_vec();
            b.copy_within(other..other + 512, block * 512);
            b[other..other + 512].copy_from_slice(&first);
        };
        damaged(&whole, &copy, &format!("block {block} swapped"), swapped);
    }
    for len in (0..whole.bytes.len()).step_by(1000) {
        let what = format!("cut at {len}");
        let right = damaged(&whole, &copy, &what, |b| b.truncate(len));
        assert!(!right, "{what}");
    }
    damaged(&whole, &copy, "grown", |b| {
        b.extend_from_slice(&[0; 20_000]);
    });
}

#[test]
fn a_write_to_a_damaged_store_is_refused_where_it_would_build_on_the_damage() {
    let whole = whole();
    let store = open(&whole.dir);
    let (session, _) = block_on(store.head(&id("one"))).unwrap();
    let conn = rusqlite::Connection::open(path(&whole.dir)).unwrap();
    conn.execute_batch(
        "DELETE FROM event WHERE key = (SELECT max(key) FROM event WHERE key >> 36 = 1)",
    )
    .unwrap();
    conn.close().unwrap();
    assert!(append(&store, &session, &["1"]).unwrap_err().is_corrupt());
    let (error, other) = (read(&store, "one").unwrap_err(), read(&store, "four"));
    assert!(error.is_corrupt(), "{error}");
    assert_eq!(other.unwrap().len(), 25);
    let one = SessionRef::fresh(id("one"));
    let create = block_on(store.create(&one)).unwrap_err();
    assert!(create.is_corrupt(), "{create}");
    let findings = block_on(store.verify(&id("one"))).unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
}

#[test]
fn a_session_whose_row_is_lost_is_missed() {
    let whole = whole();
    let conn = rusqlite::Connection::open(path(&whole.dir)).unwrap();
    conn.execute_batch("DELETE FROM session WHERE id = 'two'")
        .unwrap();
    conn.close().unwrap();
    let store = open(&whole.dir);
    assert!(read(&store, "two").unwrap_err().is_corrupt());
    assert!(
        block_on(Store::new(store.clone()).ids())
            .unwrap_err()
            .is_corrupt()
    );
    let again = block_on(store.create(&SessionRef::fresh(id("two"))));
    assert!(again.unwrap_err().is_corrupt());
    assert_eq!(read(&store, "four").unwrap().len(), 25);
    let strays = block_on(store.strays()).unwrap();
    assert!(
        strays.iter().any(|f| f.severity == Severity::Damage),
        "{strays:?}"
    );
}
