//! What the calls of an application cost, through `Store`, `Session` and `Writer`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use object_store::memory::InMemory;
use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_conformance::objects::{Counted, Counts, Slow};
use sessionlog_core::transcript::{Transcript, kinds};
use sessionlog_core::{Card, ErrorKind, LeaseRequest, NewEvent, Owner, SessionId, Store};

const S: &str = "s";

struct Cloud(Counted);

impl Cloud {
    fn new() -> Self {
        Self(Counted::new(Arc::new(InMemory::new())))
    }

    /// A process that knows nothing yet.
    fn open(&self) -> Store {
        let options = Options::default();
        Store::new(Bucket::new(Arc::new(self.0.clone()), "p", options))
    }

    /// Puts, gets, lists and deletes of a future.
    async fn cost<T>(&self, run: impl Future<Output = T>) -> (T, [u64; 4]) {
        let before = self.0.counts();
        let done = run.await;
        (done, all(&self.0.counts().since(&before)))
    }

    /// A session with a snapshot of its transcript and its card at its end.
    async fn written(&self) {
        let session = self.open().create(id()).await.unwrap();
        let mut woken = session.wake(request()).await.unwrap();
        woken.append(vec![prompt()]).await.unwrap();
        woken.snapshot().await.unwrap();
        woken.release().await.unwrap();
    }
}

fn all(counts: &Counts) -> [u64; 4] {
    let deletes = counts.deletes + counts.bulk_deletes;
    let gets = counts.gets + counts.heads;
    [counts.puts, gets, counts.list_pages, deletes]
}

fn id() -> SessionId {
    S.parse().unwrap()
}

fn request() -> LeaseRequest {
    LeaseRequest::new(Owner::new("me").unwrap())
}

fn prompt() -> NewEvent {
    let prompt = r#"{"role":"user","message":{"role":"user","content":"hi"}}"#;
    NewEvent::json(kinds::MESSAGE, prompt).unwrap()
}

#[test]
fn a_reader_resumes_with_three_requests() {
    pollster::block_on(async {
        let cloud = Cloud::new();
        cloud.written().await;

        let (resumed, cost) = cloud
            .cost(async { cloud.open().project::<Card>(&id()).await })
            .await;
        assert_eq!(cost, [0, 2, 1, 0], "a list, the head, the snapshot");
        assert_eq!(resumed.unwrap().1.folded, 0);

        let (cards, cost) = cloud.cost(async { cloud.open().cards().await }).await;
        assert_eq!(
            cost,
            [0, 2, 3, 0],
            "two lists; the card and the head of each"
        );
        assert_eq!(cards.unwrap().len(), 1);

        let reader = cloud.open();
        let (session, cost) = cloud.cost(reader.open(&id())).await;
        assert_eq!(cost, [0, 1, 1, 0], "open");
        let session = session.unwrap();
        let (card, cost) = cloud.cost(session.project::<Card>()).await;
        assert_eq!(cost, [0, 1, 1, 0], "a new look, and the snapshot beside it");
        assert_eq!(card.unwrap().folded, 0);

        // What was acknowledged in between is seen.
        let other = cloud.open().open(&id()).await.unwrap();
        other.append(vec![prompt()]).await.unwrap();
        let (card, cost) = cloud.cost(session.project::<Card>()).await;
        assert_eq!((card.unwrap().state.events, cost), (2, [0, 2, 1, 0]));
        let (events, cost) = cloud
            .cost(session.read(sessionlog_core::SeqNum::all()).collect())
            .await;
        assert_eq!((events.unwrap().len(), cost), (2, [0, 0, 1, 0]), "read");
        let last = async { session.last(1).await.unwrap().collect().await };
        let (events, cost) = cloud.cost(last).await;
        assert_eq!((events.unwrap().len(), cost), (1, [0, 0, 1, 0]), "the last");
    });
}

#[test]
fn a_writer_takes_over_with_four_and_wakes_with_one_more() {
    pollster::block_on(async {
        let cloud = Cloud::new();
        cloud.written().await;

        let take = async {
            let session = cloud.open().open(&id()).await.unwrap();
            session.acquire(request()).await.unwrap()
        };
        let (writer, cost) = cloud.cost(take).await;
        assert_eq!(cost, [1, 1, 2, 0], "open and acquire");
        assert_eq!(writer.tail_at_grant().get(), 1);
        let (_, cost) = cloud.cost(writer.release()).await;
        assert_eq!(cost, [1, 0, 0, 0], "release");

        let wake = async {
            let session = cloud.open().open(&id()).await.unwrap();
            session.wake(request()).await.unwrap()
        };
        let (mut woken, cost) = cloud.cost(wake).await;
        assert_eq!(
            cost,
            [1, 2, 2, 0],
            "open and wake: the snapshot beside the grant"
        );
        assert_eq!(woken.projected().folded, 0);
        assert!(woken.interrupted().unanswered);

        // Before the first append, its handle reads the events that are in no chunk.
        let (_, cost) = cloud.cost(woken.append(vec![prompt()])).await;
        assert_eq!(cost, [1, 2, 0, 0], "append, and a look back");
        let (_, cost) = cloud.cost(woken.append(vec![prompt()])).await;
        assert_eq!(cost, [1, 1, 0, 0], "append, and a look back");
        let (_, cost) = cloud.cost(woken.snapshot()).await;
        assert_eq!(cost, [1, 3, 0, 0], "a snapshot under a lease");
        woken.release().await.unwrap();
        let projected = cloud.open().project::<Transcript>(&id()).await.unwrap().1;
        assert_eq!((projected.head.tail.get(), projected.folded), (3, 0));
    });
}

/// Another handle takes the lease while the snapshot is on its way.
#[test]
fn a_snapshot_that_a_new_lease_overtakes_is_refused_and_taken_back() {
    pollster::block_on(async {
        let cloud = Cloud::new();
        cloud.written().await;
        let thief = cloud.open();
        let taken = AtomicBool::new(false);
        let slow = Slow::new(Arc::new(cloud.0.clone()), move |r| {
            let saves = r.op.changes() && r.key.contains("/p/");
            if saves && !taken.swap(true, Ordering::Relaxed) {
                pollster::block_on(async {
                    let session = thief.open(&id()).await.unwrap();
                    drop(session.acquire(request().forced()).await.unwrap());
                });
            }
            Duration::ZERO
        });
        let late = Store::new(Bucket::new(Arc::new(slow), "p", Options::default()));
        let session = late.open(&id()).await.unwrap();
        let writer = session.acquire(request()).await.unwrap();
        writer.append_one(prompt()).await.unwrap();
        let refused = writer.save_card().await.unwrap_err();
        assert!(
            matches!(refused.kind(), ErrorKind::Fenced { .. }),
            "{refused}"
        );
        let card = session.project::<Card>().await.unwrap();
        assert_eq!(card.folded, 1, "the card from before is still there");
    });
}

#[test]
fn the_newest_of_thousands_are_one_page() {
    pollster::block_on(async {
        let cloud = Cloud::new();
        let store = cloud.open();
        for n in 0..2_400 {
            store
                .create(format!("s{n}").parse().unwrap())
                .await
                .unwrap();
        }
        // Markers are named by the millisecond.
        std::thread::sleep(Duration::from_millis(2));
        store.create(id()).await.unwrap();

        let (sorted, cost) = cloud.cost(store.backend().newest(20)).await;
        assert_eq!(cost, [0, 0, 3, 0], "a store that may list in any order");
        let mut options = Options::default();
        options.lists_in_order = Some(true);
        let ordered = Store::new(Bucket::new(Arc::new(cloud.0.clone()), "p", options));
        let (newest, cost) = cloud.cost(ordered.backend().newest(20)).await;
        let newest = newest.unwrap().unwrap();
        assert_eq!((newest.len(), cost), (20, [0, 0, 1, 0]));
        assert_eq!(newest.first(), Some(&id()));
        assert_eq!(sorted.unwrap().unwrap(), newest);
        let (more, cost) = cloud.cost(ordered.backend().newest(1_001)).await;
        assert_eq!((more.unwrap().unwrap().len(), cost), (1_001, [0, 0, 2, 0]));

        let (cards, cost) = cloud.cost(ordered.newest(20)).await;
        // That a session is there which nothing was written to, its marker says.
        assert_eq!(cost, [0, 60, 21, 0], "a head, a marker and a card for each");
        let ids = cards.unwrap().into_iter().map(|listed| listed.id);
        assert_eq!(ids.collect::<Vec<_>>(), newest);
    });
}
