//! A session is verified while others write to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use pollster::block_on;
use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_conformance::objects::{Op, Request, Slow};
use sessionlog_core::{
    AppendCondition, EventLog, Finding, Kind, LeaseRequest, LeaseStore, NewEvent, Owner,
    SessionRef, Upkeep,
};

/// Events are in chunks, or all in heads.
const SMALL: usize = 256;
const LARGE: usize = 1 << 20;

/// Chunks are merged and heads collected at once.
fn options(seal_bytes: usize) -> Options {
    let mut options = Options::default();
    options.seal_bytes = seal_bytes;
    options.collect_every = 1;
    options.reader_grace = Duration::ZERO;
    options.pause = Duration::ZERO;
    options
}

async fn append(bucket: &Bucket, session: &SessionRef) {
    let text = format!("\"{}\"", "x".repeat(100));
    let new = NewEvent::json(Kind::from_static("note"), text).unwrap();
    let condition = AppendCondition::NONE;
    bucket.append(session, vec![new], condition).await.unwrap();
}

struct Scene {
    store: Arc<InMemory>,
    writer: Bucket,
    session: SessionRef,
}

impl Scene {
    async fn new(seal_bytes: usize) -> Self {
        let store = Arc::new(InMemory::new());
        let writer = Bucket::new(Arc::clone(&store) as _, "", options(seal_bytes));
        let session = SessionRef::fresh("s".parse().unwrap());
        writer.create(&session).await.unwrap();
        for _ in 0..7 {
            append(&writer, &session).await;
        }
        // The newest head holds no events.
        let request = LeaseRequest::new(Owner::new("me").unwrap());
        drop(writer.acquire(&session, request).await.unwrap());
        Self {
            store,
            writer,
            session,
        }
    }

    /// What is found when `meanwhile` comes before each of so many requests that `at` picks.
    async fn found(
        &self,
        times: u32,
        at: impl Fn(&Request) -> bool + Send + Sync + 'static,
        meanwhile: impl AsyncFn(&Bucket, &SessionRef) + Send + Sync + 'static,
    ) -> Vec<Finding> {
        let (writer, session) = (self.writer.clone(), self.session.clone());
        let came = Arc::new(AtomicU32::new(0));
        let comes = Arc::clone(&came);
        let slow = Slow::new(Arc::clone(&self.store) as _, move |request| {
            if at(request) && comes.load(Ordering::Relaxed) < times {
                comes.fetch_add(1, Ordering::Relaxed);
                block_on(meanwhile(&writer, &session));
            }
            Duration::ZERO
        });
        let reader = Bucket::new(Arc::new(slow), "", options(SMALL));
        let found = reader.verify(&self.session.id).await.unwrap();
        assert_eq!(
            came.load(Ordering::Relaxed),
            times,
            "nothing was in between"
        );
        found
    }

    async fn chunks(&self) -> Vec<Path> {
        let listed: Vec<_> = self.store.list(None).try_collect().await.unwrap();
        let keys = listed.into_iter().map(|object| object.location);
        keys.filter(|key| key.as_ref().contains("/c/")).collect()
    }
}

fn of_chunk(request: &Request) -> bool {
    request.op == Op::Get && request.key.contains("/c/")
}

async fn compact(writer: &Bucket, session: &SessionRef) {
    append(writer, session).await;
    writer.compact(&session.id).await.unwrap();
}

#[test]
fn what_a_writer_merged_or_collected_meanwhile_is_not_called_damaged() {
    block_on(async {
        let scene = Scene::new(SMALL).await;
        assert_eq!(scene.found(1, of_chunk, compact).await, []);

        let scene = Scene::new(LARGE).await;
        let gets = AtomicU32::new(0);
        let second_head = move |request: &Request| {
            let head = request.op == Op::Get && request.key.contains("/h/");
            head && gets.fetch_add(1, Ordering::Relaxed) == 1
        };
        let appends = async |writer: &Bucket, session: &SessionRef| {
            for _ in 0..8 {
                append(writer, session).await;
            }
        };
        assert_eq!(scene.found(1, second_head, appends).await, []);
    });
}

#[test]
fn damage_is_found_also_where_a_writer_never_rests() {
    block_on(async {
        let scene = Scene::new(SMALL).await;
        scene.writer.compact(&scene.session.id).await.unwrap();
        let chunk = scene.chunks().await.remove(0);
        scene.store.delete(&chunk).await.unwrap();
        let found = scene.found(2, of_chunk, async |writer, session| {
            append(writer, session).await;
        });
        let found = found.await;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].place.file.as_deref(), Some(chunk.as_ref()));
    });
}

#[test]
fn a_session_that_is_deleted_meanwhile_is_not_there() {
    block_on(async {
        let scene = Scene::new(SMALL).await;
        let (writer, session) = (scene.writer.clone(), scene.session.clone());
        let of_marker = |request: &Request| request.key.contains("/i/");
        let slow = Slow::new(Arc::clone(&scene.store) as _, move |request| {
            if of_marker(request) {
                block_on(async {
                    let request = LeaseRequest::new(Owner::new("me").unwrap()).forced();
                    let lease = writer.acquire(&session, request).await;
                    if let Ok(lease) = lease {
                        writer.delete(&session, Some(lease.token)).await.unwrap();
                    }
                });
            }
            Duration::ZERO
        });
        let reader = Bucket::new(Arc::new(slow), "", options(SMALL));
        let gone = reader.verify(&scene.session.id).await.unwrap_err();
        assert!(gone.is_not_found(), "{gone}");
    });
}
