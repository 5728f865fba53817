//! How fast the log is, as ratios: ours against SQLite alone with the same settings, and against the raw
//! medium, in slices that take turns.
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
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::join_all;
use pollster::block_on;
use rusqlite::{Connection, params};
use sessionlog_backend_sqlite::{Options, Sqlite};
use sessionlog_core::{
    AppendCondition, EventLog, Kind, LeaseRequest, NewEvent, Owner, SeqNum, SessionId, SessionRef,
    Store,
};

const NONE: AppendCondition = AppendCondition::NONE;

/// A measurement in a folder of its own.
type Measure = fn(&Path);

fn main() {
    let dir = tempfile::Builder::new()
        .prefix("sessionlog-bench-")
        .tempdir_in(std::env::var_os("SESSIONLOG_BENCH_DIR").unwrap_or_else(|| "/var/tmp".into()))
        .unwrap();
    // `cargo bench --bench log -- P1 P4` measures those alone.
    let named: Vec<String> = std::env::args()
        .filter(|arg| arg.starts_with('P'))
        .collect();
    let all: [(&str, Measure); 5] = [
        ("P1", lone_append),
        ("P2", one_session),
        ("P3", many_sessions),
        ("P4", replay),
        ("P9", bytes_on_disk),
    ];
    for (name, measure) in all {
        if named.is_empty() || named.iter().any(|n| n == name) {
            let dir = dir.path().join(name);
            std::fs::create_dir(&dir).unwrap();
            measure(&dir);
        }
    }
}

/// A message with a payload of 1,024 bytes.
fn event(n: usize) -> NewEvent {
    let data = format!("{{\"role\":\"assistant\",\"n\":\"{n:06}\",\"content\":\"");
    let text = "The quick brown fox jumps over the lazy dog, again and again. ".repeat(17);
    let text = text.get(..1024 - 2 - data.len()).unwrap();
    NewEvent::json(Kind::from_static("message"), format!("{data}{text}\"}}")).unwrap()
}

/// Waits for all of them, none of which may fail.
fn all<T>(appends: impl IntoIterator<Item = impl Future<Output = sessionlog_core::Result<T>>>) {
    let outcomes = block_on(join_all(appends));
    assert!(outcomes.iter().all(Result::is_ok));
}

fn open(dir: &Path) -> Sqlite {
    Sqlite::open(dir.join("store.db"), Options::default()).unwrap()
}

fn session(store: &Sqlite, name: &str) -> SessionRef {
    let session = SessionRef::fresh(SessionId::new(name).unwrap());
    block_on(store.create(&session)).unwrap();
    session
}

/// SQLite alone: the table of events and the settings that the store has, and nothing else.
fn alone(dir: &Path) -> Connection {
    let conn = Connection::open(dir.join("alone.db")).unwrap();
    conn.execute_batch(
        "PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA wal_autocheckpoint = 1024;
         PRAGMA cache_size = -4096;
         CREATE TABLE event (key INTEGER PRIMARY KEY, last INTEGER NOT NULL, id BLOB NOT NULL,
           at INTEGER NOT NULL, kind TEXT NOT NULL, top BLOB, sum INTEGER NOT NULL,
           data BLOB NOT NULL) STRICT;",
    )
    .unwrap();
    conn
}

fn alone_insert(conn: &Connection, key: i64, event: &NewEvent) {
    let sql = "INSERT INTO event (key, last, id, at, kind, top, sum, data) \
               VALUES (?1, 1, ?2, ?3, ?4, NULL, ?5, ?6)";
    let row = params![
        key,
        event.id.as_bytes(),
        event.at.as_micros(),
        event.kind.as_str(),
        i64::MAX - key,
        event.data.as_bytes()
    ];
    conn.prepare_cached(sql).unwrap().execute(row).unwrap();
}

fn alone_commit(conn: &Connection, first: i64, events: &[NewEvent]) {
    let run = |sql| conn.prepare_cached(sql).unwrap().execute([]).unwrap();
    run("BEGIN IMMEDIATE");
    for (key, event) in (first..).zip(events) {
        alone_insert(conn, key, event);
    }
    run("COMMIT");
}

fn raw(dir: &Path) -> File {
    let mut options = OpenOptions::new();
    options
        .create(true)
        .append(true)
        .open(dir.join("raw"))
        .unwrap()
}

fn raw_append(file: &mut File, bytes: &[u8]) {
    file.write_all(bytes).unwrap();
    file.sync_data().unwrap();
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// The time that this thread was on a processor, which neighbours change less; else the time.
fn on_cpu(work: impl FnOnce()) -> Duration {
    let read = || -> Option<u64> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    let before = read();
    let time = timed(work);
    let after = read();
    let spent = after.zip(before).map(|(after, before)| after - before);
    spent.map_or(time, Duration::from_nanos)
}

fn ratio(theirs: Duration, ours: Duration) -> f64 {
    theirs.as_secs_f64() / ours.as_secs_f64()
}

fn lone_append(dir: &Path) {
    const WARM: usize = 1500;
    const ALL: usize = 6000;
    const ORDERS: [[usize; 3]; 6] = [
        [0, 1, 2],
        [2, 1, 0],
        [1, 0, 2],
        [2, 0, 1],
        [0, 2, 1],
        [1, 2, 0],
    ];
    let store = open(dir);
    let at = session(&store, "s");
    let handle = block_on(Store::new(store).open(&at.id)).unwrap();
    let request = LeaseRequest::new(Owner::new("bench").unwrap());
    let writer = block_on(handle.acquire(request)).unwrap();
    let conn = alone(dir);
    let mut file = raw(dir);
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for (n, key) in (0..ALL).zip(1 << 36..) {
        let (a, b, bytes) = (event(n), event(n), event(n).data.into_bytes());
        // Each goes behind each other equally often: a flush pays for what the one before left to the
        // file system.
        let mut round = [Duration::ZERO; 3];
        let mut a = Some(a);
        for slot in ORDERS.get(n % ORDERS.len()).into_iter().flatten() {
            let time = match slot {
                0 => timed(|| all(a.take().map(|a| writer.append_one(a)))),
                1 => timed(|| alone_commit(&conn, key, std::slice::from_ref(&b))),
                _ => timed(|| raw_append(&mut file, &bytes)),
            };
            if let Some(took) = round.get_mut(*slot) {
                *took = time;
            }
        }
        if n >= WARM {
            for (all, time) in times.iter_mut().zip(round) {
                all.push(time);
            }
        }
    }
    let [ours, theirs, medium] = times.each_mut().map(|times| median(times));
    println!(
        "P1 lone append, p50: {ours:?}; SQLite alone {theirs:?}, ratio {:.2}; \
         write + fdatasync {medium:?}, ratio {:.2}",
        ratio(theirs, ours),
        ratio(medium, ours)
    );
}

/// The median time of a raw append, for ratios of rates.
fn medium(dir: &Path) -> Duration {
    let mut file = raw(dir);
    let bytes = event(0).data.into_bytes();
    let mut times: Vec<_> = (0..1000)
        .map(|_| timed(|| raw_append(&mut file, &bytes)))
        .collect();
    median(&mut times)
}

fn report(what: &str, events: usize, time: Duration, medium: Duration) {
    let each = time / u32::try_from(events).unwrap();
    println!(
        "{what}: {:.0} events/s, {:.1} x a raw single writer",
        1.0 / each.as_secs_f64(),
        ratio(medium, each)
    );
}

fn one_session(dir: &Path) {
    let store = open(dir);
    let at = session(&store, "s");
    let medium = medium(dir);
    let rounds = |width: usize, count: usize| {
        let mut times: Vec<_> = (0..count)
            .map(|_| {
                let events: Vec<_> = (0..width).map(event).collect();
                let appends = events.into_iter().map(|e| store.append(&at, vec![e], NONE));
                timed(|| all(appends))
            })
            .collect();
        median(&mut times)
    };
    rounds(64, 60);
    report("P2 64 tasks", 64, rounds(64, 200), medium);
    report("P2 256 outstanding", 256, rounds(256, 100), medium);

    let conn = alone(dir);
    let mut times = [Vec::new(), Vec::new()];
    for (n, key) in (0..200).zip((1_i64 << 36..).step_by(256)) {
        let batch = || -> Vec<_> { (0..256).map(event).collect() };
        let (a, b) = (batch(), batch());
        let ours = timed(|| all([store.append(&at, a, NONE)]));
        let theirs = timed(|| alone_commit(&conn, key, &b));
        if n >= 40 {
            for (all, time) in times.iter_mut().zip([ours, theirs]) {
                all.push(time);
            }
        }
    }
    let [ours, theirs] = times.each_mut().map(|times| median(times));
    report("P2 batches of 256", 256, ours, medium);
    println!(
        "P2 batches of 256 against SQLite alone: ratio {:.2}",
        ratio(theirs, ours)
    );
}

fn many_sessions(dir: &Path) {
    let store = open(dir);
    let medium = medium(dir);
    let sessions: Vec<_> = (0..64).map(|n| session(&store, &format!("s{n}"))).collect();
    let mut times = Vec::new();
    for n in 0..240 {
        let appends: Vec<_> = sessions.iter().map(|at| (at, event(n))).collect();
        let appends = appends
            .into_iter()
            .map(|(at, e)| store.append(at, vec![e], NONE));
        let time = timed(|| all(appends));
        if n >= 40 {
            times.push(time);
        }
    }
    report("P3 64 sessions, 64 tasks", 64, median(&mut times), medium);
}

fn replay(dir: &Path) {
    const EVENTS: usize = 200_000;
    let store = open(dir);
    let at = session(&store, "s");
    for first in (0..EVENTS).step_by(5000) {
        let batch = (first..first + 5000).map(event).collect();
        block_on(store.append(&at, batch, NONE)).unwrap();
    }
    let conn = Connection::open(store.path()).unwrap();
    conn.execute_batch("PRAGMA cache_size = -4096").unwrap();
    let opened = block_on(Store::new(store.clone()).open(&at.id)).unwrap();
    let scan = || {
        let sql = "SELECT key, last, id, at, kind, top, sum, data FROM event ORDER BY key";
        let mut statement = conn.prepare_cached(sql).unwrap();
        let mut rows = statement.query([]).unwrap();
        let mut found = 0;
        while let Some(row) = rows.next().unwrap() {
            for column in 0..7 {
                std::hint::black_box(row.get_ref(column).unwrap());
            }
            let data = row.get_ref(7).unwrap().as_blob().unwrap();
            found += usize::from(data.starts_with(b"{\"role\"")) + data.len();
        }
        found
    };
    let verified = || {
        let mut events = opened.read(SeqNum::all());
        let mut found = 0;
        while let Some(chunk) = block_on(events.next_chunk()) {
            for event in chunk.unwrap() {
                found += usize::from(event.kind == "message") + event.data.len();
            }
        }
        found
    };
    let chunks = || {
        let mut chunks = store.read(&at, SeqNum::all());
        let mut found = 0;
        while let Some(chunk) = block_on(chunks.next()) {
            let chunk = chunk.unwrap();
            found += chunk.len() + chunk.iter().map(|e| e.data.len()).sum::<usize>();
        }
        found
    };
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..7 {
        let mut found = [0; 3];
        let [a, b, c] = &mut found;
        let round = [
            on_cpu(|| *a = verified()),
            on_cpu(|| *b = chunks()),
            on_cpu(|| *c = scan()),
        ];
        assert!(*a == *b && *b == *c && *a == EVENTS * 1025, "{a} {b} {c}");
        for (all, time) in times.iter_mut().zip(round) {
            all.push(time);
        }
    }
    let [ours, unverified, theirs] = times.each_mut().map(|times| median(times));
    let rate = |time: Duration| (EVENTS * 1024) as f64 / time.as_secs_f64() / 1e9;
    println!(
        "P4 replay: {:.2} GB/s verified, {:.2} as the backend gives it; a scan of the table {:.2}, \
         ratio {:.2}",
        rate(ours),
        rate(unverified),
        rate(theirs),
        ratio(theirs, ours)
    );
}

fn bytes_on_disk(dir: &Path) {
    const EVENTS: usize = 10_000;
    for several in [false, true] {
        let dir = dir.join(if several { "several" } else { "one" });
        std::fs::create_dir(&dir).unwrap();
        let store = open(&dir);
        let count = if several { 20 } else { 1 };
        let sessions: Vec<_> = (0..count)
            .map(|n| session(&store, &format!("s{n}")))
            .collect();
        for first in (0..EVENTS).step_by(5) {
            for at in sessions.get(first / 5 % count..).unwrap().iter().take(1) {
                let batch = (first..first + 5).map(event).collect();
                block_on(store.append(at, batch, NONE)).unwrap();
            }
        }
        let size = |store: &Sqlite| std::fs::metadata(store.path()).unwrap().len() as f64;
        let path = store.path().to_owned();
        drop(store);
        let store = Sqlite::open(path, Options::default()).unwrap();
        let spread = size(&store) / (EVENTS * 1024) as f64;
        block_on(store.compact()).unwrap();
        println!(
            "P9 bytes on disk per payload byte, {count} sessions: {spread:.3}, compacted {:.3}",
            size(&store) / (EVENTS * 1024) as f64
        );
    }
}
