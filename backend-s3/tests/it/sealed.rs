//! How events gather in chunks.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::TryStreamExt;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_conformance::objects::{Fault, Faulty, Op};
use sessionlog_core::{AppendCondition, EventLog, Kind, NewEvent, SeqNum, SessionRef};

/// What is sealed at 100 bytes: an event of 500 goes into a chunk of its own at once.
fn open(store: Arc<dyn ObjectStore>) -> Bucket {
    let mut options = Options::default();
    options.seal_bytes = 100;
    Bucket::new(store, "", options)
}

/// How many chunks a reader that knows nothing reads for all events, and how many events these are.
async fn read(store: &Arc<InMemory>, session: &SessionRef) -> (usize, usize) {
    let chunks = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&chunks);
    let counted = Faulty::new(Arc::clone(store) as _, move |request| {
        if request.op == Op::Get && request.key.contains("/c/") {
            seen.lock().unwrap().insert(request.key.clone());
        }
        Fault::None
    });
    let reader = open(Arc::new(counted));
    let all: Vec<Vec<_>> = reader
        .read(session, SeqNum::all())
        .try_collect()
        .await
        .unwrap();
    let chunks = chunks.lock().unwrap().len();
    (chunks, all.concat().len())
}

/// Text of 500 bytes that compresses as well as any other of it.
fn text(seed: usize) -> String {
    let mut state = seed as u64;
    let mut letter = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let [top, ..] = state.to_be_bytes();
        char::from(b'a' + top % 26)
    };
    (0..500).map(|_| letter()).collect()
}

async fn append(bucket: &Bucket, session: &SessionRef, text: &str) {
    let new = NewEvent::json(Kind::from_static("note"), format!("\"{text}\"")).unwrap();
    let condition = AppendCondition::NONE;
    bucket.append(session, vec![new], condition).await.unwrap();
}

/// Eight chunks of a size become one of the next size, so a log has as many as the digits of its length
/// have together, to the base of eight; and each event is written once, and once for each size.
#[test]
fn chunks_of_a_size_become_one_of_the_next() {
    pollster::block_on(async {
        let store = Arc::new(InMemory::new());
        let sent = Arc::new(AtomicU64::new(0));
        let counts = Arc::clone(&sent);
        let counted = Faulty::new(Arc::clone(&store) as _, move |request| {
            if request.key.contains("/c/") {
                counts.fetch_add(request.sent, Ordering::Relaxed);
            }
            Fault::None
        });
        let bucket = open(Arc::new(counted));
        let session = SessionRef::fresh("s".parse().unwrap());
        bucket.create(&session).await.unwrap();
        let mut one = 0;
        for n in 1..=140_usize {
            append(&bucket, &session, &text(n)).await;
            let digits = n / 64 + n / 8 % 8 + n % 8;
            assert_eq!(read(&store, &session).await, (digits, n), "{n} events");
            let sent = sent.load(Ordering::Relaxed);
            if n == 1 {
                one = sent;
            }
            assert!(sent <= 3 * one * n as u64, "{sent} bytes for {n} events");
        }
        for n in 141..=512 {
            append(&bucket, &session, &text(n)).await;
        }
        // The largest stay as they are.
        assert_eq!(read(&store, &session).await, (8, 512));
    });
}

/// Two of the largest become none that is larger than a chunk may be.
#[test]
fn a_compaction_makes_no_chunk_that_is_too_large() {
    pollster::block_on(async {
        let store = Arc::new(InMemory::new());
        let bucket = open(Arc::clone(&store) as _);
        let session = SessionRef::fresh("s".parse().unwrap());
        bucket.create(&session).await.unwrap();
        for n in 1..=140 {
            append(&bucket, &session, &text(n)).await;
        }
        for _ in 0..2 {
            bucket.compact(&session.id).await.unwrap();
            assert_eq!(read(&store, &session).await, (2, 140));
        }
    });
}
