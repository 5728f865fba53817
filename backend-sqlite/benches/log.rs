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

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, params};
use sessionlog_backend_sqlite::{Options, Sqlite};
use sessionlog_core::{NewEvent, Store, Writer};
use sessionlog_testkit::bench::{
    PAYLOAD, Raw, append, event, events, in_turn, on_core, rate, read_all, read_verified, run,
    slice, timed, times, together,
};
use sessionlog_testkit::{block_on, create, request};

fn main() {
    run(&[
        ("P1", lone_append),
        ("P2", one_session),
        ("P3", many_sessions),
        ("P4", replay),
        ("P9", bytes_on_disk),
    ]);
}

fn open(dir: &Path) -> Sqlite {
    Sqlite::open(dir.join("store.db"), Options::default()).unwrap()
}

/// SQLite alone: the table of events and the settings that the store has, and nothing else.
struct Alone {
    conn: Connection,
    next: i64,
}

impl Alone {
    fn new(dir: &Path) -> Self {
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
        Self {
            conn,
            next: 1 << 36,
        }
    }

    fn commit(&mut self, events: &[NewEvent]) -> Duration {
        let run = |sql| self.conn.prepare_cached(sql).unwrap().execute([]).unwrap();
        let insert = "INSERT INTO event (key, last, id, at, kind, top, sum, data) \
                      VALUES (?1, 1, ?2, ?3, ?4, NULL, ?5, ?6)";
        timed(|| {
            run("BEGIN IMMEDIATE");
            for event in events {
                let row = params![
                    self.next,
                    event.id.as_bytes(),
                    event.at.as_micros(),
                    event.kind.as_str(),
                    i64::MAX - self.next,
                    event.data.as_bytes()
                ];
                self.conn
                    .prepare_cached(insert)
                    .unwrap()
                    .execute(row)
                    .unwrap();
                self.next += 1;
            }
            run("COMMIT");
        })
    }
}

/// One writer with a lease, 1 KB.
fn lone_append(dir: &Path) {
    let store = open(dir);
    create(&store, "s");
    let opened = block_on(Store::new(store).open(&"s".parse().unwrap())).unwrap();
    let writer: Writer = block_on(opened.acquire(request("bench"))).unwrap();
    let (mut alone, mut medium) = (Alone::new(dir), Raw::new(dir, "raw"));
    let [ours, theirs, raw] = in_turn(
        90,
        [
            &mut |_| {
                slice(|n| {
                    let event = event(n);
                    timed(|| {
                        block_on(writer.append_one(event)).unwrap();
                    })
                })
            },
            &mut |_| slice(|n| alone.commit(&[event(n)])),
            &mut |_| slice(|_| medium.append(PAYLOAD)),
        ],
    );
    println!("P1 raw write+fdatasync, p50  {raw:?}");
    println!(
        "P1 append                    {:.2} × raw, {:.2} × SQLite alone ({ours:?}, {theirs:?})",
        times(raw, ours),
        times(theirs, ours)
    );
    // Without the device: how long each keeps a core busy, system calls included.
    let [ours, theirs] = in_turn(
        1000,
        [
            &mut |n| {
                let event = event(n);
                on_core(|| {
                    block_on(writer.append_one(event)).unwrap();
                })
            },
            &mut |n| {
                let event = [event(n)];
                on_core(|| {
                    alone.commit(&event);
                })
            },
        ],
    );
    println!("P1 on a core                 {ours:?}, SQLite alone {theirs:?}");
}

/// Many at once on one session.
fn one_session(dir: &Path) {
    let store = open(dir);
    let sessions = ["tasks", "batches"].map(|name| create(&store, name));
    let [tasks, batches] = &sessions;
    let (mut alone, mut medium) = (Alone::new(dir), Raw::new(dir, "raw"));
    let all = |n, width| together(&store, events(n, width).into_iter().map(|e| (tasks, e)));
    let [raw, few, many, ours, theirs] = in_turn(
        100,
        [
            &mut |_| slice(|_| medium.append(PAYLOAD)),
            &mut |n| all(n, 64) / 64,
            &mut |n| all(n, 256) / 256,
            &mut |n| append(&store, batches, events(n, 256)) / 256,
            &mut |n| alone.commit(&events(n, 256)) / 256,
        ],
    );
    println!(
        "P2 64 tasks                  {:.1} × raw single",
        times(raw, few)
    );
    println!(
        "P2 256 appends outstanding   {:.1} × raw single",
        times(raw, many)
    );
    println!(
        "P2 batches of 256            {:.1} × raw single, {:.2} × SQLite alone",
        times(raw, ours),
        times(theirs, ours)
    );
}

/// 64 sessions, each with its own task.
fn many_sessions(dir: &Path) {
    let store = open(dir);
    let sessions: Vec<_> = (0..64).map(|n| create(&store, &format!("s{n}"))).collect();
    let mut medium = Raw::new(dir, "raw");
    let [raw, ours] = in_turn(
        100,
        [&mut |_| slice(|_| medium.append(PAYLOAD)), &mut |n| {
            together(&store, sessions.iter().map(|at| (at, event(n)))) / 64
        }],
    );
    println!(
        "P3 64 sessions, 64 tasks     {:.1} × raw single",
        times(raw, ours)
    );
}

/// Full replay from the page cache, against a scan of the same table; in time on one core.
fn replay(dir: &Path) {
    const EVENTS: usize = 200_000;
    let store = open(dir);
    let session = create(&store, "s");
    for first in (0..EVENTS).step_by(5000) {
        append(&store, &session, events(first, 5000));
    }
    let conn = Connection::open(store.path()).unwrap();
    conn.execute_batch("PRAGMA cache_size = -4096; PRAGMA cell_size_check = ON")
        .unwrap();
    let opened = block_on(Store::new(store.clone()).open(&session.id)).unwrap();
    let scan = || {
        let sql = "SELECT key, last, id, at, kind, top, sum, data FROM event ORDER BY key";
        let mut statement = conn.prepare_cached(sql).unwrap();
        let mut rows = statement.query([]).unwrap();
        let mut found = 0;
        while let Some(row) = rows.next().unwrap() {
            for column in 0..7 {
                std::hint::black_box(row.get_ref(column).unwrap());
            }
            found += row.get_ref(7).unwrap().as_blob().unwrap().len();
        }
        found
    };
    let all = |work: &dyn Fn() -> usize| on_core(|| assert_eq!(work(), EVENTS * PAYLOAD));
    let [scan, backend, core] = in_turn(
        12,
        [
            &mut |_| all(&scan),
            &mut |_| all(&|| read_all(&store, &session)),
            &mut |_| all(&|| read_verified(&opened)),
        ],
    );
    let rate = |time| rate((EVENTS * PAYLOAD) as u64, time);
    println!("P4 a scan of the table       {:.2} GB/s", rate(scan));
    println!(
        "P4 the backend alone         {:.2} GB/s, {:.2} × the scan",
        rate(backend),
        times(scan, backend)
    );
    println!(
        "P4 through the core          {:.2} GB/s, {:.2} × the scan",
        rate(core),
        times(scan, core)
    );
}

/// Bytes on disk for each byte of payload.
fn bytes_on_disk(dir: &Path) {
    const EVENTS: usize = 10_000;
    for count in [1, 20] {
        let dir = dir.join(count.to_string());
        std::fs::create_dir(&dir).unwrap();
        let store = open(&dir);
        let sessions: Vec<_> = (0..count)
            .map(|n| create(&store, &format!("s{n}")))
            .collect();
        for (first, at) in (0..EVENTS).step_by(5).zip(sessions.iter().cycle()) {
            append(&store, at, events(first, 5));
        }
        let path = store.path().to_owned();
        drop(store);
        let size = || std::fs::metadata(&path).unwrap().len() as f64 / (EVENTS * PAYLOAD) as f64;
        let spread = size();
        let store = Sqlite::open(&path, Options::default()).unwrap();
        block_on(store.compact()).unwrap();
        println!(
            "P9 bytes on disk             {spread:.3} a payload byte in {count} sessions, {:.3} compacted",
            size()
        );
    }
}
