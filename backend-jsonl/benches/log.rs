//! How fast the log is, as ratios: ours against the raw medium, in slices that take turns.
//!
//! Figures are medians of one run; a ratio above 1 means that ours is faster.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a program that prints figures and may end at anything unexpected"
)]

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use pollster::block_on;
use sessionlog_backend_jsonl::{Jsonl, Options};
use sessionlog_core::{
    AppendCondition, EventLog, Head, Kind, NewEvent, SeqNum, SessionId, SessionRef, Store,
};

const NONE: AppendCondition = AppendCondition::NONE;
/// Turns that A and B take.
const TURNS: usize = 12;

fn main() {
    let dir = tempfile::Builder::new()
        .prefix("sessionlog-bench-")
        .tempdir_in(std::env::var_os("SESSIONLOG_BENCH_DIR").unwrap_or_else(|| "/var/tmp".into()))
        .unwrap();
    let dir = dir.path();
    // `cargo bench --bench log -- P4 P5` measures those alone.
    let named: Vec<String> = std::env::args()
        .filter(|arg| arg.starts_with('P'))
        .collect();
    for name in ["P1", "P2", "P9", "P4", "P5"] {
        if !named.is_empty() && !named.iter().any(|n| n == name) {
            continue;
        }
        match name {
            "P1" => {
                lone_append(dir);
                core_of_an_append(dir);
            }
            "P2" => group_commit(dir),
            "P9" => bytes_on_disk(dir),
            "P4" => replay(dir),
            _ => slices(dir),
        }
    }
}

/// A message of about 1 KB, as agents write them.
fn event(n: usize) -> NewEvent {
    let text = "The quick brown fox jumps over the lazy dog; it does so \\\"again\\\". ".repeat(14);
    let data = format!("{{\"role\":\"assistant\",\"n\":{n},\"content\":\"{text}\"}}");
    NewEvent::json(Kind::from_static("message"), data).unwrap()
}

fn session(store: &Jsonl, name: &str) -> SessionRef {
    let session = SessionRef::fresh(SessionId::new(name).unwrap());
    block_on(store.create(&session)).unwrap();
    session
}

fn open(dir: &Path, ahead: usize) -> Jsonl {
    Jsonl::open(dir.join("store"), Options::default().write_ahead(ahead)).unwrap()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// How long this thread was on a core: what is left of a time when neighbours are busy. The wall
/// clock where the system does not tell.
fn on_core(work: impl FnOnce()) -> Duration {
    let so_far = || {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
    };
    let before = so_far();
    let wall = timed(work);
    match (before, so_far()) {
        (Some(before), Some(after)) => after - before,
        _ => wall,
    }
}

fn raw_file(dir: &Path, name: &str) -> File {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    options.open(dir.join(name)).unwrap()
}

fn raw_append(file: &mut File, bytes: &[u8]) -> Duration {
    timed(|| {
        file.write_all(bytes).unwrap();
        file.sync_data().unwrap();
    })
}

/// P1: one writer, 1 KB, p50 against a raw write and fdatasync that makes the file longer.
fn lone_append(dir: &Path) {
    let plain = open(dir, 0);
    let ahead = open(dir, 256 << 10);
    let (one, two) = (session(&plain, "lone"), session(&ahead, "ahead"));
    let mut raw = raw_file(dir, "raw-lone");
    let bytes = vec![b'x'; 1120];
    let mut times = [const { Vec::new() }; 3];
    for turn in 0..TURNS * 60 {
        let append = |store: &Jsonl, session: &SessionRef| {
            let batch = vec![event(turn)];
            timed(|| {
                block_on(store.append(session, batch, NONE)).unwrap();
            })
        };
        // Each comes behind each other equally often: a flush leaves work behind.
        for step in 0..3 {
            match (turn / 3 * (1 + turn % 2) + step * (1 + turn % 2)) % 3 {
                0 => times[0].push(raw_append(&mut raw, &bytes)),
                1 => times[1].push(append(&plain, &one)),
                _ => times[2].push(append(&ahead, &two)),
            }
        }
    }
    let [raw, plain, ahead] = times.map(median);
    println!("P1 raw write+fdatasync p50 {raw:?}");
    println!(
        "P1 append              {:.2} × raw ({plain:?})",
        ratio(raw, plain)
    );
    println!(
        "P1 append, written ahead {:.2} × raw ({ahead:?})",
        ratio(raw, ahead)
    );
}

/// P1 once more without the device: how long each keeps a core busy, system calls included.
fn core_of_an_append(dir: &Path) {
    let plain = open(dir, 0);
    let session = session(&plain, "core");
    let mut raw = raw_file(dir, "raw-core");
    let bytes = vec![b'x'; 1120];
    let mut times = [const { Vec::new() }; 2];
    for turn in 0..TURNS * 40 {
        times[0].push(on_core(|| {
            raw_append(&mut raw, &bytes);
        }));
        let batch = vec![event(turn)];
        times[1].push(on_core(|| {
            block_on(plain.append(&session, batch, NONE)).unwrap();
        }));
    }
    let [raw, plain] = times.map(median);
    println!("P1 on a core: raw {raw:?}, append {plain:?}");
}

/// How much faster `ours` is.
fn ratio(raw: Duration, ours: Duration) -> f64 {
    raw.as_secs_f64() / ours.as_secs_f64()
}

/// P2 and P3: many at once, in events a second against one raw writer.
fn group_commit(dir: &Path) {
    let store = open(dir, 256 << 10);
    let tasks = session(&store, "tasks");
    let outstanding = session(&store, "outstanding");
    let batches = session(&store, "batches");
    let own: Vec<_> = (0..64)
        .map(|n| session(&store, &format!("own-{n}")))
        .collect();
    let mut raw = raw_file(dir, "raw-group");
    let mut raw_batches = raw_file(dir, "raw-batches");
    let mut rates = [const { Vec::new() }; 6];
    for _ in 0..TURNS {
        let single = (0..200).map(|_| raw_append(&mut raw, &[b'x'; 1160]));
        rates[0].push(median(single.collect()));

        let each = 20_u32;
        let took = timed(|| {
            let all = (0..64).map(|_| async {
                for n in 0..each {
                    store
                        .append(&tasks, vec![event(n as usize)], NONE)
                        .await
                        .unwrap();
                }
            });
            block_on(join_all(all));
        });
        rates[1].push(took / (64 * each));

        let count = 8192_u32;
        let all: Vec<_> = (0..count).map(|n| vec![event(n as usize)]).collect();
        let took = timed(|| {
            block_on(async {
                let mut running = FuturesUnordered::new();
                for batch in all {
                    if running.len() >= 256 {
                        drop(running.next().await);
                    }
                    running.push(store.append(&outstanding, batch, NONE));
                }
                while running.next().await.is_some() {}
            });
        });
        rates[2].push(took / count);

        let all: Vec<Vec<_>> = (0..16).map(|_| (0..256).map(event).collect()).collect();
        let took = timed(|| {
            for batch in all {
                block_on(store.append(&batches, batch, NONE)).unwrap();
            }
        });
        rates[3].push(took / (16 * 256));
        let bytes = vec![b'x'; 1160 * 256];
        let took = timed(|| {
            for _ in 0..16 {
                raw_append(&mut raw_batches, &bytes);
            }
        });
        rates[4].push(took / (16 * 256));

        let took = timed(|| {
            std::thread::scope(|scope| {
                for session in &own {
                    let store = &store;
                    scope.spawn(move || {
                        for n in 0..each {
                            block_on(store.append(session, vec![event(n as usize)], NONE)).unwrap();
                        }
                    });
                }
            });
        });
        rates[5].push(took / (64 * each));
    }
    let [raw, tasks, outstanding, batches, raw_batches, own] = rates.map(median);
    println!(
        "P2 64 tasks on one session    {:.1} × raw single",
        ratio(raw, tasks)
    );
    println!(
        "P2 256 appends outstanding    {:.1} × raw single",
        ratio(raw, outstanding)
    );
    println!(
        "P2 batches of 256             {:.2} × raw batch",
        ratio(raw_batches, batches)
    );
    println!(
        "P3 64 sessions in 64 threads  {:.1} × raw single",
        ratio(raw, own)
    );
}

/// P9: bytes on disk for each byte of payload.
fn bytes_on_disk(dir: &Path) {
    let store = open(dir, 0);
    let session = session(&store, "bytes");
    let (mut payload, count) = (0, 1000);
    for n in 0..count {
        let event = event(n);
        payload += event.data.len();
        block_on(store.append(&session, vec![event], NONE)).unwrap();
    }
    let log = store.path().join("bytes/events.jsonl");
    let len = std::fs::metadata(log).unwrap().len();
    println!(
        "P9 {:.3} bytes on disk a payload byte",
        len as f64 / payload as f64
    );
}

/// A log of so many events of 1 KB.
fn filled(store: &Jsonl, name: &str, events: usize) -> SessionRef {
    let session = session(store, name);
    for start in (0..events).step_by(2000) {
        let batch = (start..events.min(start + 2000)).map(event).collect();
        block_on(store.append(&session, batch, NONE)).unwrap();
    }
    session
}

/// P4: full replay from the page cache, verified, messages counted; in time on one core.
fn replay(dir: &Path) {
    #[derive(serde::Deserialize)]
    #[expect(dead_code, reason = "what a typed reader reads")]
    struct Typed<'a> {
        seq: u64,
        id: String,
        at: String,
        kind: String,
        #[serde(borrow)]
        data: &'a serde_json::value::RawValue,
        sum: String,
    }
    let store = open(dir, 0);
    let session = filled(&store, "replay", 200_000);
    let path = store.path().join("replay/events.jsonl");
    let len = std::fs::metadata(&path).unwrap().len() as f64;
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..7 {
        times[0].push(on_core(|| {
            let mut chunks = store.read(&session, SeqNum::all());
            let mut messages = 0;
            while let Some(chunk) = block_on(chunks.next()) {
                messages += chunk
                    .unwrap()
                    .iter()
                    .filter(|e| e.kind == "message")
                    .count();
            }
            assert_eq!(messages, 200_000);
        }));
        times[1].push(on_core(|| {
            let mut head = Head::genesis(&session.id, session.incarnation);
            let mut chunks = store.read(&session, SeqNum::all());
            while let Some(chunk) = block_on(chunks.next()) {
                for event in chunk.unwrap() {
                    head.verify(&session.id, &event).unwrap();
                }
            }
        }));
        let core = Store::new(store.clone());
        times[2].push(on_core(|| {
            let session = block_on(core.open(&session.id)).unwrap();
            let mut events = session.read(SeqNum::all());
            let mut messages = 0;
            while let Some(chunk) = block_on(events.next_chunk()) {
                messages += chunk
                    .unwrap()
                    .iter()
                    .filter(|e| e.kind == "message")
                    .count();
            }
            assert_eq!(messages, 200_000);
        }));
        times[3].push(on_core(|| {
            let mut file = BufReader::with_capacity(256 << 10, File::open(&path).unwrap());
            let (mut line, mut messages) = (String::new(), 0);
            file.read_line(&mut line).unwrap();
            loop {
                line.clear();
                if file.read_line(&mut line).unwrap() == 0 {
                    break;
                }
                let typed: Typed<'_> = serde_json::from_str(&line).unwrap();
                messages += usize::from(typed.kind == "message");
            }
            assert_eq!(messages, 200_000);
        }));
    }
    let [backend, verified, core, serde] = times.map(median);
    let rate = |time: Duration| len / 1e9 / time.as_secs_f64();
    println!("P4 the backend alone {:.2} GB/s", rate(backend));
    println!("P4 and verified      {:.2} GB/s", rate(verified));
    println!("P4 through the core  {:.2} GB/s", rate(core));
    println!(
        "P4 a typed reader with serde {:.2} GB/s, ours is {:.1} × that",
        rate(serde),
        ratio(serde, core)
    );
}

/// P5: the last 50 events of a long log and of a short one.
fn slices(dir: &Path) {
    let store = open(dir, 0);
    let short = filled(&store, "short", 10_000);
    let long = SessionRef {
        id: SessionId::new("replay").unwrap(),
        ..block_on(store.head(&SessionId::new("replay").unwrap()))
            .unwrap()
            .0
    };
    let mut times = [const { Vec::new() }; 4];
    for turn in 0..400 {
        for (at, session) in [&short, &long].into_iter().enumerate() {
            let (_, head) = block_on(store.head(&session.id)).unwrap();
            let range = head.tail.minus(50)..head.tail;
            let slot = if turn % 2 == 0 { at } else { at + 2 };
            let fresh = Jsonl::open(store.path(), Options::default()).unwrap();
            let handle = if turn % 2 == 0 { &store } else { &fresh };
            let time = timed(|| {
                let mut chunks = handle.read(session, range);
                let mut count = 0;
                while let Some(chunk) = block_on(chunks.next()) {
                    count += chunk.unwrap().len();
                }
                assert_eq!(count, 50);
            });
            if let Some(times) = times.get_mut(slot) {
                times.push(time);
            }
        }
    }
    let [short, long, short_cold, long_cold] = times.map(median);
    println!(
        "P5 last 50 of a long log {long:?}, {:.2} × a short one",
        ratio(long, short)
    );
    println!(
        "P5 with a fresh handle   {long_cold:?}, {:.2} × a short one",
        ratio(long_cold, short_cold)
    );
}
