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

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use redb::{Builder, ConcurrencyMode, Database, ReadableDatabase, TableDefinition};
use sessionlog_backend_redb::{Options, Redb};
use sessionlog_core::{EventLog, SessionId, SessionRef, Store};
use sessionlog_testkit::bench::{
    PAYLOAD, Raw, append, event, events, in_turn, on_core, rate, read_all, read_verified, run,
    slice, timed, times, together,
};
use sessionlog_testkit::{block_on, create};

/// The table of a bare redb loop: keys as ours, values of the size of ours.
const BARE: TableDefinition<'_, (u64, u64), &[u8]> = TableDefinition::new("events");
/// The length of a row of ours.
const ROW: usize = PAYLOAD + 33 + 7;

fn main() {
    if let Some(path) = std::env::var_os("SESSIONLOG_BENCH_CHILD") {
        return write_until_killed(Path::new(&path));
    }
    run(&[
        ("P1", lone_append),
        ("P2", one_session),
        ("P3", many_sessions),
        ("P4", replay),
        ("P9", bytes_on_disk),
        ("kill", open_after_kill),
    ]);
}

fn shared(dir: &Path, name: &str) -> Redb {
    Redb::open(dir.join(name), Options::default()).unwrap()
}

fn exclusive(dir: &Path, name: &str) -> Redb {
    Redb::open(dir.join(name), Options::default().exclusive()).unwrap()
}

/// redb alone: the table of events and the settings that the store has, and nothing else.
struct Bare {
    database: Database,
    next: u64,
}

impl Bare {
    fn new(dir: &Path, name: &str, mode: ConcurrencyMode) -> Self {
        let mut builder = Builder::new();
        builder.set_concurrency_mode(mode).set_cache_size(32 << 20);
        let database = builder.create(dir.join(name)).unwrap();
        Self { database, next: 0 }
    }

    fn append(&mut self, count: u64) -> Duration {
        timed(|| {
            let txn = self.database.begin_write().unwrap();
            let row = vec![b'x'; ROW];
            {
                let mut table = txn.open_table(BARE).unwrap();
                for n in self.next..self.next + count {
                    table.insert((1, n), row.as_slice()).unwrap();
                }
            }
            txn.commit().unwrap();
            self.next += count;
        })
    }
}

/// One writer, 1 KB, in both modes.
fn lone_append(dir: &Path) {
    let mut medium = Raw::new(dir, "raw");
    for (mode, store, bare) in [
        ("shared", shared(dir, "ours"), ConcurrencyMode::MultiWriter),
        (
            "exclusive",
            exclusive(dir, "ours-x"),
            ConcurrencyMode::ExclusiveWriter,
        ),
    ] {
        let session = create(&store, "s");
        let mut bare = Bare::new(dir, &format!("bare-{mode}"), bare);
        let [raw, ours, theirs] = in_turn(
            30,
            [
                &mut |_| slice(|_| medium.append(PAYLOAD)),
                &mut |_| slice(|n| append(&store, &session, vec![event(n)])),
                &mut |_| slice(|_| bare.append(1)),
            ],
        );
        println!(
            "P1 {mode:9} append          {:.2} × raw write+fdatasync, {:.2} × bare redb ({ours:?}, {theirs:?}; {raw:?})",
            times(raw, ours),
            times(theirs, ours)
        );
        // Without the device: how long each keeps a core busy, system calls included.
        let [ours, theirs] = in_turn(
            400,
            [
                &mut |n| {
                    let batch = vec![event(n)];
                    on_core(|| {
                        append(&store, &session, batch);
                    })
                },
                &mut |_| {
                    on_core(|| {
                        bare.append(1);
                    })
                },
            ],
        );
        println!("P1 {mode:9} on a core       {ours:?}, bare redb {theirs:?}");
    }
}

/// Many at once on one session, in both modes.
fn one_session(dir: &Path) {
    for (mode, store, bare) in [
        ("shared", shared(dir, "ours"), ConcurrencyMode::MultiWriter),
        (
            "exclusive",
            exclusive(dir, "ours-x"),
            ConcurrencyMode::ExclusiveWriter,
        ),
    ] {
        let sessions = ["tasks", "batches"].map(|name| create(&store, name));
        let [tasks, batches] = &sessions;
        let mut bare = Bare::new(dir, &format!("bare-{mode}"), bare);
        let mut medium = Raw::new(dir, &format!("raw-{mode}"));
        let all = |n, width| together(&store, events(n, width).into_iter().map(|e| (tasks, e)));
        let [raw, few, many, ours, theirs] = in_turn(
            100,
            [
                &mut |_| slice(|_| medium.append(PAYLOAD)),
                &mut |n| all(n, 64) / 64,
                &mut |n| all(n, 256) / 256,
                &mut |n| append(&store, batches, events(n, 256)) / 256,
                &mut |_| bare.append(256) / 256,
            ],
        );
        println!(
            "P2 {mode:9} 64 tasks {:.1}, 256 outstanding {:.1}, batches of 256 {:.1} × raw single; \
             the last {:.2} × bare redb",
            times(raw, few),
            times(raw, many),
            times(raw, ours),
            times(theirs, ours)
        );
    }
}

/// 64 sessions, each with its own task.
fn many_sessions(dir: &Path) {
    let store = shared(dir, "ours");
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

const REPLAYED: usize = 100_000;

fn filled(dir: &Path) -> (Redb, SessionRef) {
    let store = shared(dir, "ours");
    let session = create(&store, "s");
    for from in (0..REPLAYED).step_by(1000) {
        append(&store, &session, events(from, 1000));
    }
    (store, session)
}

/// Full replay, against a scan of the same table; in time on one core.
fn replay(dir: &Path) {
    let (store, session) = filled(dir);
    let mut builder = Builder::new();
    builder.set_concurrency_mode(ConcurrencyMode::MultiWriter);
    builder.set_cache_size(32 << 20);
    let other = builder.open(store.path()).unwrap();
    let opened = block_on(Store::new(store.clone()).open(&session.id)).unwrap();
    let scan = || {
        let txn = other.begin_read().unwrap();
        let table = txn.open_table(BARE).unwrap();
        let rows = table.range((0, 0)..).unwrap();
        rows.map(|row| row.unwrap().1.value().len() - (ROW - PAYLOAD))
            .sum()
    };
    let all = |work: &dyn Fn() -> usize| on_core(|| assert_eq!(work(), REPLAYED * PAYLOAD));
    let [scan, backend, core] = in_turn(
        16,
        [
            &mut |_| all(&scan),
            &mut |_| all(&|| read_all(&store, &session)),
            &mut |_| all(&|| read_verified(&opened)),
        ],
    );
    let rate = |time| rate((REPLAYED * PAYLOAD) as u64, time);
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

/// Bytes on disk for each byte of payload, after batches and after appends of one event each.
fn bytes_on_disk(dir: &Path) {
    // What the file has of the disk: the space that redb takes ahead is a hole.
    let size = |path: &Path| {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(path).unwrap().blocks() as f64 * 512.0
    };
    let tell = |what: &str, store: Redb, events: usize| {
        let (path, payload) = (store.path().to_owned(), (events * PAYLOAD) as f64);
        let open = size(&path) / payload;
        drop(store);
        println!(
            "P9 bytes on disk, {what:11} {open:.2} a payload byte while open, {:.2} closed",
            size(&path) / payload
        );
    };
    let (store, _) = filled(dir);
    tell("in batches", store, REPLAYED);
    let store = shared(dir, "lone");
    let session = create(&store, "s");
    for event in events(0, 5000) {
        append(&store, &session, vec![event]);
    }
    tell("one by one", store, 5000);
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
        let write = append(&store, &one, vec![event(0)]);
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
    let session = create(&store, "s");
    for from in (0..).step_by(1000) {
        append(&store, &session, events(from, 1000));
    }
}
