//! Somebody takes over from a head that is long gone, in a slot that was used and collected: nobody
//! takes what is in it for the newest.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_timer::Delay;
use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture, Either};
use object_store::memory::InMemory;
use pollster::block_on;
use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_conformance::objects::{Counted, Fault, Op, Request, Slow, Watch, Wrapped};
use sessionlog_core::{AppendCondition, EventLog, Kind, NewEvent, SeqNum, SessionRef};

fn bucket(store: Arc<dyn object_store::ObjectStore>, collect_every: u64) -> Bucket {
    let mut options = Options::default();
    options.collect_every = collect_every;
    options.pause = Duration::ZERO;
    options.poll = Duration::from_millis(1);
    Bucket::new(store, "", options)
}

async fn append(bucket: &Bucket, session: &SessionRef) -> SeqNum {
    let new = NewEvent::json(Kind::from_static("note"), "1").unwrap();
    let condition = AppendCondition::NONE;
    let range = bucket.append(session, vec![new], condition).await;
    range.unwrap().end
}

/// A session, its writer, and somebody who saw its end before the last event came.
struct Scene {
    store: Arc<InMemory>,
    writer: Bucket,
    late: Bucket,
    session: SessionRef,
    tail: SeqNum,
}

impl Scene {
    async fn new() -> Self {
        let store = Arc::new(InMemory::new());
        let writer = bucket(Arc::clone(&store) as _, 1);
        let late = bucket(Arc::clone(&store) as _, 1_000);
        let session = SessionRef::fresh("s".parse().unwrap());
        writer.create(&session).await.unwrap();
        append(&writer, &session).await;
        late.head(&session.id).await.unwrap();
        let tail = append(&writer, &session).await;
        Self {
            store,
            writer,
            late,
            session,
            tail,
        }
    }
}

/// The writer goes on until the slot is collected, and it is used to take over.
async fn use_again(writer: &Bucket, late: &Bucket, session: &SessionRef) {
    for _ in 0..8 {
        append(writer, session).await;
    }
    append(late, session).await;
}

#[test]
fn a_head_that_is_another_than_was_listed_is_not_the_newest() {
    block_on(async {
        let scene = Scene::new().await;
        let (writer, late) = (scene.writer.clone(), scene.late.clone());
        let session = scene.session.clone();
        let waiting = AtomicBool::new(true);
        let slow = Slow::new(Arc::clone(&scene.store) as _, move |request| {
            let head = request.op == Op::Get && request.key.contains("/h/");
            if head && waiting.swap(false, Ordering::Relaxed) {
                block_on(use_again(&writer, &late, &session));
            }
            Duration::ZERO
        });
        let reader = bucket(Arc::new(slow), 1);
        let (_, end) = reader.head(&scene.session.id).await.unwrap();
        assert!(end.tail > scene.tail, "{} {}", end.tail, scene.tail);
    });
}

#[test]
fn whoever_follows_looks_for_newer_heads_where_somebody_took_over() {
    block_on(async {
        let scene = Scene::new().await;
        let counted = Counted::new(Arc::clone(&scene.store) as _);
        let follower = bucket(Arc::new(counted.clone()), 1);
        let (_, end) = follower.head(&scene.session.id).await.unwrap();
        let late = bucket(Arc::clone(&scene.store) as _, 1_000);
        late.head(&scene.session.id).await.unwrap();
        append(&scene.writer, &scene.session).await;
        use_again(&scene.writer, &late, &scene.session).await;
        let before = counted.counts();
        follower.changed(&scene.session, end.tail).await.unwrap();
        let after = counted.counts();
        assert_eq!(after.gets - before.gets, 2);
        assert_eq!(after.list_pages - before.list_pages, 1);
    });
}

/// From some time on no answer comes.
struct Mute(Arc<AtomicBool>);

impl Watch for Mute {
    fn request<'a>(&'a self, _request: &'a Request) -> BoxFuture<'a, Fault> {
        future::ready(Fault::None).boxed()
    }

    fn answer(&self) -> BoxFuture<'_, ()> {
        match self.0.load(Ordering::Relaxed) {
            true => future::pending().boxed(),
            false => future::ready(()).boxed(),
        }
    }
}

#[test]
fn an_empty_slot_says_nothing_while_a_head_is_sent_to_it() {
    block_on(async {
        let store = Arc::new(InMemory::new());
        let mute = Arc::new(AtomicBool::new(false));
        let slow = Wrapped::around(Arc::clone(&store) as _, Mute(Arc::clone(&mute)));
        let (slow, other) = (
            bucket(Arc::new(slow), 1),
            bucket(Arc::clone(&store) as _, 1),
        );
        let session = SessionRef::fresh("s".parse().unwrap());
        slow.create(&session).await.unwrap();
        append(&slow, &session).await;
        mute.store(true, Ordering::Relaxed);
        let waiting = pin!(append(&slow, &session));
        let while_it_waits = Delay::new(Duration::from_millis(50));
        let over = future::select(waiting, while_it_waits).await;
        assert!(matches!(over, Either::Right(_)));
        mute.store(false, Ordering::Relaxed);
        // It was written all the same. Another one takes over, and collects it.
        let mut tail = SeqNum::ZERO;
        for _ in 0..8 {
            tail = append(&other, &session).await;
        }
        assert_eq!(tail, SeqNum::new(10));
        let (_, end) = slow.head(&session.id).await.unwrap();
        assert_eq!(end.tail, tail);
    });
}
