//! How fast the log is, as ratios: ours against the raw medium, in slices that take turns.
//!
//! Figures are medians of one run; a ratio above 1 means that ours is faster.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a program that prints figures and may end at anything unexpected"
)]

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use sessionlog_backend_jsonl::{Jsonl, Options};
use sessionlog_core::{Event, EventLog, Head, SeqNum, SessionRef, Store};
use sessionlog_testkit::bench::{
    Raw, append, event, events, in_turn, on_core, rate, run, slice, timed, times,
};
use sessionlog_testkit::{NONE, block_on, create};

/// The bytes of a line, with a payload of 1,024.
const LINE: usize = 1165;
/// The space that is written ahead, where it is.
const AHEAD: usize = 256 << 10;

fn main() {
    run(&[
        ("P1", lone_append),
        ("P2", one_session),
        ("P3", many_sessions),
        ("P4", replay),
        ("P5", slices),
        ("P9", bytes_on_disk),
    ]);
}

fn open(dir: &Path, name: &str, ahead: usize) -> Jsonl {
    Jsonl::open(dir.join(name), Options::default().write_ahead(ahead)).unwrap()
}

/// One writer, 1 KB, against a raw write and fdatasync that makes the file longer.
fn lone_append(dir: &Path) {
    let (plain, ahead) = (open(dir, "plain", 0), open(dir, "ahead", AHEAD));
    let (one, two) = (create(&plain, "s"), create(&ahead, "s"));
    let mut medium = Raw::new(dir, "raw");
    let [raw, ours, written_ahead] = in_turn(
        48,
        [
            &mut |_| slice(|_| medium.append(LINE)),
            &mut |_| slice(|n| append(&plain, &one, vec![event(n)])),
            &mut |_| slice(|n| append(&ahead, &two, vec![event(n)])),
        ],
    );
    println!("P1 raw write+fdatasync, p50  {raw:?}");
    println!(
        "P1 append                    {:.2} × raw ({ours:?})",
        times(raw, ours)
    );
    println!(
        "P1 append, written ahead     {:.2} × raw ({written_ahead:?})",
        times(raw, written_ahead)
    );
    // Without the device: how long each keeps a core busy, system calls included.
    let [raw, ours] = in_turn(
        500,
        [
            &mut |_| {
                on_core(|| {
                    medium.append(LINE);
                })
            },
            &mut |n| {
                let batch = vec![event(n)];
                on_core(|| {
                    append(&plain, &one, batch);
                })
            },
        ],
    );
    println!("P1 on a core                 raw {raw:?}, append {ours:?}");
}

/// Many at once on one session, in events a second against one raw writer.
fn one_session(dir: &Path) {
    let store = open(dir, "store", AHEAD);
    let sessions = ["tasks", "outstanding", "batches"].map(|name| create(&store, name));
    let [tasks, outstanding, batches] = &sessions;
    let (mut medium, mut large) = (Raw::new(dir, "raw"), Raw::new(dir, "raw-large"));
    let [raw, tasks, outstanding, raw_batch, batch] = in_turn(
        40,
        [
            &mut |_| slice(|_| medium.append(LINE)),
            &mut |n| {
                let each: Vec<_> = (0..64).map(|_| events(n, 10)).collect();
                let all = each.into_iter().map(async |each| {
                    for event in each {
                        store.append(tasks, vec![event], NONE).await.unwrap();
                    }
                });
                timed(|| drop(block_on(join_all(all)))) / (64 * 10)
            },
            &mut |n| {
                let work = stream::iter(events(n, 2048))
                    .map(|event| store.append(outstanding, vec![event], NONE))
                    .buffer_unordered(256)
                    .for_each(async |appended| {
                        appended.unwrap();
                    });
                timed(|| block_on(work)) / 2048
            },
            &mut |_| large.append(256 * LINE) / 256,
            &mut |n| append(&store, batches, events(n, 256)) / 256,
        ],
    );
    println!(
        "P2 64 tasks                  {:.1} × raw single",
        times(raw, tasks)
    );
    println!(
        "P2 256 appends outstanding   {:.1} × raw single",
        times(raw, outstanding)
    );
    println!(
        "P2 batches of 256            {:.2} × raw batch, which is {:.0} × raw single",
        times(raw_batch, batch),
        times(raw, raw_batch)
    );
}

/// 64 sessions, each with its own writer, in events a second against one raw writer.
fn many_sessions(dir: &Path) {
    let store = open(dir, "store", AHEAD);
    let sessions: Vec<_> = (0..64).map(|n| create(&store, &format!("s{n}"))).collect();
    let mut medium = Raw::new(dir, "raw");
    let [raw, ours] = in_turn(
        16,
        [&mut |_| slice(|_| medium.append(LINE)), &mut |n| {
            let work: Vec<_> = sessions.iter().map(|s| (s, events(n, 10))).collect();
            let all = || {
                std::thread::scope(|scope| {
                    for (session, each) in work {
                        scope.spawn(|| {
                            for event in each {
                                append(&store, session, vec![event]);
                            }
                        });
                    }
                });
            };
            timed(all) / (64 * 10)
        }],
    );
    println!(
        "P3 64 sessions in 64 threads {:.1} × raw single",
        times(raw, ours)
    );
}

/// A log of so many events.
fn filled(store: &Jsonl, name: &str, count: usize) -> SessionRef {
    let session = create(store, name);
    for start in (0..count).step_by(2000) {
        append(store, &session, events(start, 2000));
    }
    session
}

fn messages(events: &[Event]) -> usize {
    events.iter().filter(|e| e.kind == "message").count()
}

/// Full replay from the page cache, verified, messages counted; in time on one core.
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
    const EVENTS: usize = 200_000;
    let store = open(dir, "store", 0);
    let session = filled(&store, "s", EVENTS);
    let opened = block_on(Store::new(store.clone()).open(&session.id)).unwrap();
    let path = store.path().join("s/events.jsonl");
    let len = std::fs::metadata(&path).unwrap().len();
    let backend = || {
        let mut chunks = store.read(&session, SeqNum::all());
        let mut found = 0;
        while let Some(chunk) = block_on(chunks.next()) {
            found += messages(&chunk.unwrap());
        }
        found
    };
    let verified = || {
        let mut head = Head::genesis(&session.id, session.incarnation);
        let mut chunks = store.read(&session, SeqNum::all());
        let mut found = 0;
        while let Some(chunk) = block_on(chunks.next()) {
            let chunk = chunk.unwrap();
            for event in &chunk {
                head.verify(&session.id, event).unwrap();
            }
            found += messages(&chunk);
        }
        found
    };
    let core = || {
        let mut events = opened.read(SeqNum::all());
        let mut found = 0;
        while let Some(chunk) = block_on(events.next_chunk()) {
            found += messages(&chunk.unwrap());
        }
        found
    };
    let typed = || {
        let mut file = BufReader::with_capacity(256 << 10, File::open(&path).unwrap());
        let (mut line, mut found) = (String::new(), 0);
        file.read_line(&mut line).unwrap();
        loop {
            line.clear();
            if file.read_line(&mut line).unwrap() == 0 {
                break found;
            }
            let typed: Typed<'_> = serde_json::from_str(&line).unwrap();
            found += usize::from(typed.kind == "message");
        }
    };
    let all = |work: &dyn Fn() -> usize| on_core(|| assert_eq!(work(), EVENTS));
    let [backend, verified, core, typed] = in_turn(
        8,
        [
            &mut |_| all(&backend),
            &mut |_| all(&verified),
            &mut |_| all(&core),
            &mut |_| all(&typed),
        ],
    );
    println!(
        "P4 the backend alone         {:.2} GB/s",
        rate(len, backend)
    );
    println!(
        "P4 and verified              {:.2} GB/s",
        rate(len, verified)
    );
    println!(
        "P4 through the core          {:.2} GB/s, {:.1} × a typed reader with serde, {:.2} GB/s",
        rate(len, core),
        times(typed, core),
        rate(len, typed)
    );
}

/// The last 50 events of a long log and of a short one.
fn slices(dir: &Path) {
    let store = open(dir, "store", 0);
    let (short, long) = (
        filled(&store, "short", 10_000),
        filled(&store, "long", 200_000),
    );
    let last = |handle: &Jsonl, session: &SessionRef| {
        let (_, head) = block_on(store.head(&session.id)).unwrap();
        let range = head.tail.minus(50)..head.tail;
        timed(|| {
            let mut chunks = handle.read(session, range);
            let mut count = 0;
            while let Some(chunk) = block_on(chunks.next()) {
                count += chunk.unwrap().len();
            }
            assert_eq!(count, 50);
        })
    };
    let fresh = || Jsonl::open(store.path(), Options::default()).unwrap();
    let [short, long, short_fresh, long_fresh] = in_turn(
        200,
        [
            &mut |_| last(&store, &short),
            &mut |_| last(&store, &long),
            &mut |_| last(&fresh(), &short),
            &mut |_| last(&fresh(), &long),
        ],
    );
    println!(
        "P5 last 50 of a long log     {long:?}, {:.2} × a short one",
        times(long, short)
    );
    println!(
        "P5 with a fresh handle       {long_fresh:?}, {:.2} × a short one",
        times(long_fresh, short_fresh)
    );
}

/// Bytes on disk for each byte of payload.
fn bytes_on_disk(dir: &Path) {
    let store = open(dir, "store", 0);
    let session = create(&store, "s");
    let all = events(0, 1000);
    let payload: usize = all.iter().map(|event| event.data.len()).sum();
    for event in all {
        append(&store, &session, vec![event]);
    }
    let len = std::fs::metadata(store.path().join("s/events.jsonl"))
        .unwrap()
        .len();
    println!(
        "P9 bytes on disk             {:.3} a payload byte",
        len as f64 / payload as f64
    );
}
