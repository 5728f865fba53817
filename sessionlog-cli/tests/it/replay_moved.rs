//! Real sessions that are damaged, rolled back and branched at every place: what replay gives is
//! acceptable all the same.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, outside of test functions"
)]

use sessionlog::transcript::check::check;
use sessionlog::transcript::{Dialect, Transcript, kinds};
use sessionlog::{Event, Head, Incarnation, Kind, NewEvent, Projection};

use crate::import_support::{Files, data};
use crate::replay_corpus::load;

const FILES: &[&str] = &[
    "cc01.jsonl",
    "cc05.jsonl",
    "cc06.jsonl",
    "cc13.jsonl",
    "cc25.jsonl",
    "cx02.jsonl",
    "cx08.jsonl",
    "own/rewind.jsonl",
    "own/side-chains.jsonl",
    "own/compacted.jsonl",
    "own/codex-compacted.jsonl",
    "kvit/2026-05-04-ab12cd/history.jsonl",
];

fn new_events(log: &[Event]) -> Vec<NewEvent> {
    log.iter().cloned().map(Event::into_new).collect()
}

fn sealed(events: impl IntoIterator<Item = NewEvent>) -> Vec<Event> {
    let id = "s".parse().unwrap();
    let mut head = Head::genesis(&id, Incarnation::from_bytes([7; 16]));
    events.into_iter().map(|new| head.seal(new)).collect()
}

/// Replays a log and checks what comes out of it.
fn assert_valid(what: &str, log: &[Event]) {
    let mut transcript = Transcript::default();
    log.iter().for_each(|event| transcript.apply(event));
    load(&mut transcript, log);
    let agents: Vec<_> = transcript.agents().map(ToOwned::to_owned).collect();
    for agent in agents
        .iter()
        .map(|agent| Some(agent.as_str()))
        .chain([None])
    {
        let conversation = transcript.conversation(agent).unwrap();
        for dialect in [Dialect::Anthropic, Dialect::Chat, Dialect::Responses] {
            if let Err(breach) = check(dialect, &conversation.render(dialect).messages) {
                panic!("{what}, {agent:?}: {dialect:?} {breach}");
            }
        }
    }
}

/// The log with moves of the head behind its first `at` events.
fn moved(log: &[NewEvent], at: usize, moves: &[(Kind, String)]) -> Vec<Event> {
    let moves = moves
        .iter()
        .map(|(kind, json)| NewEvent::json(kind.clone(), json.clone()).unwrap());
    let (before, behind) = log.split_at(at);
    sealed(
        before
            .iter()
            .cloned()
            .chain(moves)
            .chain(behind.iter().cloned()),
    )
}

#[test]
fn a_move_of_the_head_at_any_place_leaves_a_conversation_that_is_valid() {
    for name in FILES {
        let files = Files::new();
        let outcome = files.bring("x.jsonl", data(name));
        let log = new_events(&files.events(&outcome));
        for at in (1..=log.len()).step_by(if log.len() > 40 { 11 } else { 1 }) {
            let back = |n: usize| (kinds::ROLLBACK, format!(r#"{{"dropped":{n}}}"#));
            let to = |seq: usize| (kinds::HEAD, format!(r#"{{"to":{seq}}}"#));
            let compact = (kinds::COMPACTION, r#"{"summary":"so far"}"#.to_owned());
            let kept = (
                kinds::COMPACTION,
                format!(r#"{{"summary":"so far","kept_from":{}}}"#, at * 2 / 3),
            );
            for moves in [
                vec![back(1 + at % 4)],
                vec![to(at * 7 % 11 * at / 11)],
                vec![back(2), to(at - 1), back(1)],
                vec![compact],
                vec![kept, back(1)],
            ] {
                let what = format!("{name} at {at} {moves:?}");
                let all = moved(&log, at, &moves);
                assert_valid(&what, all.split_at(at + moves.len()).0);
                assert_valid(&what, &all);
            }
        }
    }
}

#[test]
fn a_file_that_lacks_any_line_replays() {
    for name in FILES {
        let whole = data(name);
        let lines: Vec<_> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        for at in (0..lines.len()).step_by(if lines.len() > 20 { 11 } else { 1 }) {
            let mut lacking = lines.clone();
            lacking.remove(at);
            let mut swapped = lines.clone();
            swapped.swap(at, (at + 1) % lines.len());
            let mut doubled = lines.clone();
            doubled.insert(at, lines.get(at).unwrap());
            for (what, lines) in [("lacks", lacking), ("swaps", swapped), ("doubles", doubled)] {
                let files = Files::new();
                let outcome = files.bring("x.jsonl", lines.concat());
                if outcome.session.is_some() {
                    assert_valid(&format!("{name} {what} {at}"), &files.events(&outcome));
                }
            }
        }
    }
}
