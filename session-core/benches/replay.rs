//! How fast a transcript is replayed, against a typed reader that folds nothing.
//!
//! `cargo bench -p sessionlog-core --bench replay`. Events of 1 KB like those of a chat: prompts,
//! replies that call tools, results; read from memory, checksums not counted. Figures are medians of
//! turns that A and B take; a ratio above 1 means that ours is faster. The turns are short, so that
//! on a busy machine most of them are not interrupted.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a program that prints figures and may end at anything unexpected"
)]

use std::hint::black_box;
use std::time::Instant;

use sessionlog_core::transcript::{Dialect, Message, Transcript, kinds};
use sessionlog_core::{Card, Event, Head, Incarnation, Kind, NewEvent, Projection, SessionId};

const EVENTS: usize = 1_000;
/// Turns that A and B take.
const TURNS: usize = 101;

fn main() {
    let log = log(500);
    let bytes: usize = log.iter().map(|event| event.data.len()).sum();
    println!("replay of {EVENTS} events, {bytes} bytes, compacted every 500");
    let reader = || {
        let fits = |event: &&Event| event.data.view::<Message<'_>>().is_ok();
        black_box(log.iter().filter(fits).count());
    };
    versus(
        "transcript / typed reader",
        bytes,
        || drop(black_box(fold::<Transcript>(&log))),
        reader,
    );
    versus(
        "card / typed reader",
        bytes,
        || drop(black_box(fold::<Card>(&log))),
        reader,
    );

    let live = fold::<Transcript>(log.get(..499).unwrap());
    let saved = serde_json::to_vec(&live).unwrap();
    println!("a live conversation of 499 messages, {} bytes", saved.len());
    let replayed = || drop(black_box(fold::<Transcript>(log.get(..499).unwrap())));
    let read = || {
        let state: Transcript = serde_json::from_slice(&saved).unwrap();
        drop(black_box(state));
    };
    versus("snapshot read / replay", saved.len(), read, replayed);
    let written = || drop(black_box(serde_json::to_vec(&live).unwrap()));
    versus("snapshot written / replay", saved.len(), written, replayed);
    for dialect in [Dialect::Anthropic, Dialect::Chat] {
        let rendered = || drop(black_box(live.conversation(None).unwrap().render(dialect)));
        versus(
            &format!("{dialect:?} rendered / replay"),
            saved.len(),
            rendered,
            replayed,
        );
    }
}

/// Runs two pieces of work in turns, and prints the speed of the first and the ratio of both.
fn versus(name: &str, bytes: usize, ours: impl Fn(), other: impl Fn()) {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        for (work, times) in [(&ours as &dyn Fn(), &mut a), (&other, &mut b)] {
            let start = Instant::now();
            work();
            times.push(start.elapsed().as_secs_f64());
        }
    }
    let (a, b) = (median(&mut a), median(&mut b));
    let speed = bytes as f64 / a / 1e9;
    println!(
        "{name:32} {:9.3} ms  {speed:6.2} GB/s  ratio {:.2}",
        a * 1e3,
        b / a
    );
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn fold<P: Projection>(log: &[Event]) -> P {
    let mut state = P::default();
    log.iter().for_each(|event| state.apply(event));
    state
}

/// A log of 1 KB events, compacted every `compact` events.
fn log(compact: usize) -> Vec<Event> {
    let id: SessionId = "bench".parse().unwrap();
    let mut head = Head::genesis(&id, Incarnation::from_bytes([7; 16]));
    let sealed = (0..EVENTS).map(|n| {
        let (kind, json) = event(n, compact);
        head.seal(NewEvent::json(kind, json).unwrap())
    });
    sealed.collect()
}

fn event(n: usize, compact: usize) -> (Kind, String) {
    let text = |n: usize| "line of text, as they are in results\\n".repeat(n / 38);
    if n % compact == compact - 1 {
        return (kinds::COMPACTION, r#"{"summary":"so far"}"#.to_owned());
    }
    let json = match n % 3 {
        0 => format!(
            r#"{{"role":"user","message":{{"role":"user","content":"{}"}}}}"#,
            text(950)
        ),
        1 => format!(
            r#"{{"role":"assistant","calls":[{{"id":"c{n}","name":"bash"}}],"response":"r{n}","model":"m","usage":{{"input":10,"cache_read":1000,"output":50}},"message":{{"role":"assistant","content":[{{"type":"text","text":"{}"}},{{"type":"tool_use","id":"c{n}","name":"bash","input":{{"command":"ls"}}}}]}}}}"#,
            text(680)
        ),
        _ => {
            let call = n - 1;
            format!(
                r#"{{"role":"user","results":[{{"id":"c{call}"}}],"message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c{call}","content":"{}"}}]}}}}"#,
                text(850)
            )
        }
    };
    (kinds::MESSAGE, json)
}
