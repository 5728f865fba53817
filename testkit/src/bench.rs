//! Benchmarks: ratios of one run, of medians of slices that take turns.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::join_all;
use sessionlog_core::{EventLog, Kind, NewEvent, SeqNum, Session, SessionRef};

use crate::{NONE, block_on};

/// A name, and what is measured under it in a folder of its own.
pub type Part = (&'static str, fn(&Path));

/// Measures the parts that the command line names, or all: `cargo bench --bench log -- P1 P4`.
///
/// The folder is in `/var/tmp`, which is seldom in memory, or in `SESSIONLOG_BENCH_DIR`.
pub fn run(parts: &[Part]) {
    let place = std::env::var_os("SESSIONLOG_BENCH_DIR").unwrap_or_else(|| "/var/tmp".into());
    let named: Vec<String> = std::env::args().collect();
    let is_named = |part: &&Part| named.iter().any(|name| name == part.0);
    let some = parts.iter().any(|part| is_named(&part));
    for part in parts.iter().filter(|part| !some || is_named(part)) {
        let dir = tempfile::Builder::new()
            .prefix("sessionlog-bench-")
            .tempdir_in(&place)
            .unwrap();
        part.1(dir.path());
    }
}

/// The bytes of a payload.
pub const PAYLOAD: usize = 1024;

/// A message with a payload of [`PAYLOAD`] bytes, as agents write them.
pub fn event(n: usize) -> NewEvent {
    let text = "The quick brown fox jumps over the lazy dog; it does so \\\"again\\\". ";
    let mut data = format!(
        "{{\"role\":\"assistant\",\"n\":{n},\"content\":\"{}",
        text.repeat(14)
    );
    let fill = (PAYLOAD - 2).checked_sub(data.len()).unwrap();
    data.push_str(&".".repeat(fill));
    data.push_str("\"}");
    NewEvent::json(Kind::from_static("message"), data).unwrap()
}

/// Messages from the n-th on.
pub fn events(n: usize, count: usize) -> Vec<NewEvent> {
    (n..n + count).map(event).collect()
}

/// The raw medium: a file that grows.
pub struct Raw(File);

impl Raw {
    /// A new file.
    pub fn new(dir: &Path, name: &str) -> Self {
        let mut options = OpenOptions::new();
        let file = options.create_new(true).append(true).open(dir.join(name));
        Self(file.unwrap())
    }

    /// Writes so many bytes, and flushes them.
    pub fn append(&mut self, len: usize) -> Duration {
        let bytes = vec![b'x'; len];
        timed(|| {
            self.0.write_all(&bytes).unwrap();
            self.0.sync_data().unwrap();
        })
    }
}

/// Appends a batch.
pub fn append(log: &impl EventLog, session: &SessionRef, batch: Vec<NewEvent>) -> Duration {
    timed(|| {
        block_on(log.append(session, batch, NONE)).unwrap();
    })
}

/// Appends of one event each, all at once.
pub fn together<'a>(
    log: &impl EventLog,
    each: impl Iterator<Item = (&'a SessionRef, NewEvent)>,
) -> Duration {
    let each: Vec<_> = each.map(|(at, event)| (at, vec![event])).collect();
    let appends = each.into_iter().map(|(at, one)| log.append(at, one, NONE));
    timed(|| assert!(block_on(join_all(appends)).iter().all(Result::is_ok)))
}

/// The bytes of all payloads, as the backend hands them out.
pub fn read_all(log: &impl EventLog, session: &SessionRef) -> usize {
    let mut chunks = log.read(session, SeqNum::all());
    let mut found = 0;
    while let Some(chunk) = block_on(chunks.next()) {
        found += chunk.unwrap().iter().map(|e| e.data.len()).sum::<usize>();
    }
    found
}

/// The bytes of all payloads, as the core hands them out: verified.
pub fn read_verified(session: &Session) -> usize {
    let mut events = session.read(SeqNum::all());
    let mut found = 0;
    while let Some(chunk) = block_on(events.next_chunk()) {
        found += chunk.unwrap().iter().map(|e| e.data.len()).sum::<usize>();
    }
    found
}

/// How long it takes.
pub fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// How long it keeps this thread on a core: what is left of a time when neighbours are busy. The wall
/// clock where the system does not tell.
pub fn on_core(work: impl FnOnce()) -> Duration {
    let before = so_far();
    let wall = timed(work);
    match (before, so_far()) {
        (Some(before), Some(after)) => after.saturating_sub(before),
        _ => wall,
    }
}

#[cfg(unix)]
fn so_far() -> Option<Duration> {
    use rustix::time::{ClockId, clock_gettime};
    clock_gettime(ClockId::ThreadCPUTime).try_into().ok()
}

#[cfg(not(unix))]
fn so_far() -> Option<Duration> {
    None
}

/// The one in the middle.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// A slice: the median of fifty times one behind the other. What a flush leaves behind for the next one is
/// then its own, as it is for a writer that is alone.
pub fn slice(each: impl FnMut(usize) -> Duration) -> Duration {
    median((0..50).map(each).collect())
}

/// Lets `N` things take turns, each behind each other equally often (a flush leaves work behind), and
/// gives their medians. What is measured first of all is left out.
pub fn in_turn<const N: usize>(
    turns: usize,
    mut things: [&mut dyn FnMut(usize) -> Duration; N],
) -> [Duration; N] {
    let mut times = [const { Vec::new() }; N];
    for turn in 0..turns + turns / 8 {
        let backwards = turn / N % 2 == 1;
        for step in 0..N {
            let at = (turn + if backwards { N - step } else { step }) % N;
            if let (Some(thing), Some(times)) = (things.get_mut(at), times.get_mut(at)) {
                let time = thing(turn);
                if turn >= turns / 8 {
                    times.push(time);
                }
            }
        }
    }
    times.map(median)
}

/// How many times faster `ours` is than `theirs`.
pub fn times(theirs: Duration, ours: Duration) -> f64 {
    theirs.as_secs_f64() / ours.as_secs_f64()
}

/// Gigabytes a second.
pub fn rate(bytes: u64, time: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "three digits of it are shown")]
    let bytes = bytes as f64;
    bytes / 1e9 / time.as_secs_f64()
}
