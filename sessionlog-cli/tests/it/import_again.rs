//! Imports of files that were imported before.

#![expect(
    clippy::indexing_slicing,
    reason = "helpers of tests, outside of test functions"
)]

use pollster::block_on;
use sessionlog::transcript::kinds;
use sessionlog::{ErrorKind, Kind, LeaseRequest, NewEvent, Owner};
use sessionlog_cli::import::{Format, Options, Outcome, Status, import_file, scan};

use crate::import_support::{Files, assert_same, data};

fn unchanged(outcome: &Outcome) -> bool {
    matches!(&outcome.status, Status::Unchanged { note: None }) && outcome.new_events == 0
}

/// Imports the first `cut` bytes and then all of them, and gives the outcome of the second.
fn grow(name: &str, bytes: &[u8], cut: usize) -> (Files, Outcome) {
    let files = Files::new();
    let first = files.bring(name, &bytes[..cut]);
    assert_same(&files.original(&first), &bytes[..cut]);
    let second = files.bring(name, bytes);
    assert_same(&files.original(&second), bytes);
    assert!(unchanged(&files.import(name)));
    (files, second)
}

#[test]
fn a_grown_file_adds_only_what_is_new() {
    let bytes = data("cx08.jsonl");
    let ends: Vec<_> = bytes
        .iter()
        .enumerate()
        .filter(|(_, b)| **b == b'\n')
        .collect();
    let (files, outcome) = grow("x.jsonl", &bytes, ends[39].0 + 1);
    assert_eq!(outcome.status, Status::Grown);
    assert_eq!((outcome.known_events, outcome.new_events), (40, 70));
    let events = files.events(&outcome);
    assert!(events.iter().is_sorted_by(|a, b| a.id < b.id));
    // The reading of the second part goes on where the first ended.
    let fresh = Files::new();
    let whole = fresh.bring("x.jsonl", &bytes);
    let payloads = |events: Vec<sessionlog::Event>| {
        let mut events = events;
        events.retain(|e| e.kind != kinds::IMPORT_STARTED && e.kind != kinds::IMPORT_FINISHED);
        events
            .into_iter()
            .map(|e| (e.at, e.kind, e.data))
            .collect::<Vec<_>>()
    };
    assert_eq!(payloads(events), payloads(fresh.events(&whole)));
}

#[test]
fn a_last_line_that_was_torn_is_replaced_when_it_is_whole() {
    let bytes = data("cc25.jsonl");
    let ends: Vec<_> = bytes
        .iter()
        .enumerate()
        .filter(|(_, b)| **b == b'\n')
        .collect();
    let start = ends[9].0 + 1;
    for cut in [start + 1, start + 500, ends[10].0] {
        let files = Files::new();
        let first = files.bring("x.jsonl", &bytes[..cut]);
        assert_eq!(first.new_events, 11);
        let torn = cut < ends[10].0;
        assert_eq!(first.damaged_lines, u64::from(torn));
        let second = files.bring("x.jsonl", &bytes);
        assert_eq!(second.status, Status::Grown);
        assert_eq!(second.new_events, if torn { 19 } else { 18 });
        assert_same(&files.original(&second), &bytes);
        assert!(unchanged(&files.import("x.jsonl")));
    }
}

#[test]
fn a_record_written_behind_another_without_a_newline_is_added() {
    let (one, two) = (
        r#"{"timestamp":"2026-01-01T00:00:00Z","a":1}"#,
        r#"{"b":2}"#,
    );
    for (before, after, new) in [
        (one.to_owned(), format!("{one}{two}\n"), 1),
        (one.to_owned(), format!("{one}\n"), 0),
        (one.to_owned(), format!("{one}\n{two}"), 1),
        (format!("{one} "), format!("{one} {two}"), 1),
        (r#"{"a":"#.to_owned(), "{\"a\":1}".to_owned(), 1),
        ("12".to_owned(), "123".to_owned(), 1),
        (String::new() + "\n", "\n\n".to_owned(), 1),
        ("\r".to_owned(), "\r\n".to_owned(), 0),
        ("\0\0".to_owned(), format!("\0\0{one}"), 1),
    ] {
        let files = Files::new();
        let first = files.bring_lines("x.jsonl", &before);
        assert_same(&files.original(&first), before.as_bytes());
        let second = files.bring_lines("x.jsonl", &after);
        assert_eq!(second.status, Status::Grown, "{before:?} {after:?}");
        assert_eq!(second.new_events, new, "{before:?} {after:?}");
        assert_same(&files.original(&second), after.as_bytes());
        let third = files.import_as("x.jsonl", Some(Format::Lines));
        assert!(unchanged(&third), "{before:?} {after:?} {third:?}");
    }
}

#[test]
fn a_file_that_was_cut_changes_nothing() {
    let bytes = data("cc25.jsonl");
    let files = Files::new();
    files.bring("x.jsonl", &bytes);
    for cut in [bytes.len() - 1, bytes.len() - 700, 5000] {
        let outcome = files.bring("x.jsonl", &bytes[..cut]);
        assert!(
            matches!(&outcome.status, Status::Unchanged { note: Some(_) }),
            "{cut}: {outcome:?}"
        );
        assert_same(&files.original(&outcome), &bytes);
    }
}

#[test]
fn another_history_under_the_same_name_becomes_a_session_beside_it() {
    let bytes = data("cc25.jsonl");
    let text = String::from_utf8(bytes.clone()).unwrap();
    let mut lines: Vec<_> = text.lines().collect();
    lines.remove(7);
    let other = lines.join("\n") + "\n";
    let files = Files::new();
    let first = files.bring("x.jsonl", &bytes);
    let second = files.bring("copy/x.jsonl", &other);
    let from = first.session.clone().unwrap();
    assert_eq!(
        second.status,
        Status::Diverged {
            from: from.clone(),
            line: 8,
        }
    );
    let id = second.session.as_ref().unwrap().as_str();
    assert!(
        id.starts_with(&format!("{from}-")) && id.len() == from.as_str().len() + 9,
        "{id}"
    );
    assert_same(&files.original(&first), &bytes);
    assert_same(&files.original(&second), other.as_bytes());
    // Both are found again, and grow where they belong.
    assert!(unchanged(&files.import("x.jsonl")));
    let third = files.bring("copy/x.jsonl", other + "{}\n");
    assert_eq!(
        (third.status, third.session),
        (Status::Grown, second.session)
    );
}

#[test]
fn a_session_that_is_not_from_the_file_is_left_alone() {
    let files = Files::new();
    files.write("mine.jsonl", "{\"a\":1}\n");
    let own = block_on(files.store.create("mine".parse().unwrap())).unwrap();
    let event = NewEvent::json(Kind::from_static("message"), r#"{"role":"user"}"#).unwrap();
    block_on(own.append(vec![event])).unwrap();
    let outcome = files.import_as("mine.jsonl", Some(Format::Lines));
    assert!(
        matches!(outcome.status, Status::Diverged { .. }),
        "{outcome:?}"
    );
    assert_eq!(block_on(own.tail()).unwrap().get(), 1);
    // The same file as another format is another history.
    files.write("kv.jsonl", "{\"role\":\"user\",\"content\":\"x\"}\n");
    assert_eq!(files.import("kv.jsonl").status, Status::Imported);
    let lines = files.import_as("kv.jsonl", Some(Format::Lines));
    assert!(matches!(lines.status, Status::Diverged { .. }), "{lines:?}");
}

#[test]
fn an_import_that_was_broken_off_goes_on() {
    let bytes = data("cx08.jsonl");
    let files = Files::new();
    let whole = files.bring("x.jsonl", &bytes);
    let events = files.events(&whole);
    let id = whole.session.clone().unwrap();
    for kept in [0, 1, 2, 50] {
        block_on(files.store.delete(&id)).unwrap();
        let session = block_on(files.store.create(id.clone())).unwrap();
        let batch: Vec<_> = events[..kept]
            .iter()
            .cloned()
            .map(|e| e.into_new())
            .collect();
        if !batch.is_empty() {
            block_on(session.append(batch)).unwrap();
        }
        let again = files.import("x.jsonl");
        assert_same(&files.original(&again), &bytes);
        assert!(unchanged(&files.import("x.jsonl")));
    }
}

#[test]
fn a_dry_run_writes_nothing() {
    let bytes = data("cc25.jsonl");
    let files = Files::new();
    let path = files.write("x.jsonl", &bytes);
    let found = scan(&[path], None).unwrap().candidates.remove(0);
    let dry = Options {
        dry_run: true,
        ..Options::default()
    };
    let outcome = files.import_found(&found, &dry);
    assert_eq!((outcome.status, outcome.new_events), (Status::Imported, 29));
    assert!(block_on(files.store.ids()).unwrap().is_empty());
    files.write("x.jsonl", &bytes[..9000]);
    let first = files.import("x.jsonl");
    files.write("x.jsonl", &bytes);
    let tail = block_on(files.session(&first).tail()).unwrap();
    let outcome = files.import_found(&found, &dry);
    assert_eq!(outcome.status, Status::Grown);
    assert_eq!(block_on(files.session(&first).tail()).unwrap(), tail);
}

#[test]
fn a_session_that_somebody_drives_is_not_written_to() {
    let bytes = data("cc25.jsonl");
    let files = Files::new();
    let first = files.bring("x.jsonl", &bytes[..9000]);
    let owner = Owner::new("somebody").unwrap();
    let _held = block_on(files.session(&first).acquire(LeaseRequest::new(owner))).unwrap();
    // What is there can still be compared.
    assert!(unchanged(&files.import("x.jsonl")));
    let path = files.write("x.jsonl", &bytes);
    let found = scan(&[path], None).unwrap().candidates.remove(0);
    let (options, mut progress) = (Options::default(), |_| {});
    let tried = import_file(&files.store, &found, &options, &mut progress);
    let error = block_on(tried).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::LeaseHeld { .. }),
        "{error}"
    );
}
