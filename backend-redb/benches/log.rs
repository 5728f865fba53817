//! How fast the log is, as ratios: ours against the raw medium and against bare redb, in slices that
//! take turns.
//!
//! Figures are medians of one run; a ratio above 1 means that ours is faster.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a program that prints figures and may end at anything unexpected"
)]

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::join_all;
use pollster::block_on;
use redb::{Builder, ConcurrencyMode, Database, ReadableDatabase, TableDefinition};
use sessionlog_backend_redb::{Options, Redb};
use sessionlog_core::{
    AppendCondition, EventLog, Head, Kind, NewEvent, SeqNum, SessionId, SessionRef, Store,
};

const NONE: AppendCondition = AppendCondition::NONE;
/// The table of a bare redb loop: keys as ours, values of the size of ours.
const BARE: TableDefinition<'_, (u64, u64), &[u8]> = TableDefinition::new("events");
/// A name, and what is measured under it.
type Part = (&'static str, fn(&Path));
/// Turns that A and B take.
const TURNS: usize = 12;

fn main() {
    if let Some(path) = std::env::var_os("SESSIONLOG_BENCH_CHILD") {
        return write_until_killed(Path::new(&path));
    }
    let dir = tempfile::Builder::new()
        .prefix("sessionlog-bench-")
        .tempdir_in(std::env::var_os("SESSIONLOG_BENCH_DIR").unwrap_or_else(|| "/var/tmp".into()))
        .unwrap();
    let dir = dir.path();
    // `cargo bench --bench log -- P4 P9` measures those alone.
    let named: Vec<String> = std::env::args()
        .filter(|arg| arg.starts_with('P') || arg == "kill")
        .collect();
    let parts: [Part; 6] = [
        ("P1", lone_append),
        ("P2", group_commit),
        ("P3", many_sessions),
        ("P4", replay),
        ("P9", bytes_on_disk),
        ("kill", open_after_kill),
    ];
    for (name, measure) in parts {
        if named.is_empty() || named.iter().any(|n| n == name) {
            measure(dir);
        }
    }
}

/// A message of 1 KiB, as agents write them.
fn event(n: usize) -> NewEvent {
    let text = "The quick brown fox jumps over the lazy dog; it does so \\\"again\\\". ".repeat(14);
    let mut data = format!("{{\"role\":\"assistant\",\"n\":{n},\"content\":\"{text}");
    let fill = 1022_usize.saturating_sub(data.len());
    data.push_str(&".".repeat(fill));
    data.push_str("\"}");
    NewEvent::json(Kind::from_static("message"), data).unwrap()
}

/// The length of a row of ours.
const ROW: usize = 1024 + 33 + 7;

fn session(store: &Redb, name: &str) -> SessionRef {
    let session = SessionRef::fresh(SessionId::new(name).unwrap());
    block_on(store.create(&session)).unwrap();
    session
}

fn shared(dir: &Path, name: &str) -> Redb {
    Redb::open(dir.join(name), Options::default()).unwrap()
}

fn exclusive(dir: &Path, name: &str) -> Redb {
    Redb::open(dir.join(name), Options::default().exclusive()).unwrap()
}

fn bare(dir: &Path, name: &str, mode: ConcurrencyMode) -> Database {
    let mut builder = Builder::new();
    builder.set_concurrency_mode(mode).set_cache_size(32 << 20);
    builder.create(dir.join(name)).unwrap()
}

fn bare_append(database: &Database, from: u64, count: u64) {
    let txn = database.begin_write().unwrap();
    let row = vec![b'x'; ROW];
    {
        let mut table = txn.open_table(BARE).unwrap();
        for n in from..from + count {
            table.insert((1, n), row.as_slice()).unwrap();
        }
    }
    txn.commit().unwrap();
}

fn append(store: &Redb, session: &SessionRef, batch: Vec<NewEvent>) {
    block_on(store.append(session, batch, NONE)).unwrap();
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
        (Some(before), Some(after)) => after.saturating_sub(before),
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

/// How many times faster `ours` is than `other`.
fn times(other: Duration, ours: Duration) -> f64 {
    other.as_secs_f64() / ours.as_secs_f64()
}

/// P1: one writer, 1 KB, p50 against a raw write and fdatasync, and against bare redb.
fn lone_append(dir: &Path) {
    let (ours, alone) = (shared(dir, "p1"), exclusive(dir, "p1x"));
    let (one, two) = (session(&ours, "s"), session(&alone, "s"));
    let multi = bare(dir, "p1-bare", ConcurrencyMode::MultiWriter);
    let single = bare(dir, "p1x-bare", ConcurrencyMode::ExclusiveWriter);
    let mut raw = raw_file(dir, "p1-raw");
    let bytes = vec![b'x'; 1024];
    let mut took = [const { Vec::new() }; 5];
    for (turn, at) in (0..TURNS * 60).zip(0..) {
        let (a, b) = (vec![event(turn)], vec![event(turn)]);
        for (slot, time) in took.iter_mut().zip([
            raw_append(&mut raw, &bytes),
            timed(|| append(&ours, &one, a)),
            timed(|| bare_append(&multi, at, 1)),
            timed(|| append(&alone, &two, b)),
            timed(|| bare_append(&single, at, 1)),
        ]) {
            slot.push(time);
        }
    }
    let [raw, ours, multi, alone, single] = took.map(median);
    println!("P1 one writer, 1 KB: raw append p50 {raw:?}");
    println!(
        "P1   shared    {ours:?}: {:.2} x raw, {:.2} x bare redb in the same mode",
        times(raw, ours),
        times(multi, ours)
    );
    println!(
        "P1   exclusive {alone:?}: {:.2} x raw, {:.2} x bare redb in the same mode",
        times(raw, alone),
        times(single, alone)
    );
}

/// P2: one session, 64 tasks; and batches of 256.
fn group_commit(dir: &Path) {
    for (name, store) in [
        ("shared", shared(dir, "p2")),
        ("exclusive", exclusive(dir, "p2x")),
    ] {
        let one = session(&store, "s");
        let mode = match name {
            "shared" => ConcurrencyMode::MultiWriter,
            _ => ConcurrencyMode::ExclusiveWriter,
        };
        let other = bare(dir, &format!("p2-bare-{name}"), mode);
        let mut raw = raw_file(dir, &format!("p2-raw-{name}"));
        let bytes = vec![b'x'; 1024];
        let mut took = [const { Vec::new() }; 4];
        for (turn, at) in (0..TURNS * 2).zip(0..) {
            for _ in 0..8 {
                took[0].push(raw_append(&mut raw, &bytes));
            }
            let batches: Vec<_> = (0..64).map(|n| vec![event(turn * 64 + n)]).collect();
            took[1].push(timed(|| {
                let all = batches
                    .into_iter()
                    .map(|batch| store.append(&one, batch, NONE));
                assert!(block_on(join_all(all)).iter().all(Result::is_ok));
            }));
            let batch: Vec<_> = (0..256).map(event).collect();
            took[2].push(timed(|| append(&store, &one, batch)));
            took[3].push(timed(|| bare_append(&other, at * 256, 256)));
        }
        let [raw, tasks, batch, other] = took.map(median);
        println!(
            "P2 {name}: 64 tasks {:.1} x raw single; batches of 256 {:.0} events/s, {:.2} x bare redb",
            times(raw, tasks) * 64.0,
            256.0 / batch.as_secs_f64(),
            times(other, batch)
        );
    }
}

/// P3: 64 sessions, 64 tasks.
fn many_sessions(dir: &Path) {
    let store = shared(dir, "p3");
    let sessions: Vec<_> = (0..64).map(|n| session(&store, &format!("s{n}"))).collect();
    let mut raw = raw_file(dir, "p3-raw");
    let bytes = vec![b'x'; 1024];
    let mut took = [const { Vec::new() }; 2];
    for turn in 0..TURNS * 2 {
        for _ in 0..8 {
            took[0].push(raw_append(&mut raw, &bytes));
        }
        let batches: Vec<_> = sessions.iter().map(|s| (s, vec![event(turn)])).collect();
        took[1].push(timed(|| {
            let all = batches
                .into_iter()
                .map(|(s, batch)| store.append(s, batch, NONE));
            assert!(block_on(join_all(all)).iter().all(Result::is_ok));
        }));
    }
    let [raw, tasks] = took.map(median);
    println!(
        "P3 64 sessions, 64 tasks: {:.1} x raw single",
        times(raw, tasks) * 64.0
    );
}

const REPLAYED: usize = 100_000;

fn filled(dir: &Path, name: &str) -> (Redb, SessionRef, u64) {
    let store = shared(dir, name);
    let one = session(&store, "s");
    let mut payload = 0;
    for from in (0..REPLAYED).step_by(1000) {
        let batch: Vec<_> = (from..from + 1000).map(event).collect();
        payload += batch.iter().map(|e| e.data.len() as u64).sum::<u64>();
        append(&store, &one, batch);
    }
    (store, one, payload)
}

/// P4: full replay through the core, checksums verified, against a raw scan of the same table.
fn replay(dir: &Path) {
    let (store, one, payload) = filled(dir, "p4");
    let mut builder = Builder::new();
    builder.set_concurrency_mode(ConcurrencyMode::MultiWriter);
    builder.set_cache_size(32 << 20);
    let other = builder.open(dir.join("p4")).unwrap();
    let through = Store::new(store.clone());
    let mut took = [const { Vec::new() }; 3];
    for _ in 0..TURNS {
        took[0].push(on_core(|| {
            let txn = other.begin_read().unwrap();
            let table = txn.open_table(BARE).unwrap();
            let mut seen = 0;
            for entry in table.range((0, 0)..).unwrap() {
                seen += entry.unwrap().1.value().len() as u64;
            }
            assert!(seen > payload);
        }));
        took[1].push(on_core(|| {
            let mut chunks = store.read(&one, SeqNum::all());
            let mut head = Head::genesis(&one.id, one.incarnation);
            let mut seen = 0;
            while let Some(chunk) = block_on(chunks.next()) {
                for event in chunk.unwrap() {
                    head.verify(&one.id, &event).unwrap();
                    seen += event.data.len() as u64;
                }
            }
            assert_eq!(seen, payload);
        }));
        took[2].push(on_core(|| {
            block_on(async {
                let session = through.open(&one.id).await.unwrap();
                let mut events = session.read(SeqNum::all());
                let mut seen = 0;
                while let Some(chunk) = events.next_chunk().await {
                    seen += chunk
                        .unwrap()
                        .iter()
                        .map(|e| e.data.len() as u64)
                        .sum::<u64>();
                }
                assert_eq!(seen, payload);
            });
        }));
    }
    let [raw, ours, whole] = took.map(median);
    let rate = |time: Duration| payload as f64 / 1e9 / time.as_secs_f64();
    println!(
        "P4 replay of {} MB: raw scan {:.2} GB/s; read and verified {:.2} GB/s, {:.2} x; through Session::read {:.2} GB/s, {:.2} x",
        payload / 1_000_000,
        rate(raw),
        rate(ours),
        times(raw, ours),
        rate(whole),
        times(raw, whole)
    );
}

/// P9: bytes on disk per payload byte, after appends of one event each and after batches.
fn bytes_on_disk(dir: &Path) {
    let (store, _, payload) = filled(dir, "p9");
    // What the file has of the disk: the space that redb takes ahead is a hole.
    let size = |name: &str| {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(dir.join(name)).unwrap().blocks() as f64 * 512.0
    };
    let open = size("p9");
    drop(store);
    println!(
        "P9 bytes on disk per payload byte, in batches: {:.2} while open, {:.2} closed",
        open / payload as f64,
        size("p9") / payload as f64
    );
    let store = shared(dir, "p9-lone");
    let one = session(&store, "s");
    let mut payload = 0;
    for n in 0..5000 {
        let event = event(n);
        payload += event.data.len();
        append(&store, &one, vec![event]);
    }
    let open = size("p9-lone");
    drop(store);
    println!(
        "P9 5,000 lone appends: {:.2} while open, {:.2} closed",
        open / payload as f64,
        size("p9-lone") / payload as f64
    );
}

/// Case 25: how long the next open takes after a kill in the middle of writing.
fn open_after_kill(dir: &Path) {
    let megabytes: u64 = std::env::var("SESSIONLOG_BENCH_KILL_MB")
        .ok()
        .and_then(|mb| mb.parse().ok())
        .unwrap_or(256);
    for mode in ["shared", "exclusive"] {
        let path = dir.join(format!("kill-{mode}"));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .env("SESSIONLOG_BENCH_CHILD", &path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let size = || std::fs::metadata(&path).map_or(0, |m| m.len());
        while size() < megabytes << 20 {
            std::thread::sleep(Duration::from_millis(20));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let options = Options::default().on_repair(|_| ());
        let options = match mode {
            "shared" => options,
            _ => options.exclusive(),
        };
        let id = SessionId::new("s").unwrap();
        let mut store = None;
        let read = timed(|| {
            let opened = Redb::open(&path, options.clone()).unwrap();
            block_on(opened.head(&id)).unwrap();
            store = Some(opened);
        });
        let store = store.unwrap();
        let (one, _) = block_on(store.head(&id)).unwrap();
        let write = timed(|| append(&store, &one, vec![event(0)]));
        println!(
            "kill -9 while writing, {} MB, {mode}: open and read {read:?}, first append {write:?}",
            size() >> 20
        );
    }
}

fn write_until_killed(path: &Path) {
    let exclusive = path.to_string_lossy().ends_with("exclusive");
    let options = Options::default();
    let options = if exclusive {
        options.exclusive()
    } else {
        options
    };
    let store = Redb::open(path, options).unwrap();
    let one = session(&store, "s");
    for from in (0..).step_by(1000) {
        append(&store, &one, (from..from + 1000).map(event).collect());
    }
}
