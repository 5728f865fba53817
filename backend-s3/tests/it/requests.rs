//! What each operation costs: requests, counted exactly.

use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt};
use object_store::memory::InMemory;
use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_conformance::objects::{Counted, Counts};
use sessionlog_core::{
    AppendCondition, Backend, EventLog, Kind, LeaseRequest, LeaseStore, NewEvent, Owner, SeqNum,
    SessionRef, Snapshot, SnapshotStore,
};

struct Scene {
    store: Counted,
    bucket: Bucket,
    session: SessionRef,
}

const NOTE: Kind = Kind::from_static("note");

fn event(len: usize) -> NewEvent {
    let id = sessionlog_core::EventId::generate();
    let text: String = (0..)
        .map(|n| format!("{id} {n} "))
        .take(len / 38 + 1)
        .collect();
    NewEvent::json(NOTE, format!("\"{}\"", &text[..len.max(2) - 2])).unwrap()
}

fn request() -> LeaseRequest {
    LeaseRequest::new(Owner::new("me").unwrap())
}

async fn scene() -> Scene {
    let store = Counted::new(Arc::new(InMemory::new()));
    let bucket = open(&store);
    let session = SessionRef::fresh("s".parse().unwrap());
    bucket.create(&session).await.unwrap();
    Scene {
        store,
        bucket,
        session,
    }
}

fn open(store: &Counted) -> Bucket {
    Bucket::new(Arc::new(store.clone()), "p", Options::default())
}

impl Scene {
    async fn append(&self, bucket: &Bucket, len: usize) {
        let condition = AppendCondition::NONE;
        let events = vec![event(len)];
        bucket
            .append(&self.session, events, condition)
            .await
            .unwrap();
    }

    /// The requests of a future.
    async fn cost<T>(&self, run: impl Future<Output = T>) -> (T, Counts) {
        let before = self.store.counts();
        let done = run.await;
        (done, self.store.counts().since(&before))
    }
}

fn all(counts: &Counts) -> [u64; 4] {
    let deletes = counts.deletes + counts.bulk_deletes;
    [
        counts.puts,
        counts.gets + counts.heads,
        counts.list_pages,
        deletes,
    ]
}

#[test]
fn create_two_append_one() {
    pollster::block_on(async {
        let s = scene().await;
        assert_eq!(all(&s.store.counts()), [2, 0, 0, 0], "create");
        let (_, cost) = s.cost(s.append(&s.bucket, 1000)).await;
        assert_eq!(all(&cost), [1, 0, 0, 0], "append");
        let (_, cost) = s.cost(s.bucket.acquire(&s.session, request())).await;
        assert_eq!(all(&cost), [1, 0, 0, 0], "a grant where this handle writes");
        let (_, cost) = s.cost(s.append(&s.bucket, 1000)).await;
        assert_eq!(all(&cost), [1, 0, 0, 0], "append behind a grant");
        let appends = (0..64).map(|_| s.append(&s.bucket, 100));
        let (_, cost) = s.cost(futures_util::future::join_all(appends)).await;
        assert_eq!(
            all(&cost),
            [1, 0, 0, 0],
            "64 appends that wait for each other"
        );
    });
}

#[test]
fn resume_three_take_over_four() {
    pollster::block_on(async {
        let s = scene().await;
        s.append(&s.bucket, 1000).await;

        let reader = open(&s.store);
        let read = async {
            let (session, _) = reader.head(&s.session.id).await.unwrap();
            let chunks = reader.read(&session, SeqNum::all());
            chunks.try_collect::<Vec<_>>().await.unwrap()
        };
        let (log, cost) = s.cost(read).await;
        assert_eq!(
            (log.concat().len(), all(&cost)),
            (1, [0, 1, 2, 0]),
            "head and log"
        );

        let (_, end) = reader.head(&s.session.id).await.unwrap();
        let snapshot = Snapshot {
            projection: NOTE,
            version: 1,
            covers: end.tail,
            log: end.sum,
            state: "state".into(),
        };
        let save = s.bucket.save(&s.session, snapshot, None);
        let (_, cost) = s.cost(save).await;
        assert_eq!(all(&cost), [1, 3, 0, 0], "a snapshot of this handle");
        let reader = open(&s.store);
        let note = NOTE;
        let latest = reader.latest(&s.session, &note, 1, SeqNum::MAX);
        let (found, cost) = s.cost(latest).await;
        assert!(found.unwrap().is_some());
        assert_eq!(all(&cost), [0, 2, 1, 0], "resume from a snapshot");

        let other = open(&s.store);
        let (lease, cost) = s.cost(other.acquire(&s.session, request())).await;
        assert_eq!(all(&cost), [1, 1, 2, 0], "take over");
        let (_, cost) = s.cost(s.append(&other, 1000)).await;
        assert_eq!(all(&cost), [1, 0, 0, 0], "the first append behind it");

        // The one that was fenced learns it from its first put.
        let token = lease.unwrap().token;
        let late = sessionlog_core::FencingToken::new(token.get() - 1);
        let stale = s
            .bucket
            .append(&s.session, vec![event(10)], AppendCondition::with(late));
        let (refused, _) = s.cost(stale).await;
        assert!(refused.is_err());
    });
}

#[test]
fn delete_six_poll_one() {
    pollster::block_on(async {
        let s = scene().await;
        s.append(&s.bucket, 1000).await;
        let other = open(&s.store);
        let deleted = async {
            other.head(&s.session.id).await.unwrap();
            other.delete(&s.session, None).await
        };
        let (done, cost) = s.cost(deleted).await;
        done.unwrap();
        assert_eq!(all(&cost), [2, 1, 2, 1], "open and delete");

        let s = scene().await;
        s.append(&s.bucket, 10).await;
        let (_, end) = s.bucket.head(&s.session.id).await.unwrap();
        // A look is a request, and then the follower sleeps.
        let mut wait = s.bucket.changed(&s.session, end.tail);
        let look = async { futures_util::poll!(&mut wait).is_pending() };
        let (waits, cost) = s.cost(look).await;
        assert!(waits);
        assert_eq!(all(&cost), [0, 1, 0, 0], "a look for more");
    });
}

#[test]
fn a_list_of_thousands_is_one_request_a_thousand() {
    pollster::block_on(async {
        let s = scene().await;
        for n in 0..2_400 {
            let session = SessionRef::fresh(format!("s{n}").parse().unwrap());
            s.bucket.create(&session).await.unwrap();
        }
        let listed = s.bucket.sessions().collect::<Vec<_>>();
        let (ids, cost) = s.cost(listed).await;
        assert_eq!((ids.len(), all(&cost)), (2_401, [0, 0, 3, 0]));
    });
}

#[test]
fn a_long_session_is_few_objects_and_few_bytes() {
    pollster::block_on(async {
        const APPENDS: u64 = 960;
        let s = scene().await;
        let before = s.store.counts();
        let mut payload = 0;
        for _ in 0..APPENDS {
            let text = format!(
                "{{\"role\":\"assistant\",\"text\":\"{}\"}}",
                "so it goes ".repeat(90)
            );
            payload += text.len();
            let new = vec![NewEvent::json(NOTE, text).unwrap()];
            let condition = AppendCondition::NONE;
            s.bucket.append(&s.session, new, condition).await.unwrap();
        }
        let cost = s.store.counts().since(&before);
        let requests = cost.requests();
        assert!(
            requests < APPENDS * 11 / 10,
            "{requests} requests: {cost:?}"
        );
        let each = cost.bytes_sent / APPENDS;
        assert!(each < 40 << 10, "{each} bytes an append");

        s.bucket.compact(&s.session.id).await.unwrap();
        let (_, end) = s.bucket.head(&s.session.id).await.unwrap();
        assert_eq!(end.tail.get(), APPENDS);
        let found = sessionlog_core::Upkeep::verify(&s.bucket, &s.session.id)
            .await
            .unwrap();
        assert_eq!(found, vec![]);
        let listed: Vec<_> = object_store::ObjectStore::list(&s.store, None)
            .try_collect()
            .await
            .unwrap();
        let chunks = listed
            .iter()
            .filter(|o| o.location.as_ref().contains("/c/"));
        let sealed = chunks.map(|o| o.size).max().unwrap();
        let share = 100 * usize::try_from(sealed).unwrap() / payload;
        assert!(share <= 30, "{share} % of the payload");
    });
}

/// A tenth of 100 MB, with everything else a tenth as well.
#[test]
fn a_session_of_100_mb_is_at_most_40_objects() {
    pollster::block_on(async {
        let store = Arc::new(InMemory::new());
        let mut options = Options::default();
        options.seal_bytes /= 10;
        options.reader_grace = std::time::Duration::ZERO;
        let bucket = Bucket::new(Arc::clone(&store) as _, "", options);
        let session = SessionRef::fresh("s".parse().unwrap());
        bucket.create(&session).await.unwrap();
        for _ in 0..5_000 {
            let new = vec![event(2_000)];
            bucket
                .append(&session, new, AppendCondition::NONE)
                .await
                .unwrap();
        }
        let listed = || async {
            let all = object_store::ObjectStore::list(&*store, None);
            let all: Vec<_> = all.try_collect().await.unwrap();
            let heads = all.iter().filter(|o| o.location.as_ref().contains("/h/"));
            (heads.count(), all.len())
        };
        let (heads, all) = listed().await;
        assert!(heads <= 67, "{heads} heads, which go all 64 appends");
        let rest = all - heads;
        assert!(rest <= 37, "{rest} objects and at most 3 heads");
        bucket.compact(&session.id).await.unwrap();
        let (_, all) = listed().await;
        assert!(all <= 12, "{all} objects behind a compaction");
        println!("{rest} objects and {heads} heads; {all} objects behind a compaction");
    });
}

/// What waits for a slow put joins the next: the number of puts does not grow with the tasks.
#[test]
fn sixty_four_tasks_share_slow_puts() {
    const ROUNDS: u64 = 20;
    let scene = pollster::block_on(scene());
    let slow = sessionlog_conformance::objects::Slow::new(Arc::new(scene.store.clone()), |r| {
        std::time::Duration::from_millis(if r.op.changes() { 30 } else { 10 })
    });
    let bucket = Bucket::new(Arc::new(slow), "p", Options::default());
    let before = scene.store.counts();
    let begun = std::time::Instant::now();
    let task = |_| async {
        for _ in 0..ROUNDS {
            scene.append(&bucket, 100).await;
        }
    };
    pollster::block_on(futures_util::future::join_all((0..64).map(task)));
    let cost = scene.store.counts().since(&before);
    let rate = 64.0 * 20.0 / begun.elapsed().as_secs_f64();
    println!("{rate:.0} events a second, {cost:?}");
    assert!(cost.puts <= 2 * ROUNDS + 8, "{cost:?}");
}

#[test]
fn any_backend_takes_it() {
    fn is_backend<T: Backend>() {}
    is_backend::<Bucket>();
}
