//! How long a resume takes: open the store and the session, load the newest snapshot of the
//! conversation, fold what is behind it. And how fast a whole log is replayed, typed.
//!
//! ```text
//! cargo bench -p sessionlog-backend-jsonl --bench resume
//! ```
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a program that prints figures and may end at anything unexpected"
)]

use std::time::{Duration, Instant};

use pollster::block_on;
use sessionlog_backend_jsonl::{Jsonl, Options};
use sessionlog_core::transcript::{Transcript, kinds};
use sessionlog_core::{LeaseRequest, NewEvent, Owner, Result, SessionId, Store};

/// What is kept of the conversation; the rest of the log is news of running tools.
const MESSAGES: u64 = 50;
const RUNS: usize = 15;

fn open(dir: &std::path::Path) -> Result<Store> {
    Ok(Store::new(Jsonl::open(dir, Options::default())?))
}

fn event(n: u64, all: u64) -> Result<NewEvent> {
    let pad = "x".repeat(if n + MESSAGES < all { 100 } else { 900 });
    if n + MESSAGES < all {
        let text = format!(r#"{{"call":"c1","text":"{pad}"}}"#);
        return NewEvent::json(kinds::TOOL_PROGRESS, text);
    }
    let role = if n.is_multiple_of(2) {
        "user"
    } else {
        "assistant"
    };
    let message = format!(r#"{{"role":"{role}","content":"{pad}"}}"#);
    let text = format!(r#"{{"role":"{role}","message":{message}}}"#);
    NewEvent::json(kinds::MESSAGE, text)
}

async fn fill(dir: &std::path::Path, id: &SessionId, events: u64) -> Result<()> {
    let session = open(dir)?.create(id.clone()).await?;
    let writer = session
        .acquire(LeaseRequest::new(Owner::new("bench")?))
        .await?;
    for from in (0..events).step_by(5000) {
        let until = events.min(from + 5000);
        writer
            .append(
                (from..until)
                    .map(|n| event(n, events))
                    .collect::<Result<_>>()?,
            )
            .await?;
    }
    writer.save(&session.project::<Transcript>().await?).await?;
    // A few events behind the snapshot, as a crash leaves them.
    writer
        .append((0..4).map(|_| event(1, 1)).collect::<Result<_>>()?)
        .await?;
    writer.release().await
}

async fn resume(dir: &std::path::Path, id: &SessionId) -> Result<Duration> {
    let start = Instant::now();
    let session = open(dir)?.open(id).await?;
    let resumed = session.project::<Transcript>().await?;
    let took = start.elapsed();
    assert_eq!(resumed.folded, 4, "the snapshot was not used");
    Ok(took)
}

/// A chat of 1 KB events, compacted every 500, and no snapshot: the bytes of its payloads.
async fn chat(dir: &std::path::Path, id: &SessionId, events: u64) -> Result<u64> {
    let session = open(dir)?.create(id.clone()).await?;
    let mut bytes = 0;
    for from in (0..events).step_by(500) {
        let mut batch = vec![NewEvent::json(
            kinds::COMPACTION,
            r#"{"summary":"what was done"}"#,
        )?];
        for n in from + 1..from + 500 {
            batch.push(event(n, n)?);
        }
        bytes += batch.iter().map(|e| e.data.len() as u64).sum::<u64>();
        session.append(batch).await?;
    }
    Ok(bytes)
}

async fn replay(dir: &std::path::Path, id: &SessionId, events: u64) -> Result<Duration> {
    let start = Instant::now();
    let session = open(dir)?.open(id).await?;
    let replayed = session.project::<Transcript>().await?;
    let took = start.elapsed();
    assert_eq!(replayed.folded, events, "a snapshot was used");
    Ok(took)
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    *all.get(all.len() / 2).expect("a run")
}

fn main() -> Result<()> {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let sizes = [10_000_u64, 1_000_000];
    let ids = sizes.map(|n| format!("events-{n}").parse::<SessionId>().expect("an id"));
    for (id, events) in ids.iter().zip(sizes) {
        block_on(fill(dir.path(), id, events))?;
    }
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..RUNS {
        for (times, id) in times.iter_mut().zip(&ids) {
            times.push(block_on(resume(dir.path(), id))?);
        }
    }
    let [short, long] = times.map(median);
    let ratio = long.as_secs_f64() / short.as_secs_f64();
    println!("P6 resume, opening included: 10,000 events {short:?}, 1,000,000 events {long:?}");
    println!("P6 ratio {ratio:.2} (goal 1.5)");

    let (id, events) = ("chat".parse::<SessionId>()?, 200_000);
    let bytes = block_on(chat(dir.path(), &id, events))?;
    let mut runs = Vec::new();
    for _ in 0..5 {
        runs.push(block_on(replay(dir.path(), &id, events))?);
    }
    let speed = Duration::from_nanos(bytes).as_secs_f64() / median(runs).as_secs_f64();
    println!("typed replay of a whole log, checksums verified: {speed:.2} GB/s (goal 0.6)");
    Ok(())
}
