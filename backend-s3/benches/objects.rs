//! Requests, bytes and round trips, which are numbers that don't depend on the machine; and what a
//! store with slow requests gives.
//!
//! ```text
//! cargo bench -p sessionlog-backend-s3 --bench objects [-- requests speed sessions memory]
//! ```

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a program that prints figures and may end at anything unexpected"
)]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use pollster::block_on;
use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_conformance::objects::{Counted, Counts, Slow};
use sessionlog_core::{
    LeaseRequest, NewEvent, Owner, SeqNum, Session, SessionId, Store, transcript::kinds,
};

/// How long every request takes where round trips are counted: long against what is computed.
const TRIP: Duration = Duration::from_millis(100);
/// How long a put takes where speed is measured.
const PUT: Duration = Duration::from_millis(30);

/// Amazon S3 Standard in us-east-1 as of September 2026: dollars for a million requests.
const WRITE: f64 = 5.0;
const READ: f64 = 0.4;

fn main() {
    let parts: [(&str, fn()); 4] = [
        ("requests", requests),
        ("speed", speed),
        ("sessions", sessions),
        ("memory", memory),
    ];
    let named: Vec<String> = std::env::args().collect();
    let all = !parts
        .iter()
        .any(|(name, _)| named.iter().any(|n| n == name));
    for (name, measure) in parts {
        if all || named.iter().any(|n| n == name) {
            measure();
        }
    }
}

/// A store in memory, each client of which is a new process as far as a backend can tell.
#[derive(Clone, Default)]
struct Cloud(Arc<InMemory>);

impl Cloud {
    fn open(&self) -> Store {
        client(self.0.clone())
    }

    /// Does something with a client that has seen nothing yet; gives the requests and how many of
    /// them waited for another.
    fn cost<T>(&self, work: impl AsyncFn(Store) -> T) -> (Counts, u128, T) {
        let counted = Arc::new(Counted::new(self.0.clone()));
        let slow = Arc::new(Slow::new(counted.clone(), |_| TRIP));
        let start = Instant::now();
        let done = block_on(work(client(slow)));
        let trips = start.elapsed().as_millis() / TRIP.as_millis();
        (counted.counts(), trips, done)
    }

    fn row<T>(&self, name: &str, work: impl AsyncFn(Store) -> T) -> T {
        let (counts, trips, done) = self.cost(work);
        row(name, &counts, 1, &trips.to_string());
        done
    }
}

fn client(store: Arc<dyn ObjectStore>) -> Store {
    Store::new(Bucket::new(store, "sessions", Options::default()))
}

fn row(name: &str, counts: &Counts, times: u64, trips: &str) {
    let per = |n: u64| n as f64 / times as f64;
    let writes = per(counts.puts + counts.list_pages);
    let reads = per(counts.gets + counts.heads);
    let deletes = per(counts.deletes + counts.bulk_deletes);
    println!(
        "| {name} | {} | {} | {} | {} | {trips} | {} | ${:.2} |",
        number(per(counts.puts)),
        number(per(counts.list_pages)),
        number(reads),
        number(deletes),
        counts.bytes_sent / times,
        writes * WRITE + reads * READ,
    );
}

fn number(n: f64) -> String {
    match n.fract() == 0.0 {
        true => format!("{n}"),
        false => format!("{n:.2}"),
    }
}

fn requests() {
    println!(
        "Requests of each operation by a process that knows nothing yet; dollars for a million of \
         them, S3 Standard, September 2026 (put, list ${WRITE}, get ${READ}, delete free)\n"
    );
    println!("| operation | put | list | get | delete | round trips | bytes sent | $ |");
    println!("|---|---|---|---|---|---|---|---|");
    let cloud = Cloud::default();
    cloud.row("create a session", async |store| {
        store.create(id("small")).await.unwrap();
    });
    appends(&cloud);
    woken_appends();
    cloud.row("append to a session that was not open", async |store| {
        let small = store.open(&id("small")).await.unwrap();
        small.append(vec![event(1024)]).await.unwrap();
    });
    cloud.row("read a small session", async |store| {
        read(&store, "small").await;
    });
    cloud.row("read a session of 1.5 MB", async |store| {
        read(&store, "large").await;
    });
    cloud.row("take a session over", async |store| {
        let small = store.open(&id("small")).await.unwrap();
        drop(small.acquire(lease().forced()).await.unwrap());
    });
    cloud.row("wake a small session", async |store| {
        let small = store.open(&id("small")).await.unwrap();
        let mut woken = small.wake(lease().forced()).await.unwrap();
        woken.snapshot().await.unwrap();
    });
    cloud.row("wake it from its snapshot", async |store| {
        let small = store.open(&id("small")).await.unwrap();
        drop(small.wake(lease().forced()).await.unwrap());
    });
    cloud.row("delete a session", async |store| {
        store.delete(&id("large")).await.unwrap();
    });
    let many = Cloud::default();
    block_on(async {
        let store = many.open();
        for n in 0..2_500 {
            store.create(id(&format!("s{n}"))).await.unwrap();
        }
    });
    many.row("list 2,500 sessions", async |store| {
        assert_eq!(store.ids().await.unwrap().len(), 2_500);
    });
}

/// Many appends to one session, of which one is the average.
fn appends(cloud: &Cloud) {
    const APPENDS: u64 = 960;
    let counted = Arc::new(Counted::new(cloud.0.clone()));
    let store = client(counted.clone());
    let counts = block_on(async {
        let large = store.create(id("large")).await.unwrap();
        let before = counted.counts();
        for _ in 0..APPENDS {
            large.append(vec![event(1536)]).await.unwrap();
        }
        counted.counts().since(&before)
    });
    row(
        "append 1.5 KB, on the average of 960",
        &counts,
        APPENDS,
        "1",
    );
}

/// Appends that are folded into the transcript at once.
fn woken_appends() {
    const APPENDS: u64 = 200;
    let counted = Arc::new(Counted::new(Arc::new(InMemory::new())));
    let store = client(counted.clone());
    let counts = block_on(async {
        let session = store.create(id("s")).await.unwrap();
        let mut woken = session.wake(lease()).await.unwrap();
        let before = counted.counts();
        for _ in 0..APPENDS {
            woken.append(vec![event(1024)]).await.unwrap();
        }
        counted.counts().since(&before)
    });
    row(
        "append through a woken session, of 200",
        &counts,
        APPENDS,
        "",
    );
}

/// 64 tasks on one session, each with some appends outstanding.
fn speed() {
    const TASKS: u64 = 64;
    const EACH: u64 = 32;
    println!("\nOne session, {} ms a put:", PUT.as_millis());
    let counted = Arc::new(Counted::new(Arc::new(InMemory::new())));
    let slow = Arc::new(Slow::new(counted.clone(), |request| {
        if request.op.changes() {
            PUT
        } else {
            Duration::ZERO
        }
    }));
    let store = client(slow);
    let session = block_on(store.create(id("s"))).unwrap();
    let measure = |name: &str, events: u64, work: &dyn Fn()| {
        let before = counted.counts();
        let rate = rate(events, work);
        let puts = counted.counts().since(&before).puts;
        println!("  {name}: {rate:.0} events/s, {} a put", events / puts);
    };
    measure("1 task, one append after the other", 16, &|| {
        block_on(async {
            for _ in 0..16 {
                session.append(vec![event(1024)]).await.unwrap();
            }
        });
    });
    let name = "64 tasks, one append after the other each";
    measure(name, TASKS * EACH, &|| {
        block_on(join_all((0..TASKS).map(|_| async {
            for _ in 0..EACH {
                session.append(vec![event(1024)]).await.unwrap();
            }
        })));
    });
    let name = "64 tasks, 4 appends outstanding each";
    measure(name, TASKS * EACH, &|| {
        block_on(join_all((0..TASKS * 4).map(|_| async {
            for _ in 0..EACH / 4 {
                session.append(vec![event(1024)]).await.unwrap();
            }
        })));
    });
}

fn rate(events: u64, work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    events as f64 / start.elapsed().as_secs_f64()
}

/// A thousand sessions at once, driven by one thread.
fn sessions() {
    const SESSIONS: u64 = 1_000;
    const EACH: u64 = 5;
    let slow = Arc::new(Slow::new(Arc::new(InMemory::new()), |request| {
        if request.op.changes() {
            PUT
        } else {
            Duration::ZERO
        }
    }));
    let store = client(slow);
    let start = Instant::now();
    block_on(join_all((0..SESSIONS).map(|n| {
        let store = &store;
        async move {
            let session = store.create(id(&format!("s{n}"))).await.unwrap();
            for _ in 0..EACH {
                session.append(vec![event(1024)]).await.unwrap();
            }
        }
    })));
    let least = PUT * 6;
    println!(
        "\n{SESSIONS} sessions created and appended to {EACH} times, all at once on one thread: \
         {:.2} s, {:.1} x the {} ms that one of them waits for its puts",
        start.elapsed().as_secs_f64(),
        start.elapsed().as_secs_f64() / least.as_secs_f64(),
        least.as_millis(),
    );
}

/// What an open session holds while nothing happens, in a process that does nothing else: one that
/// was read, and one that has written.
fn memory() {
    const SESSIONS: usize = 2_000;
    if let Some(folder) = std::env::var_os(CHILD) {
        let store = files(Path::new(&folder));
        let measure = |what: &str, open: Vec<Session>, before: usize| {
            let bytes = resident().saturating_sub(before) / open.len();
            println!(
                "An open idle session {what}, of {}: {bytes} bytes of memory",
                open.len()
            );
        };
        println!();
        let before = resident();
        let read = block_on(open(&store, 0..SESSIONS / 2));
        measure("that was read", read, before);
        let before = resident();
        let written = block_on(write(&store, SESSIONS / 2..SESSIONS));
        measure("that wrote 60 KiB last", written, before);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let store = files(folder.path());
        for n in 0..SESSIONS {
            let session = store.create(id(&format!("s{n}"))).await.unwrap();
            session.append(vec![event(1024)]).await.unwrap();
        }
    });
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program);
    child.arg("memory").env(CHILD, folder.path());
    assert!(child.status().unwrap().success());
}

/// The folder of a child, which measures.
const CHILD: &str = "SESSIONLOG_BENCH_CHILD";

/// A store in a folder, so that its objects are not in the memory that is measured.
fn files(folder: &Path) -> Store {
    client(Arc::new(LocalFileSystem::new_with_prefix(folder).unwrap()))
}

async fn open(store: &Store, numbers: std::ops::Range<usize>) -> Vec<Session> {
    let mut open = Vec::new();
    for n in numbers {
        let session = store.open(&id(&format!("s{n}"))).await.unwrap();
        read_all(&session).await;
        open.push(session);
    }
    open
}

/// Opens sessions, and appends 60 events of 1 KiB to each, one after the other.
async fn write(store: &Store, numbers: std::ops::Range<usize>) -> Vec<Session> {
    let mut open = Vec::new();
    for n in numbers {
        let session = store.open(&id(&format!("s{n}"))).await.unwrap();
        for _ in 0..60 {
            session.append(vec![event(1024)]).await.unwrap();
        }
        open.push(session);
    }
    open
}

/// Bytes of memory of this process.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or_default() * 4096
}

async fn read(store: &Store, name: &str) {
    read_all(&store.open(&id(name)).await.unwrap()).await;
}

async fn read_all(session: &Session) {
    let mut events = session.read(SeqNum::all());
    while let Some(chunk) = events.next_chunk().await {
        chunk.unwrap();
    }
}

fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

fn lease() -> LeaseRequest {
    LeaseRequest::new(Owner::new("bench").unwrap())
}

/// A message of so many bytes, as agents write them.
fn event(len: usize) -> NewEvent {
    let mut data = "{\"role\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"".to_owned();
    while data.len() + 3 < len {
        data.push_str("the quick brown fox jumps over the lazy dog; ");
    }
    data.truncate(len - 3);
    data.push_str("\"}}");
    NewEvent::json(kinds::MESSAGE, data).unwrap()
}
