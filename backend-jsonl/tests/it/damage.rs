//! Damage in the middle: found, placed, never handed out, never written over.

use std::fs;

use crate::util::*;
use futures_util::StreamExt;
use sessionlog_backend_jsonl::{Jsonl, Options};

fn reopened(store: &Jsonl) -> Jsonl {
    Jsonl::open(store.path(), Options::default()).unwrap()
}

#[test]
fn a_bad_line_among_thousands_is_reported_with_its_place() {
    let (_dir, store, session) = with_events(0);
    let all: Vec<_> = (0..3000)
        .map(|n| event(&format!("{{\"n\":{n}}}")))
        .collect();
    for batch in all.chunks(500) {
        block_on(store.append(&session, batch.to_vec(), NONE)).unwrap();
    }
    let path = log_path(&store, "s");
    let whole = fs::read_to_string(&path).unwrap();
    let at = whole.find("{\"n\":1234}").unwrap();
    let mut changed = whole.clone().into_bytes();
    changed[at + 6] = b'x';
    changed[at - 60] = b'\0';
    fs::write(&path, &changed).unwrap();

    let store = reopened(&store);
    assert_eq!(tail(&store, &session), 3000);
    let error = read(&store, &session).unwrap_err();
    let ErrorKind::Corrupt { place } = error.kind() else {
        panic!("{error}");
    };
    let line = whole[..at].rfind('\n').unwrap() as u64 + 1;
    assert_eq!(place.offset, Some(line));
    assert_eq!(place.seq, Some(SeqNum::new(1234)));
    assert_eq!(place.file.as_deref(), Some("s/events.jsonl"));

    // What lies before and behind is still read.
    let mut chunks = store.read(&session, SeqNum::all());
    let mut before = 0;
    while let Some(Ok(chunk)) = block_on(chunks.next()) {
        before += chunk.len();
    }
    assert_eq!(before, 1234);
    let behind = read_range(&store, &session, SeqNum::new(1300)..SeqNum::MAX).unwrap();
    assert_eq!(behind.len(), 1700);
    append(&store, &session, &["1"]).unwrap();
    let found = block_on(store.verify(&session.id)).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].place.offset, Some(line));
    assert_eq!(found[0].place.seq, Some(SeqNum::new(1234)));
}

/// Also in the last commit, however many events it has: an import is one.
#[test]
fn a_bad_line_of_the_last_commit_is_reported_with_its_position() {
    let (_dir, store, session) = with_events(2);
    append(&store, &session, &["2", "3", "4", "5", "6"]).unwrap();
    let path = log_path(&store, "s");
    let mut bytes = fs::read(&path).unwrap();
    let line = line_starts(&bytes)[5];
    bytes[line + 60] ^= 4;
    fs::write(&path, bytes).unwrap();
    let store = reopened(&store);
    for error in [
        read(&store, &session).unwrap_err(),
        append(&store, &session, &["7"]).unwrap_err(),
    ] {
        let ErrorKind::Corrupt { place } = error.kind() else {
            panic!("{error}");
        };
        assert_eq!(place.offset, Some(line as u64), "{error}");
        assert_eq!(place.seq, Some(SeqNum::new(5)), "{error}");
    }
}

#[test]
fn nul_runs_are_named() {
    let (_dir, store, session) = with_events(200);
    let path = log_path(&store, "s");
    let whole = fs::read(&path).unwrap();
    for (at, len) in [(3000, 200), (4096, 4096), (5000, 9000)] {
        let mut changed = whole.clone();
        changed[at..at + len].fill(0);
        fs::write(&path, &changed).unwrap();
        let store = reopened(&store);
        assert!(read(&store, &session).unwrap_err().is_corrupt());
        let found = block_on(store.verify(&session.id)).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0]
                .message
                .contains(&format!("{len} NUL bytes from byte {at}")),
            "{found:?}"
        );
    }
    // Instead of the last commits, and beyond what one commit could have left.
    let mut changed = whole.clone();
    let end = changed.len();
    changed[end - 700..].fill(0);
    fs::write(&path, &changed).unwrap();
    let store = reopened(&store);
    assert!(block_on(store.head(&session.id)).unwrap_err().is_corrupt());
    let mut changed = whole;
    changed[..end].fill(0);
    fs::write(&path, &changed).unwrap();
    assert!(
        block_on(reopened(&store).head(&session.id))
            .unwrap_err()
            .is_corrupt()
    );
}

#[test]
fn every_flipped_bit_of_a_log_is_found_by_a_read() {
    let (_dir, store, session) = with_events(2);
    append(&store, &session, &["1", "[\n]", "{}"]).unwrap();
    append(&store, &session, &["null"]).unwrap();
    let path = log_path(&store, "s");
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        for bit in [0, 3, 7] {
            let mut changed = whole.clone();
            changed[at] ^= 1 << bit;
            fs::write(&path, &changed).unwrap();
            let events = read(&reopened(&store), &session);
            assert!(events.is_err(), "byte {at} bit {bit}");
            let found = block_on(reopened(&store).verify(&session.id));
            let seen = match found {
                Ok(found) => found.iter().any(|f| f.severity == Severity::Damage),
                Err(error) => *error.kind() == ErrorKind::Unsupported,
            };
            assert!(seen, "byte {at} bit {bit}");
            assert_eq!(fs::read(&path).unwrap(), changed);
        }
    }
}

#[test]
fn a_log_that_cannot_be_opened_is_damage_and_never_made_anew() {
    for content in [&b""[..], b"\n", b"garbage", b"{\"seq\":0}\n", &[0; 600]] {
        let (_dir, store, session) = with_events(2);
        fs::write(log_path(&store, "s"), content).unwrap();
        let store = reopened(&store);
        let before = everything(store.path());
        assert!(block_on(store.head(&session.id)).unwrap_err().is_corrupt());
        assert!(read(&store, &session).unwrap_err().is_corrupt());
        assert!(append(&store, &session, &["1"]).unwrap_err().is_corrupt());
        let again = block_on(store.create(&SessionRef::fresh(id("s"))));
        assert!(again.unwrap_err().is_corrupt());
        let listed: Vec<_> = block_on(store.sessions().collect());
        assert_eq!(listed.len(), 1);
        assert_eq!(everything(store.path()), before);
    }
}

#[test]
fn a_folder_that_was_renamed_by_hand_is_damage_that_says_so() {
    let (_dir, store, _) = with_events(2);
    fs::rename(store.path().join("s"), store.path().join("t")).unwrap();
    let error = block_on(reopened(&store).head(&id("t"))).unwrap_err();
    assert!(
        error.is_corrupt() && error.to_string().contains("another session, s"),
        "{error}"
    );
    assert!(block_on(store.head(&id("s"))).unwrap_err().is_not_found());
    fs::remove_file(store.path().join("t/events.jsonl")).unwrap();
    assert!(
        block_on(reopened(&store).head(&id("t")))
            .unwrap_err()
            .is_corrupt()
    );
}

#[test]
fn a_newer_format_is_refused_with_both_versions() {
    let (_dir, store, session) = with_events(2);
    let path = log_path(&store, "s");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replace("{\"sessionlog\":1,", "{\"sessionlog\":2,"),
    )
    .unwrap();
    let error = block_on(reopened(&store).head(&session.id)).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unsupported);
    let message = error.to_string();
    assert!(
        message.contains("format 2") && message.contains("up to 1"),
        "{message}"
    );
}

#[test]
fn a_damaged_line_does_not_hide_the_whole_events_around_it() {
    for n in [12_u64, 3000] {
        let (_dir, store, session) = with_events(0);
        let all: Vec<_> = (0..n).map(|n| event(&format!("{{\"n\":{n}}}"))).collect();
        for batch in all.chunks(500) {
            for one in batch.chunks(if n > 100 { 500 } else { 1 }) {
                block_on(store.append(&session, one.to_vec(), NONE)).unwrap();
            }
        }
        append(&store, &session, &["null"]).unwrap();
        let path = log_path(&store, "s");
        let whole = fs::read(&path).unwrap();
        let starts = line_starts(&whole);
        for bad in [1, 5, n / 2, n - 3] {
            let mut changed = whole.clone();
            changed[starts[usize::try_from(bad).unwrap()] + 3] ^= 1;
            fs::write(&path, &changed).unwrap();
            let store = reopened(&store);
            for from in (0..n).filter(|from| from.abs_diff(bad) < 9 || from % 97 == 0) {
                let range = SeqNum::new(from)..SeqNum::new(from + 1);
                let read = read_range(&store, &session, range);
                if from == bad {
                    let error = read.unwrap_err();
                    let ErrorKind::Corrupt { place } = error.kind() else {
                        panic!("{error}");
                    };
                    let at = starts[usize::try_from(bad).unwrap()] as u64;
                    assert_eq!(place.offset, Some(at));
                } else {
                    let texts = texts(&read.unwrap());
                    assert_eq!(texts, [format!("{{\"n\":{from}}}")], "{bad}");
                }
            }
        }
    }
}

#[test]
fn a_log_that_is_cut_while_it_is_open_is_damage_until_it_is_repaired() {
    let (_dir, store, session) = with_events(6);
    assert_eq!(tail(&store, &session), 6);
    let path = log_path(&store, "s");
    let whole = fs::read(&path).unwrap();
    let starts = line_starts(&whole);
    fs::write(&path, &whole[..starts[4]]).unwrap();
    assert!(read(&store, &session).unwrap_err().is_corrupt());
    assert!(append(&store, &session, &["1"]).unwrap_err().is_corrupt());
    let repair = block_on(store.repair(&session.id, true)).unwrap();
    assert_eq!((repair.events, repair.lost), (4, 0));
    assert_eq!(read(&store, &session).unwrap().len(), 4);
    append(&store, &session, &["1"]).unwrap();
    // What was cut is there again under another handle: this one has gone on.
    assert_eq!(tail(&reopened(&store), &session), 5);
}

/// Lines that vouch for one another, far behind the end of the log.
#[test]
fn a_position_that_no_loss_explains_is_no_event() {
    let (_dir, store, session) = with_events(3);
    let path = log_path(&store, "s");
    let whole = fs::read_to_string(&path).unwrap();
    let far = |n: u64| {
        let mut head = Head::genesis(&session.id, session.incarnation);
        head.tail = SeqNum::new(n);
        head
    };
    let mut text = whole.clone() + "damage\n";
    let mut head = far(u64::MAX - 10);
    for n in 0..3 {
        let sealed = head.seal(event(&n.to_string()));
        let sum = String::from_utf8(sealed.sum.to_text().to_vec()).unwrap();
        text += &format!(
            "{{\"seq\":{},\"id\":\"{}\",\"at\":\"{}\",\"kind\":\"{}\",\"data\":{n},\"sum\":\"{sum}\"}}\n",
            sealed.seq, sealed.id, sealed.at, sealed.kind
        );
    }
    fs::write(&path, &text).unwrap();
    let store = reopened(&store);
    let found = block_on(store.verify(&session.id)).unwrap();
    assert!(found.iter().any(|f| f.severity == Severity::Damage));
    let repair = block_on(store.repair(&session.id, true)).unwrap();
    assert_eq!(repair.events, 3);
    assert!(repair.lost <= 4, "{repair:?}");
    assert!(tail(&store, &session) <= 7);
}

/// Where the events of a log begin.
fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let newlines = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n');
    newlines.map(|(at, _)| at + 1).collect()
}
