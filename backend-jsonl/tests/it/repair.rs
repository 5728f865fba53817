//! Repair: says first, keeps what it cuts, and saves all that is whole.

use std::fs;

use crate::util::*;
use sessionlog_backend_jsonl::{Jsonl, Options};

/// Repairs after a dry run that changed nothing; gives what it did and what is there now.
fn mend(store: &Jsonl) -> (Repair, SessionRef, Vec<Event>) {
    let store = Jsonl::open(store.path(), Options::default()).unwrap();
    let before = everything(store.path());
    let said = block_on(store.repair(&id("s"), false)).unwrap();
    assert_eq!(everything(store.path()), before);
    let done = block_on(store.repair(&id("s"), true)).unwrap();
    assert_eq!(
        (&said.steps, said.events, said.lost),
        (&done.steps, done.events, done.lost)
    );
    for kept in &done.kept {
        assert!(store.path().join(kept).exists(), "{kept}");
    }
    let found = block_on(store.verify(&id("s"))).unwrap();
    assert_eq!(found, [], "after {done:?}");
    let (session, head) = block_on(store.head(&id("s"))).unwrap();
    let events = read(&store, &session).unwrap();
    assert_eq!(events.len() as u64, done.events + done.lost);
    assert_eq!(head.tail.get(), events.len() as u64);
    append(&store, &session, &["\"more\""]).unwrap();
    let again = block_on(store.repair(&id("s"), true)).unwrap();
    assert_eq!((again.steps.len(), again.kept.len(), again.lost), (0, 0, 0));
    (done, session, events)
}

/// Where each line of a log begins.
fn starts(bytes: &[u8]) -> Vec<usize> {
    let newlines = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n');
    std::iter::once(0)
        .chain(newlines.map(|(at, _)| at + 1))
        .collect()
}

fn log() -> (TempDir, Jsonl, SessionRef, Vec<u8>, Vec<Event>) {
    log_of(12)
}

fn log_of(events: u64) -> (TempDir, Jsonl, SessionRef, Vec<u8>, Vec<Event>) {
    let (dir, store, session) = with_events(events);
    let events = read(&store, &session).unwrap();
    let bytes = fs::read(log_path(&store, "s")).unwrap();
    (dir, store, session, bytes, events)
}

/// All events but the lost ones are where and what they were.
fn assert_saved(events: &[Event], before: &[Event], lost: &[u64]) {
    for event in events {
        let seq = event.seq.get();
        if lost.contains(&seq) {
            assert_eq!(event.kind, "repair.lost");
            let data: serde_json::Value = event.data.parse().unwrap();
            assert!(data["kept"].as_str().unwrap().starts_with("kept/events-"));
            assert!(data["offset"].is_u64() && data["len"].is_u64() && data["reason"].is_string());
        } else {
            let old = &before[seq as usize];
            assert_eq!(
                (&event.id, &event.at, &event.data),
                (&old.id, &old.at, &old.data)
            );
        }
    }
}

#[test]
fn a_whole_session_needs_no_repair() {
    let (_dir, store, session, bytes, _) = log();
    let repair = block_on(store.repair(&session.id, true)).unwrap();
    assert_eq!((repair.events, repair.lost), (12, 0));
    assert!(repair.steps.is_empty() && repair.kept.is_empty());
    assert_eq!(fs::read(log_path(&store, "s")).unwrap(), bytes);
}

#[test]
fn every_whole_event_around_a_bad_one_is_saved() {
    let (_dir, store, session, bytes, before) = log();
    let at = starts(&bytes);
    let cases: [(&str, Vec<u8>, &[u64]); 5] = [
        ("changed payload", edit(&bytes, at[6] - 30, 1, b"~"), &[4]),
        ("changed position", edit(&bytes, at[5] + 7, 1, b"9"), &[4]),
        (
            "nul run over three",
            edit(
                &bytes,
                at[5] + 9,
                at[8] - at[5] - 20,
                &[0; 900][..at[8] - at[5] - 20],
            ),
            &[4, 5, 6],
        ),
        (
            "two lines missing",
            edit(&bytes, at[5], at[7] - at[5], b""),
            &[4, 5],
        ),
        (
            "last one changed",
            edit(&bytes, at[13] - 30, 1, b"~"),
            &[11],
        ),
    ];
    for (name, damaged, lost) in cases {
        fs::write(log_path(&store, "s"), &damaged).unwrap();
        let (repair, mended, events) = mend(&store);
        assert_eq!(repair.lost, lost.len() as u64, "{name}: {repair:?}");
        assert_saved(&events, &before, lost);
        assert_eq!(events.len(), 12, "{name}");
        assert_eq!(mended, session, "{name}");
        assert_eq!(
            fs::read(store.path().join(&repair.kept[0])).unwrap(),
            damaged
        );
    }
}

#[test]
fn blocks_that_changed_places_are_put_back() {
    let (_dir, store, session, bytes, before) = log_of(48);
    let at = starts(&bytes);
    const BLOCK: usize = 1_024;
    let blocks = bytes.len() / BLOCK;
    for (one, other) in (0..blocks).flat_map(|a| (a + 1..blocks).map(move |b| (a, b))) {
        let mut damaged = bytes.clone();
        let (front, back) = damaged.split_at_mut(other * BLOCK);
        front[one * BLOCK..][..BLOCK].swap_with_slice(&mut back[..BLOCK]);
        fs::write(log_path(&store, "s"), &damaged).unwrap();
        let store = Jsonl::open(store.path(), Options::default()).unwrap();
        assert_ne!(block_on(store.verify(&id("s"))).unwrap(), []);
        let (repair, mended, events) = mend(&store);
        // An event is lost with a line that was cut, and a whole one beside it if that stands alone.
        let cuts = [one, one + 1, other, other + 1].map(|n| n * BLOCK);
        let cut = |n: u64| {
            let line = at[n as usize + 1]..at[n as usize + 2];
            cuts.iter().any(|cut| line.start < *cut && *cut < line.end)
        };
        let lost: Vec<u64> = events
            .iter()
            .filter(|event| event.kind == "repair.lost")
            .map(|event| event.seq.get())
            .collect();
        assert!(
            lost.iter().all(|n| cut(*n)),
            "{one} {other}: {lost:?}, {repair:?}"
        );
        assert_saved(&events, &before, &lost);
        assert_eq!(events.len(), 48, "{one} {other}");
        if one > 0 {
            assert_eq!(mended, session);
        }
    }
}

#[test]
fn whole_lines_that_changed_places_are_found_and_put_back() {
    let (_dir, store, session, bytes, before) = log_of(30);
    let at = starts(&bytes);
    let lines = |range: std::ops::Range<usize>| &bytes[at[range.start]..at[range.end]];
    let moved = [0..5, 15..20, 9..15, 5..9, 20..31].map(lines).concat();
    fs::write(log_path(&store, "s"), moved).unwrap();
    let fresh = Jsonl::open(store.path(), Options::default()).unwrap();
    assert!(read(&fresh, &session).is_err());
    let found = block_on(fresh.verify(&id("s"))).unwrap();
    assert!(found.iter().all(|f| f.severity == Severity::Damage));
    assert_eq!(found.len(), 4, "{found:?}");
    let (repair, mended, events) = mend(&store);
    assert_eq!((repair.lost, mended), (0, session));
    assert_saved(&events, &before, &[]);
    assert_eq!(events.len(), 30);
}

fn edit(bytes: &[u8], at: usize, len: usize, with: &[u8]) -> Vec<u8> {
    [&bytes[..at], with, &bytes[at + len..]].concat()
}

#[test]
fn what_is_only_in_the_way_is_taken_out_and_nothing_is_lost() {
    let (_dir, store, _, bytes, before) = log();
    let at = starts(&bytes);
    let cases = [
        ("foreign line", edit(&bytes, at[5], 0, b"hello\n")),
        ("empty line", edit(&bytes, at[5], 0, b"\n")),
        ("doubled line", edit(&bytes, at[5], 0, &bytes[at[4]..at[5]])),
        ("doubled fragment", edit(&bytes, at[5], 0, b"# {\"seq\n")),
        ("newline gone", edit(&bytes, at[6] - 1, 1, b" ")),
        ("last newline gone", edit(&bytes, at[12] - 1, 1, b"\0")),
        (
            "fragment and then the whole record",
            edit(&bytes, at[5], 0, &bytes[at[5]..at[5] + 90]),
        ),
        ("foreign end", [&bytes[..], b"hello"].concat()),
        (
            "damaged checksum",
            edit(
                &bytes,
                at[5] - 5,
                1,
                if bytes[at[5] - 5] == b'0' { b"1" } else { b"0" },
            ),
        ),
    ];
    for (name, damaged) in cases {
        fs::write(log_path(&store, "s"), &damaged).unwrap();
        let (repair, _, events) = mend(&store);
        assert_eq!(repair.lost, 0, "{name}: {repair:?}");
        assert_eq!(events, before, "{name}");
    }
}

#[test]
fn a_torn_tail_is_cut_and_kept() {
    let (_dir, store, _, bytes, before) = log();
    fs::write(log_path(&store, "s"), &bytes[..bytes.len() - 9]).unwrap();
    let (repair, _, events) = mend(&store);
    assert_eq!((repair.lost, repair.kept.len()), (0, 1));
    assert_eq!(events, before[..11]);
    let kept = fs::read(store.path().join(&repair.kept[0])).unwrap();
    assert!(bytes[..bytes.len() - 9].ends_with(&kept));
}

#[test]
fn a_first_line_that_is_damaged_or_of_another_session_is_written_anew() {
    let (_dir, store, session, bytes, before) = log();
    let second = starts(&bytes)[1];
    let created = String::from_utf8_lossy(&bytes[..second])
        .find("created")
        .unwrap();
    // The incarnation can still be read, and the first event proves it.
    fs::write(log_path(&store, "s"), edit(&bytes, created + 2, 1, b"~")).unwrap();
    let (_, mended, events) = mend(&store);
    assert_eq!((mended, &events), (session.clone(), &before));
    // It can't be read: a new life with the same events.
    for first in [&[][..], &[0; 100], b"\n", b"hello\n"] {
        fs::write(log_path(&store, "s"), edit(&bytes, 0, second - 1, first)).unwrap();
        let (repair, mended, events) = mend(&store);
        assert_ne!(mended.incarnation, session.incarnation);
        assert_eq!(repair.lost, 0, "{repair:?}");
        assert_saved(&events, &before, &[]);
        assert_eq!(events.len(), 12);
    }
    fs::write(log_path(&store, "s"), &bytes[second..]).unwrap();
    let (_, _, events) = mend(&store);
    assert_eq!(events.len(), 12);
    // A copy of another session's folder.
    fs::rename(store.path().join("s"), store.path().join("t")).unwrap();
    let (other, name) = (
        Jsonl::open(store.path(), Options::default()).unwrap(),
        id("t"),
    );
    let done = block_on(other.repair(&name, true)).unwrap();
    assert_eq!((done.events, done.lost), (13, 0));
    assert_eq!(block_on(other.head(&name)).unwrap().1.tail.get(), 13);
}

#[test]
fn a_log_without_bytes_or_without_a_file_begins_anew_and_says_so() {
    for gone in [false, true] {
        let (_dir, store, _, _, _) = log();
        let path = log_path(&store, "s");
        if gone {
            fs::remove_file(&path).unwrap();
        } else {
            fs::write(&path, b"").unwrap();
        }
        let (repair, _, events) = mend(&store);
        assert_eq!((events.len(), repair.steps.len()), (0, 1));
    }
}

#[test]
fn a_driven_session_is_not_repaired() {
    let (_dir, store, session, bytes, _) = log();
    let request = LeaseRequest::new(Owner::new("me").unwrap());
    let _lease = block_on(store.acquire(&session, request)).unwrap();
    fs::write(log_path(&store, "s"), &bytes[..bytes.len() - 9]).unwrap();
    let other = Jsonl::open(store.path(), Options::default()).unwrap();
    let error = block_on(other.repair(&session.id, true)).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::LeaseHeld { .. }),
        "{error}"
    );
}

#[test]
fn any_single_changed_byte_can_be_repaired() {
    let (_dir, store, _) = with_events(2);
    let (session, _) = block_on(store.head(&id("s"))).unwrap();
    append(&store, &session, &["[\n1]", "{}"]).unwrap();
    append(&store, &session, &["\"last\""]).unwrap();
    let before = read(&store, &session).unwrap();
    let bytes = fs::read(log_path(&store, "s")).unwrap();
    for at in (0..bytes.len()).step_by(3) {
        if at == 14 {
            continue; // the format number
        }
        let changed = edit(&bytes, at, 1, &[bytes[at] ^ 2]);
        fs::write(log_path(&store, "s"), &changed).unwrap();
        let store = Jsonl::open(store.path(), Options::default()).unwrap();
        let Ok(done) = block_on(store.repair(&id("s"), true)) else {
            continue; // it looks like a newer format now
        };
        assert!(
            done.lost <= 2 && done.events + done.lost == 5,
            "byte {at}: {done:?}"
        );
        let (session, _) = block_on(store.head(&id("s"))).unwrap();
        let events = read(&store, &session).unwrap();
        for event in events.iter().filter(|e| e.kind != "repair.lost") {
            assert_eq!(
                event.data,
                before[event.seq.get() as usize].data,
                "byte {at}"
            );
        }
    }
}
