//! Torn tails: what a kill or a power cut leaves of an append that was never acknowledged.

use std::fs;

use crate::util::*;
use sessionlog_backend_jsonl::{Jsonl, Options};

/// A log of two commits, the second of which has three events; the length before it.
fn torn() -> (TempDir, Jsonl, SessionRef, Vec<u8>, usize) {
    let (dir, store, session) = with_events(1);
    let path = log_path(&store, "s");
    let before = fs::read(&path).unwrap().len();
    append(&store, &session, &["\"ä\"", "{\n\"x\": 1}", "[]"]).unwrap();
    let whole = fs::read(&path).unwrap();
    (dir, store, session, whole, before)
}

#[test]
fn a_commit_cut_at_every_byte_is_not_there_and_the_next_append_works() {
    let (_dir, store, session, whole, before) = torn();
    let path = log_path(&store, "s");
    for cut in before..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let untouched = everything(store.path());
        let store = Jsonl::open(store.path(), Options::default()).unwrap();
        assert_eq!(tail(&store, &session), 1, "{cut}");
        assert_eq!(texts(&read(&store, &session).unwrap()), ["{\"n\":0}"]);
        let findings = block_on(store.verify(&session.id)).unwrap();
        assert!(findings.iter().all(|f| f.severity == Severity::Note));
        assert_eq!(
            findings.len(),
            usize::from(cut > before),
            "{cut}: {findings:?}"
        );
        assert_eq!(
            everything(store.path()),
            untouched,
            "reading changed something"
        );

        append(&store, &session, &["\"next\""]).unwrap();
        let events = read(&store, &session).unwrap();
        assert_eq!(texts(&events), ["{\"n\":0}", "\"next\""], "{cut}");
        let kept = store.path().join("s/kept");
        if cut > before {
            let names: Vec<_> = fs::read_dir(&kept).unwrap().collect();
            assert_eq!(names.len(), 1);
            let bytes = fs::read(names[0].as_ref().unwrap().path()).unwrap();
            assert_eq!(bytes, &whole[before..cut]);
            fs::remove_dir_all(&kept).unwrap();
        } else {
            assert!(!kept.exists());
        }
    }
}

#[test]
fn a_whole_line_without_its_newline_is_torn_but_with_another_byte_it_is_damage() {
    let (_dir, store, session, mut whole, _) = torn();
    let path = log_path(&store, "s");
    *whole.last_mut().unwrap() = b'X';
    fs::write(&path, &whole).unwrap();
    let store = Jsonl::open(store.path(), Options::default()).unwrap();
    assert!(block_on(store.head(&session.id)).unwrap_err().is_corrupt());
    assert!(append(&store, &session, &["1"]).unwrap_err().is_corrupt());
    assert_eq!(fs::read(&path).unwrap(), whole);
}

#[test]
fn every_flipped_bit_of_the_last_commit_is_damage_and_nothing_is_changed() {
    for write_ahead in [0, 2000] {
        let (_dir, store, session) = with_events(1);
        let store = Jsonl::open(store.path(), Options::default().write_ahead(write_ahead)).unwrap();
        append(&store, &session, &["\"a\"", "2"]).unwrap();
        let path = log_path(&store, "s");
        let whole = fs::read(&path).unwrap();
        let before = whole.iter().position(|b| *b == b'\n').unwrap() + 1;
        let end = whole.iter().rposition(|b| *b != b'\n').unwrap() + 2;
        for at in before..end {
            let mut changed = whole.clone();
            changed[at] ^= 1 << (at % 8);
            fs::write(&path, &changed).unwrap();
            let store = Jsonl::open(store.path(), Options::default()).unwrap();
            let head = block_on(store.head(&session.id));
            let events = read(&store, &session);
            assert!(
                events.as_ref().is_err_and(Error::is_corrupt),
                "{at}: {events:?}"
            );
            let found = block_on(store.verify(&session.id)).unwrap();
            assert!(found.iter().any(|f| f.severity == Severity::Damage), "{at}");
            let last = whole[..end - 1].iter().rposition(|b| *b == b'\n').unwrap();
            if at > last {
                assert!(head.unwrap_err().is_corrupt(), "{at}");
                let error = append(&store, &session, &["1"]).unwrap_err();
                assert!(error.is_corrupt(), "{at}");
                assert_eq!(fs::read(&path).unwrap(), changed);
            }
        }
    }
}

#[test]
fn sectors_that_never_reached_the_disk_are_torn() {
    let (_dir, store, session) = with_events(1);
    let path = log_path(&store, "s");
    let before = fs::read(&path).unwrap().len();
    let long = format!("\"{}\"", "x".repeat(3000));
    append(&store, &session, &[&long, &long]).unwrap();
    let whole = fs::read(&path).unwrap();
    for sector in before / 512..=whole.len() / 512 {
        let range = (sector * 512).max(before)..((sector + 1) * 512).min(whole.len());
        let mut changed = whole.clone();
        changed[range].fill(0);
        fs::write(&path, &changed).unwrap();
        let store = Jsonl::open(store.path(), Options::default()).unwrap();
        assert_eq!(tail(&store, &session), 1, "sector {sector}");
        append(&store, &session, &["7"]).unwrap();
        assert_eq!(read(&store, &session).unwrap().len(), 2);
    }
}

#[test]
fn space_written_ahead_is_no_torn_tail_and_every_moment_is_valid_json_lines() {
    let (_dir, store, session) = with_events(0);
    let store = Jsonl::open(store.path(), Options::default().write_ahead(4096)).unwrap();
    let path = log_path(&store, "s");
    let mut lengths = Vec::new();
    for n in 0..60 {
        append(&store, &session, &[&format!("{{\"n\":{n}}}")]).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().filter(|line| !line.is_empty());
        assert_eq!(lines.count(), n + 2);
        for line in text.lines().filter(|line| !line.is_empty()) {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
        lengths.push(text.len());
        let other = Jsonl::open(store.path(), Options::default()).unwrap();
        assert_eq!(tail(&other, &session), n as u64 + 1);
        assert_eq!(block_on(other.verify(&session.id)).unwrap(), []);
    }
    lengths.dedup();
    assert!(
        lengths.len() < 6,
        "the file grew with every append: {lengths:?}"
    );
    assert!(!store.path().join("s/kept").exists());
}

#[test]
fn a_commit_that_was_cut_within_space_written_ahead_is_torn() {
    let (_dir, store, session) = with_events(0);
    let ahead = Jsonl::open(store.path(), Options::default().write_ahead(8192)).unwrap();
    append(&ahead, &session, &["1"]).unwrap();
    let path = log_path(&store, "s");
    let before = fs::read(&path).unwrap();
    append(&ahead, &session, &[&format!("\"{}\"", "x".repeat(3000))]).unwrap();
    let after = fs::read(&path).unwrap();
    for cut in (512..4096).step_by(512) {
        let mut mixed = after[..cut].to_vec();
        mixed.extend_from_slice(&before[cut..]);
        if mixed == before || mixed == after {
            continue;
        }
        fs::write(&path, &mixed).unwrap();
        let store = Jsonl::open(store.path(), Options::default()).unwrap();
        assert_eq!(tail(&store, &session), 1, "{cut}");
        append(&store, &session, &["2"]).unwrap();
        assert_eq!(texts(&read(&store, &session).unwrap()), ["1", "2"]);
    }
}
