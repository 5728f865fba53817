//! Chunks are put beside the head that holds their events still, and the next head names them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::TryStreamExt;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use pollster::block_on;
use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_conformance::objects::{Fault, Faulty, Op};
use sessionlog_core::{
    AppendCondition, Event, EventLog, Kind, LeaseRequest, LeaseStore, NewEvent, Owner, Result,
    SeqNum, SessionRef, Upkeep,
};

/// A session whose chunk puts can be made to fail, and whose puts are noted.
struct Scene {
    store: Arc<InMemory>,
    bucket: Bucket,
    session: SessionRef,
    puts: Arc<Mutex<Vec<&'static str>>>,
    fails: Arc<AtomicBool>,
    appended: std::cell::Cell<usize>,
}

fn options() -> Options {
    let mut options = Options::default();
    options.seal_bytes = 1_000;
    options.pause = std::time::Duration::ZERO;
    options
}

impl Scene {
    async fn new() -> Self {
        let store = Arc::new(InMemory::new());
        let (puts, fails) = <(Arc<Mutex<Vec<_>>>, Arc<AtomicBool>)>::default();
        let (noted, failing) = (Arc::clone(&puts), Arc::clone(&fails));
        let faulty = Faulty::new(Arc::clone(&store) as _, move |request| {
            let chunk = request.key.contains("/c/");
            match request.op {
                Op::Create if request.key.contains("/h/") => noted.lock().unwrap().push("head"),
                Op::Overwrite if chunk => {
                    noted.lock().unwrap().push("chunk");
                    if failing.load(Ordering::Relaxed) {
                        return Fault::Lost;
                    }
                }
                Op::Delete | Op::BulkDelete if chunk => noted.lock().unwrap().push("delete"),
                _ => {}
            }
            Fault::None
        });
        let bucket = Bucket::new(Arc::new(faulty), "", options());
        let session = SessionRef::fresh("s".parse().unwrap());
        bucket.create(&session).await.unwrap();
        puts.lock().unwrap().clear();
        Self {
            store,
            bucket,
            session,
            puts,
            fails,
            appended: std::cell::Cell::new(0),
        }
    }

    /// Appends an event of some 300 bytes; gives what was put, in the order in which it was sent.
    async fn append(&self) -> Result<Vec<&'static str>> {
        let text = format!("\"{} {}\"", self.appended.get(), "x".repeat(250));
        let new = NewEvent::json(Kind::from_static("note"), text)?;
        let condition = AppendCondition::NONE;
        self.bucket
            .append(&self.session, vec![new], condition)
            .await?;
        self.appended.set(self.appended.get() + 1);
        Ok(std::mem::take(&mut *self.puts.lock().unwrap()))
    }

    async fn chunks(&self) -> usize {
        let listed: Vec<_> = self.store.list(None).try_collect().await.unwrap();
        let chunks = listed
            .iter()
            .filter(|o| o.location.as_ref().contains("/c/"));
        chunks.count()
    }

    /// Everything that was appended is there, for this handle and for another.
    async fn is_whole(&self) {
        let other = Bucket::new(Arc::clone(&self.store) as _, "", options());
        for bucket in [&self.bucket, &other] {
            let read = bucket.read(&self.session, SeqNum::all());
            let read: Vec<Event> = read.try_collect::<Vec<_>>().await.unwrap().concat();
            assert_eq!(read.len(), self.appended.get());
            assert_eq!(bucket.verify(&self.session.id).await.unwrap(), []);
        }
    }
}

#[test]
fn no_append_waits_for_a_chunk() {
    block_on(async {
        let scene = Scene::new().await;
        let mut puts = Vec::new();
        for _ in 0..9 {
            puts.push(scene.append().await.unwrap());
        }
        let (alone, beside) = (vec!["head"], vec!["head", "chunk"]);
        let three = [alone.clone(), alone, beside];
        assert_eq!(puts, [three.clone(), three.clone(), three].concat());
        scene.is_whole().await;
    });
}

#[test]
fn a_chunk_that_can_not_be_put_fails_no_append() {
    block_on(async {
        let scene = Scene::new().await;
        scene.fails.store(true, Ordering::Relaxed);
        let mut refused = 0;
        for _ in 0..40 {
            refused += usize::from(scene.append().await.is_err());
        }
        // A head does not grow for ever.
        assert!(refused > 0, "{refused}");
        assert!(scene.appended.get() >= 20, "{}", scene.appended.get());
        scene.is_whole().await;
        assert_eq!(scene.chunks().await, 0);

        scene.fails.store(false, Ordering::Relaxed);
        for _ in 0..10 {
            scene.append().await.unwrap();
        }
        scene.is_whole().await;
        assert!(scene.chunks().await > 0);
    });
}

#[test]
fn a_release_names_what_was_put_ahead() {
    block_on(async {
        let scene = Scene::new().await;
        let request = LeaseRequest::new(Owner::new("me").unwrap());
        let lease = scene.bucket.acquire(&scene.session, request).await.unwrap();
        for _ in 0..3 {
            scene.append().await.unwrap();
        }
        assert_eq!(scene.chunks().await, 1);
        scene.bucket.release(&lease).await.unwrap();
        let mut now = options();
        now.retention = std::time::Duration::ZERO;
        let collector = Bucket::new(Arc::clone(&scene.store) as _, "", now);
        collector.gc(false, |_, _| ()).await.unwrap();
        assert_eq!(scene.chunks().await, 1, "it is named");
        scene.is_whole().await;
        for _ in 0..3 {
            scene.append().await.unwrap();
        }
        scene.is_whole().await;
    });
}

#[test]
fn who_is_overtaken_names_nothing_of_its_own() {
    block_on(async {
        let scene = Scene::new().await;
        for _ in 0..3 {
            scene.append().await.unwrap();
        }
        let other = Bucket::new(Arc::clone(&scene.store) as _, "", options());
        for _ in 0..3 {
            let text = format!("\"{}\"", "y".repeat(250));
            let new = NewEvent::json(Kind::from_static("note"), text).unwrap();
            let append = other.append(&scene.session, vec![new], AppendCondition::NONE);
            append.await.unwrap();
            scene.appended.set(scene.appended.get() + 1);
        }
        scene.puts.lock().unwrap().clear();
        // Its chunk goes, and that once.
        let mut deletes = Vec::new();
        for _ in 0..6 {
            let puts = scene.append().await.unwrap();
            deletes.push(puts.iter().filter(|put| **put == "delete").count());
        }
        assert_eq!(deletes, [1, 0, 0, 0, 0, 0]);
        scene.is_whole().await;
    });
}
