//! Blobs that are removed and put again while requests of the removal are still under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use pollster::block_on;
use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_conformance::objects::{Fault, Faulty, Op, Slow};
use sessionlog_core::{
    BlobId, BlobStore, EventLog, FencingToken, LeaseRequest, LeaseStore, Owner, Pieces, Result,
    SessionRef, Upkeep,
};

const CONTENT: &str = "an artifact";

fn options() -> Options {
    let mut options = Options::default();
    options.pause = Duration::ZERO;
    options
}

fn open(store: &Arc<InMemory>) -> Bucket {
    Bucket::new(Arc::clone(store) as _, "", options())
}

fn id() -> BlobId {
    BlobId::of(CONTENT.as_bytes())
}

fn pieces() -> Pieces {
    Box::pin(futures_util::stream::iter([Ok(Bytes::from(CONTENT))]))
}

/// A store, a session in it, and a handle.
async fn scene() -> (Arc<InMemory>, SessionRef, Bucket) {
    let store = Arc::new(InMemory::new());
    let bucket = open(&store);
    let session = SessionRef::fresh("s".parse().unwrap());
    bucket.create(&session).await.unwrap();
    (store, session, bucket)
}

async fn granted(bucket: &Bucket, session: &SessionRef) -> FencingToken {
    let request = LeaseRequest::new(Owner::new("me").unwrap()).forced();
    bucket.acquire(session, request).await.unwrap().token
}

async fn read(bucket: &Bucket, session: &SessionRef) -> Result<Vec<u8>> {
    let pieces: Vec<Bytes> = bucket.get(session, id(), 0..u64::MAX).try_collect().await?;
    Ok(pieces.concat())
}

async fn copies(store: &InMemory) -> Vec<Path> {
    let listed: Vec<_> = store.list(None).try_collect().await.unwrap();
    let keys = listed.into_iter().map(|object| object.location);
    keys.filter(|key| key.as_ref().contains("/b/")).collect()
}

#[test]
fn a_removal_that_comes_late_takes_nothing_that_was_put_since() {
    block_on(async {
        let (store, session, _) = scene().await;
        let deletes = AtomicU32::new(0);
        let faulty = Faulty::new(Arc::clone(&store) as _, move |request| {
            let deletes = || deletes.fetch_add(1, Ordering::Relaxed);
            match request.op {
                Op::Delete | Op::BulkDelete if deletes() == 0 => Fault::Late(200),
                _ => Fault::None,
            }
        });
        let bucket = Bucket::new(Arc::new(faulty.clone()), "", options());
        bucket.put(&session, pieces(), None).await.unwrap();
        bucket.remove(&session, id(), None).await.unwrap();
        assert!(read(&bucket, &session).await.unwrap_err().is_not_found());
        bucket.put(&session, pieces(), None).await.unwrap();
        faulty.settle().await;
        assert_eq!(read(&bucket, &session).await.unwrap(), CONTENT.as_bytes());
    });
}

#[test]
fn a_try_of_a_put_that_comes_behind_the_removal_does_not_count_and_is_collected() {
    block_on(async {
        let (store, session, _) = scene().await;
        let puts = AtomicU32::new(0);
        let faulty = Faulty::new(Arc::clone(&store) as _, move |request| {
            let of_copy = request.key.contains("/b/") && request.op == Op::Create;
            match of_copy && puts.fetch_add(1, Ordering::Relaxed) < 2 {
                true => Fault::Late(200),
                false => Fault::None,
            }
        });
        let bucket = Bucket::new(Arc::new(faulty.clone()), "", options());
        bucket.put(&session, pieces(), None).await.unwrap();
        assert_eq!(copies(&store).await.len(), 2, "a copy, and the doubt");
        assert_eq!(read(&bucket, &session).await.unwrap(), CONTENT.as_bytes());
        bucket.remove(&session, id(), None).await.unwrap();
        faulty.settle().await;
        assert_eq!(copies(&store).await.len(), 3, "two tries, and the doubt");
        for reader in [bucket, open(&store)] {
            assert!(read(&reader, &session).await.unwrap_err().is_not_found());
            let listed: Vec<_> = reader.list(&session).try_collect().await.unwrap();
            assert_eq!(listed, []);
            assert_eq!(reader.verify(&session.id).await.unwrap(), []);
            assert_eq!(reader.strays().await.unwrap(), []);
        }
        let mut options = options();
        options.retention = Duration::ZERO;
        let collector = Bucket::new(Arc::clone(&store) as _, "", options);
        collector.gc(false, |_, _| ()).await.unwrap();
        assert_eq!(copies(&store).await.len(), 1, "the doubt goes last");
        collector.gc(false, |_, _| ()).await.unwrap();
        assert_eq!(copies(&store).await, []);
    });
}

/// Somebody whose lease is taken, and what of the same content is put under the new one, before the
/// request that `at` picks.
fn overtaken(at: impl Fn(Op) -> bool + Send + Sync + 'static) -> Option<Result<()>> {
    block_on(async {
        let (store, session, other) = scene().await;
        let (armed, of) = (Arc::new(AtomicBool::new(false)), session.clone());
        let arm = Arc::clone(&armed);
        let slow = Slow::new(Arc::clone(&store) as _, move |request| {
            let picked = request.key.contains("/b/") && at(request.op);
            if picked && armed.swap(false, Ordering::Relaxed) {
                block_on(async {
                    let token = granted(&other, &of).await;
                    other.put(&of, pieces(), Some(token)).await.unwrap();
                });
            }
            Duration::ZERO
        });
        let late = Bucket::new(Arc::new(slow), "", options());
        let token = granted(&late, &session).await;
        late.put(&session, pieces(), Some(token)).await.unwrap();
        arm.store(true, Ordering::Relaxed);
        let removed = late.remove(&session, id(), Some(token)).await;
        let there = read(&open(&store), &session).await.unwrap();
        assert_eq!(there, CONTENT.as_bytes());
        (!arm.load(Ordering::Relaxed)).then_some(removed)
    })
}

#[test]
fn who_lost_the_lease_removes_nothing_of_the_one_who_has_it() {
    let changes = overtaken(Op::changes).expect("a delete");
    changes.unwrap();
    let lists = overtaken(|op| op == Op::List).expect("a list");
    assert_eq!(lists.unwrap_err().kind().name(), "fenced");
}

#[test]
fn copies_are_one_blob_and_the_surplus_is_collected() {
    block_on(async {
        let (store, session, bucket) = scene().await;
        bucket.put(&session, pieces(), None).await.unwrap();
        // As it was put once.
        let copy = copies(&store).await.remove(0);
        let (folder, _) = copy.as_ref().split_once("/b/").unwrap();
        let shared = Path::from(format!("{folder}/b/{}", id()));
        store.rename(&copy, &shared).await.unwrap();
        assert_eq!(read(&bucket, &session).await.unwrap(), CONTENT.as_bytes());
        for _ in 0..2 {
            bucket.put(&session, pieces(), None).await.unwrap();
        }
        assert_eq!(copies(&store).await.len(), 3);
        let listed: Vec<_> = bucket.list(&session).try_collect().await.unwrap();
        assert_eq!((listed.len(), listed[0].id), (1, id()));
        assert_eq!(
            bucket.gc(false, |_, _| ()).await.unwrap().objects,
            0,
            "young"
        );
        assert_eq!(bucket.strays().await.unwrap(), []);

        let mut options = options();
        options.retention = Duration::ZERO;
        let collector = Bucket::new(Arc::clone(&store) as _, "", options);
        collector.gc(false, |_, _| ()).await.unwrap();
        assert_eq!(copies(&store).await.len(), 1);
        assert_eq!(read(&bucket, &session).await.unwrap(), CONTENT.as_bytes());

        bucket.put(&session, pieces(), None).await.unwrap();
        store.put(&shared, CONTENT.into()).await.unwrap();
        bucket.remove(&session, id(), None).await.unwrap();
        assert_eq!(copies(&store).await, []);
        assert!(read(&bucket, &session).await.unwrap_err().is_not_found());
    });
}

#[test]
fn each_copy_is_verified_and_a_put_mends_what_is_read() {
    block_on(async {
        let (store, session, bucket) = scene().await;
        bucket.put(&session, pieces(), None).await.unwrap();
        let copy = copies(&store).await.remove(0);
        store.put(&copy, "an artefact".into()).await.unwrap();
        assert!(read(&bucket, &session).await.unwrap_err().is_corrupt());
        bucket.put(&session, pieces(), None).await.unwrap();
        assert_eq!(read(&bucket, &session).await.unwrap(), CONTENT.as_bytes());
        let found = bucket.verify(&session.id).await.unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].place.file.as_deref(), Some(copy.as_ref()));
    });
}

#[test]
fn a_read_goes_on_in_another_copy() {
    block_on(async {
        let (store, session, bucket) = scene().await;
        bucket.put(&session, pieces(), None).await.unwrap();
        let (first, beneath) = (copies(&store).await.remove(0), Arc::clone(&store));
        let (other, of) = (open(&store), session.clone());
        let slow = Slow::new(Arc::clone(&store) as _, move |request| {
            if request.op == Op::Get && request.key == first.as_ref() {
                block_on(async {
                    other.put(&of, pieces(), None).await.unwrap();
                    beneath.delete(&first).await.unwrap();
                });
            }
            Duration::ZERO
        });
        let reader = Bucket::new(Arc::new(slow), "", options());
        assert_eq!(read(&reader, &session).await.unwrap(), CONTENT.as_bytes());
        assert_eq!(copies(&store).await.len(), 1);
    });
}
