//! P7: how fast sessions are listed: their names, and their cards from snapshots and from logs.
//!
//! `cargo bench -p sessionlog --features sqlite,redb --bench list -- 1000 100000` says how many
//! sessions, and may name backends. Times are the best of a few runs.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a program that prints figures and may end at anything unexpected"
)]

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use pollster::block_on;
use sessionlog::{Kind, NewEvent, SessionId, Store};

/// Sessions that are made at a time, so that they share commits.
const AT_ONCE: usize = 100;
const RUNS: usize = 5;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut counts: Vec<usize> = args.iter().filter_map(|arg| arg.parse().ok()).collect();
    if counts.is_empty() {
        counts.push(1000);
    }
    for scheme in ["jsonl", "sqlite", "redb"] {
        let named = |arg: &String| sessionlog::schemes().any(|scheme| scheme == arg.as_str());
        if args.iter().any(named) && !args.iter().any(|arg| arg == scheme) {
            continue;
        }
        for count in &counts {
            measure(scheme, *count);
        }
    }
}

fn measure(scheme: &str, count: usize) {
    let place = std::env::var_os("SESSIONLOG_BENCH_DIR").unwrap_or_else(|| "/var/tmp".into());
    let dir = tempfile::Builder::new()
        .prefix("sessionlog-bench-")
        .tempdir_in(place)
        .unwrap();
    let url = format!("{scheme}:{}", dir.path().join("store").display());
    let ids: Vec<SessionId> = (0..count)
        .map(|n| SessionId::new(&format!("session-{n:06}")).unwrap())
        .collect();
    let store = open(&url);
    for some in ids.chunks(AT_ONCE) {
        block_on(join_all(some.iter().map(|id| fill(&store, id))));
    }
    drop(store);
    let tell = |what: &str, time: Duration| {
        let each = time.as_secs_f64() * 1e6 / count as f64;
        println!("P7 {scheme:6} {count:6} sessions, {what:28} {time:10.2?}, {each:6.2} µs each");
    };
    tell(
        "names",
        best(&url, |store| block_on(store.ids()).unwrap().len()),
    );
    let cards = |store: &Store| block_on(store.cards()).unwrap().len();
    tell("cards, none saved", best(&url, cards));
    let store = open(&url);
    for some in ids.chunks(AT_ONCE) {
        let opened = &store;
        let save = |id| async move { opened.open(id).await.unwrap().save_card().await.unwrap() };
        block_on(join_all(some.iter().map(save)));
    }
    drop(store);
    tell("cards, all saved", best(&url, cards));
    let store = open(&url);
    cards(&store);
    tell(
        "cards, by the same handle",
        (0..RUNS)
            .map(|_| timed(|| cards(&store)))
            .min()
            .unwrap_or_default(),
    );
}

fn open(url: &str) -> Store {
    block_on(sessionlog::open(url)).unwrap()
}

async fn fill(store: &Store, id: &SessionId) {
    let session = store.create(id.clone()).await.unwrap();
    let events = ["user", "assistant", "user"].map(|role| {
        let text = "The quick brown fox jumps over the lazy dog. ".repeat(4);
        let data = format!("{{\"role\":\"{role}\",\"content\":\"{text}\"}}");
        NewEvent::json(Kind::from_static("message"), data).unwrap()
    });
    session.append(events.into()).await.unwrap();
}

/// The best of a few runs, each of a handle of its own.
fn best(url: &str, work: impl Fn(&Store) -> usize) -> Duration {
    let run = |_| timed(|| work(&open(url)));
    (0..RUNS).map(run).min().unwrap_or_default()
}

fn timed(work: impl FnOnce() -> usize) -> Duration {
    let start = Instant::now();
    assert!(work() > 0);
    start.elapsed()
}
