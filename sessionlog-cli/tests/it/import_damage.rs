//! Files that are not as their writers meant them: everything is kept, and comes back.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, outside of test functions"
)]

use pollster::block_on;
use proptest::prelude::*;
use proptest::sample::Index;
use sessionlog::transcript::{Message, kinds};
use sessionlog_cli::import::{Format, Outcome, Status};

use crate::import_support::{Files, assert_same, data};

fn damaged(files: &Files, outcome: &Outcome) -> usize {
    let events = files.events(outcome);
    events
        .iter()
        .filter(|e| e.kind == kinds::IMPORT_DAMAGED)
        .count()
}

fn messages(files: &Files, outcome: &Outcome) -> usize {
    let is = |e: &sessionlog::Event| {
        e.kind == kinds::MESSAGE && e.data.view::<Message<'_>>().unwrap().native().is_some()
    };
    files.events(outcome).iter().filter(|e| is(e)).count()
}

/// Two lines of Codex with something in between.
fn between(what: &[u8]) -> Vec<u8> {
    let line = |id: u8| {
        format!(
            r#"{{"timestamp":"2026-05-04T08:00:0{id}Z","type":"response_item","payload":{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"{id}"}}]}}}}"#
        )
    };
    [line(1).as_bytes(), what, line(2).as_bytes(), b"\n"].concat()
}

#[test]
fn what_is_whole_is_salvaged_on_both_sides_of_the_damage() {
    let long_nul = [0_u8; 9000];
    let fragment = &between(b"")[..70];
    for (what, lost, lines) in [
        (&b"\n"[..], 0, 0),
        (b"\r\n", 0, 0),
        (b"\n\n \t\n", 0, 0),
        (b"", 0, 0),
        (b"\nnot json\n", 1, 1),
        (b"\n\xff\xfe{\n", 1, 1),
        (&[b"\n", &long_nul[..], b"\n"].concat(), 1, 1),
        (&[b"\n", &long_nul[..]].concat(), 1, 1),
        (&[&long_nul[..], b"\n"].concat(), 1, 1),
        (&long_nul, 1, 1),
        // A fragment, and then the whole record on one line: a short write that was repeated.
        (&[b"\n", fragment].concat(), 1, 1),
        (&[b"\n", fragment, b"\n"].concat(), 1, 1),
        (b"\n{\"a\":NaN}\n{\"a\":1e999}\n{\"a\":-Infinity}\n", 2, 2),
        (b"\n[1,2\n", 1, 1),
    ] {
        let files = Files::new();
        let bytes = between(what);
        let outcome = files.bring("x.jsonl", &bytes);
        let told = what.escape_ascii().to_string();
        assert_eq!(outcome.status, Status::Imported, "{told}");
        assert_same(&files.original(&outcome), &bytes);
        assert_eq!(messages(&files, &outcome), 2, "{told}");
        assert_eq!(damaged(&files, &outcome), lost, "{told}");
        assert_eq!(outcome.damaged_lines, lines, "{told}");
    }
}

#[test]
fn glued_records_are_events_of_their_own() {
    let files = Files::new();
    let outcome = files.bring("x.jsonl", between(b""));
    let events = files.events(&outcome);
    let part = |at: usize| {
        let message: Message<'_> = events[at].data.view().unwrap();
        message.source.map(|s| (s.line, s.part)).unwrap()
    };
    assert_eq!((part(1), part(2)), ((1, 0), (1, 1)));
    assert_eq!((outcome.lines, outcome.new_events), (1, 2));
}

#[test]
fn damage_is_told_with_its_place() {
    let files = Files::new();
    let outcome = files.bring("x.jsonl", between(b"\n{\"a\":NaN}\n\xff\n"));
    let told: Vec<_> = outcome
        .damaged
        .iter()
        .map(|d| (d.line, d.reason.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (2, "not JSON: expected value at column 6"),
            (3, "invalid UTF-8 at column 1")
        ]
    );
}

#[test]
fn a_mark_and_line_ends_of_another_system_are_kept() {
    let text = String::from_utf8(data("cc25.jsonl")).unwrap();
    let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let files = Files::new();
    let outcome = files.bring("x.jsonl", &windows);
    assert_eq!(outcome.format, Some(Format::ClaudeCode));
    assert_eq!((outcome.new_events, outcome.damaged_lines), (29, 0));
    assert_same(&files.original(&outcome), windows.as_bytes());
    assert_eq!(messages(&files, &outcome), 29);
}

#[test]
fn odd_values_in_a_record_do_not_stop_its_reading() {
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let head = r#""type":"user","uuid":"u","sessionId":"s""#;
    let files = Files::new();
    let lines: Vec<String> = [
        r#""\ud800""#,
        r#""\u0000\u001b[0m""#,
        "-0",
        "1e400",
        "9007199254740993",
        "18446744073709551616",
        "\"\u{2028}\u{e000}\"",
        &deep,
    ]
    .iter()
    .map(|odd| {
        format!(
            r#"{{{head},"odd":{odd},"message":{{"role":"user","content":{odd}}},"type":"user"}}"#
        )
    })
    .collect();
    let bytes = lines.join("\n");
    let outcome = files.bring("x.jsonl", &bytes);
    assert_same(&files.original(&outcome), bytes.as_bytes());
    assert_eq!(outcome.damaged_lines, 0);
    assert_eq!(messages(&files, &outcome), lines.len());
    // A card is made of them too.
    assert!(block_on(files.store.cards()).unwrap()[0].card.is_ok());
}

fn long(n: usize) -> String {
    format!("{{\"t\":\"{}\"}}\n", "x".repeat(n))
}

#[test]
fn lines_of_any_length_are_read() {
    let mut bytes = String::new();
    for at in 0..1000 {
        bytes += &match at {
            1 => long(10 << 20),
            2 => long(64 << 10),
            4 => "7\n".to_owned(),
            _ => format!("{{\"n\":{at}}}\n"),
        };
    }
    let files = Files::new();
    let outcome = files.bring_lines("x.jsonl", &bytes);
    assert_eq!((outcome.new_events, outcome.large_lines), (1000, 0));
    assert_same(&files.original(&outcome), bytes.as_bytes());
}

#[test]
fn a_line_that_is_too_large_for_an_event_is_kept_beside_the_log() {
    let bytes = format!("{{}}\n{}{{\"a\":1}}\n", long(17 << 20));
    let files = Files::new();
    let outcome = files.bring_lines("x.jsonl", &bytes);
    assert_eq!((outcome.new_events, outcome.large_lines), (3, 1));
    assert_same(&files.original(&outcome), bytes.as_bytes());
    let again = files.import_as("x.jsonl", Some(Format::Lines));
    assert_eq!(again.status, Status::Unchanged { note: None });
    // It is compared as well where the sum of the file does not say all.
    let bytes = bytes + "{}";
    for (bytes, new, large) in [(bytes.clone(), 1, 0), (bytes + &long(16 << 20), 1, 1)] {
        let outcome = files.bring_lines("x.jsonl", &bytes);
        assert_eq!(outcome.status, Status::Grown);
        assert_eq!((outcome.new_events, outcome.large_lines), (new, large));
        assert_same(&files.original(&outcome), bytes.as_bytes());
    }
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

#[derive(Clone, Debug)]
enum Mutation {
    Cut(Index),
    Nul(Index, usize),
    Insert(Index, Vec<u8>),
    Flip(Index, u8),
    /// A newline is lost.
    Glue(Index),
    /// A piece is written twice.
    Repeat(Index, Index),
    Windows,
    Mark,
}

impl Mutation {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let at = |index: &Index, bytes: &[u8]| index.index(bytes.len() + 1);
        match self {
            Self::Cut(index) => bytes.truncate(at(index, bytes)),
            Self::Nul(index, n) => {
                let at = at(index, bytes);
                bytes.splice(at..at, vec![0; *n]);
            }
            Self::Insert(index, new) => {
                let at = at(index, bytes);
                bytes.splice(at..at, new.iter().copied());
            }
            Self::Flip(index, bits) => {
                let at = at(index, bytes);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= bits;
                }
            }
            Self::Glue(index) => {
                let ends: Vec<_> = (0..bytes.len()).filter(|i| bytes[*i] == b'\n').collect();
                if !ends.is_empty() {
                    bytes.remove(ends[index.index(ends.len())]);
                }
            }
            Self::Repeat(a, b) => {
                let (a, b) = (at(a, bytes), at(b, bytes));
                let piece = bytes[a.min(b)..a.max(b).min(a.min(b) + 5000)].to_vec();
                let end = a.min(b) + piece.len();
                bytes.splice(end..end, piece);
            }
            Self::Windows => {
                *bytes = String::from_utf8_lossy(bytes)
                    .replace('\n', "\r\n")
                    .into_bytes();
            }
            Self::Mark => *bytes = ["\u{feff}".as_bytes(), bytes].concat(),
        }
    }
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let index = any::<Index>;
    prop_oneof![
        index().prop_map(Mutation::Cut),
        (index(), 1..9000_usize).prop_map(|(at, n)| Mutation::Nul(at, n)),
        (index(), prop::collection::vec(any::<u8>(), 1..40))
            .prop_map(|(at, new)| Mutation::Insert(at, new)),
        (index(), 1..=255_u8).prop_map(|(at, bits)| Mutation::Flip(at, bits)),
        index().prop_map(Mutation::Glue),
        (index(), index()).prop_map(|(a, b)| Mutation::Repeat(a, b)),
        Just(Mutation::Windows),
        Just(Mutation::Mark),
    ]
}

/// Bytes that JSON Lines are made of, so that something of it is whole now and then.
fn lines_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "{", "}", "[", "]", "\"", "\\", ",", ":", "\n", "\r\n", "\n\n", " ", "\t", "\0", "null",
            "1", "-", "1e9", "NaN", "\u{feff}", "\u{2028}", "{}", "{}{}", "{\"a\":1}", "\"a\":",
            "{\"a\":[\"\\ud800\"]}", "{\"type\":\"x\"}\n", "ä",
        ]).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..4),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn any_bytes_come_back_from_lines(bytes in lines_like(), cut in any::<Index>()) {
        let files = Files::new();
        let cut = cut.index(bytes.len() + 1);
        // Whatever there was of the file before, too.
        let first = files.bring_lines("x.jsonl", &bytes[..cut]);
        if cut > 0 {
            assert_same(&files.original(&first), &bytes[..cut]);
        }
        let second = files.bring_lines("x.jsonl", &bytes);
        if bytes.is_empty() {
            let skipped = matches!(second.status, Status::Skipped { .. });
            prop_assert!(skipped);
            return Ok(());
        }
        prop_assert!(!matches!(second.status, Status::Diverged { .. }), "{second:?}");
        assert_same(&files.original(&second), &bytes);
        let third = files.import_as("x.jsonl", Some(Format::Lines));
        prop_assert_eq!(third.status, Status::Unchanged { note: None });
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn damaged_real_sessions_come_back(
        file in prop::sample::select(vec!["cc01.jsonl", "cc25.jsonl", "cx08.jsonl"]),
        mutations in prop::collection::vec(mutation(), 1..4),
    ) {
        let mut bytes = data(file);
        mutations.iter().for_each(|mutation| mutation.apply(&mut bytes));
        let format = if file.starts_with("cc") { Format::ClaudeCode } else { Format::Codex };
        let files = Files::new();
        files.write("x.jsonl", &bytes);
        let outcome = files.import_as("x.jsonl", Some(format));
        if bytes.is_empty() {
            return Ok(());
        }
        prop_assert_eq!(&outcome.status, &Status::Imported);
        assert_same(&files.original(&outcome), &bytes);
        let again = files.import_as("x.jsonl", Some(format));
        prop_assert_eq!(again.status, Status::Unchanged { note: None });
    }
}
