//! What is collected, and what never is.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::TryStreamExt;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_conformance::objects::{Fault, Faulty, Op};
use sessionlog_core::{
    AppendCondition, BlobStore, EventLog, Kind, LeaseRequest, LeaseStore, NewEvent, Owner, SeqNum,
    SessionRef, Upkeep,
};

fn at_once() -> Options {
    let mut options = Options::default();
    options.retention = Duration::ZERO;
    options.reader_grace = Duration::ZERO;
    options
}

async fn keys(store: &InMemory) -> Vec<String> {
    let listed: Vec<_> = store.list(None).try_collect().await.unwrap();
    listed
        .iter()
        .map(|object| object.location.to_string())
        .collect()
}

async fn append(bucket: &Bucket, session: &SessionRef) {
    let new = NewEvent::json(Kind::from_static("note"), "1").unwrap();
    let condition = AppendCondition::NONE;
    bucket.append(session, vec![new], condition).await.unwrap();
}

#[test]
fn what_lives_is_whole_behind_a_collection() {
    pollster::block_on(async {
        let store = Arc::new(InMemory::new());
        store
            .put(&"p/notes.txt".into(), "mine".into())
            .await
            .unwrap();
        store.put(&"p/v1/s/x".into(), "mine".into()).await.unwrap();
        let open = || Bucket::new(Arc::clone(&store) as _, "p", at_once());
        let session = SessionRef::fresh("s".parse().unwrap());
        let bucket = open();
        bucket.create(&session).await.unwrap();
        for _ in 0..8 {
            let other = open();
            append(&other, &session).await;
            append(&bucket, &session).await;
        }
        let content = futures_util::stream::iter([Ok("x".into())]);
        bucket.put(&session, Box::pin(content), None).await.unwrap();
        let before = keys(&store).await;
        let told = |keys: &mut Vec<String>, key: &str| keys.push(key.to_owned());
        let mut would = Vec::new();
        bucket
            .gc(true, |key, _| told(&mut would, key))
            .await
            .unwrap();
        assert!(would.len() > 20, "{would:?}");
        assert_eq!(keys(&store).await, before, "a dry run");
        let mut did = Vec::new();
        let found = bucket
            .gc(false, |key, _| told(&mut did, key))
            .await
            .unwrap();
        assert_eq!(
            (did.len(), found.objects),
            (would.len(), would.len() as u64)
        );
        assert_eq!(did, would);
        let left = keys(&store).await;
        assert!(left.contains(&"p/notes.txt".to_owned()) && left.contains(&"p/v1/s/x".to_owned()));
        assert!(left.len() <= 10, "{left:?}");
        for (appended, reader) in [open(), bucket.clone()].into_iter().enumerate() {
            assert_eq!(reader.verify(&session.id).await.unwrap(), vec![]);
            let log: Vec<_> = reader
                .read(&session, SeqNum::all())
                .try_collect()
                .await
                .unwrap();
            assert_eq!(log.concat().len(), 16 + appended);
            append(&reader, &session).await;
            let blobs: Vec<_> = reader.list(&session).try_collect().await.unwrap();
            assert_eq!(blobs.len(), 1);
        }
        let strays = bucket.strays().await.unwrap();
        assert_eq!(strays.len(), 2, "{strays:?}");
    });
}

#[test]
fn a_deleted_session_leaves_fences_and_then_two_heads() {
    pollster::block_on(async {
        let store = Arc::new(InMemory::new());
        let bucket = Bucket::new(Arc::clone(&store) as _, "", at_once());
        let session = SessionRef::fresh("a-name".parse().unwrap());
        bucket.create(&session).await.unwrap();
        append(&bucket, &session).await;
        let request = LeaseRequest::new(Owner::new("me").unwrap());
        let lease = bucket.acquire(&session, request).await.unwrap();
        append(&bucket, &session).await;
        bucket.delete(&session, Some(lease.token)).await.unwrap();
        let left = keys(&store).await;
        let (heads, rest): (Vec<_>, Vec<_>) = left.iter().partition(|key| key.contains("/h/"));
        assert!(
            heads.len() == 2 && rest.len() == 1 && rest[0].contains("/i/"),
            "fences, and the notice of the deletion: {left:?}"
        );
        assert!(left.iter().all(|key| !key.contains("a-name")), "{left:?}");

        assert_eq!(bucket.gc(false, |_, _| ()).await.unwrap().closed, 1);
        for _ in 0..2 {
            bucket.gc(false, |_, _| ()).await.unwrap();
            let left = keys(&store).await;
            assert!(
                left.len() == 2 && left[1].ends_with("/ffffffffffffffff"),
                "{left:?}"
            );
        }
        assert_eq!(bucket.strays().await.unwrap(), []);
        for creator in [
            bucket.clone(),
            Bucket::new(Arc::clone(&store) as _, "", at_once()),
        ] {
            let again = SessionRef::fresh(session.id.clone());
            creator.create(&again).await.unwrap();
            append(&creator, &again).await;
            assert_eq!(bucket.head(&session.id).await.unwrap().0, again);
            assert_eq!(bucket.verify(&session.id).await.unwrap(), []);
            bucket.delete(&again, None).await.unwrap();
            bucket.gc(false, |_, _| ()).await.unwrap();
            bucket.gc(false, |_, _| ()).await.unwrap();
            assert_eq!(keys(&store).await.len(), 2);
        }
    });
}

/// The next life of a name, when some of the deletes of the collection before it fail or are late.
fn next_life(verdict: impl Fn(u32) -> Fault + Send + Sync + 'static) {
    pollster::block_on(async {
        let store = Arc::new(InMemory::new());
        let calm = Bucket::new(Arc::clone(&store) as _, "", at_once());
        let session = SessionRef::fresh("s".parse().unwrap());
        calm.create(&session).await.unwrap();
        append(&calm, &session).await;
        calm.delete(&session, None).await.unwrap();
        assert_eq!(calm.gc(false, |_, _| ()).await.unwrap().closed, 1);

        let deletes = AtomicU32::new(0);
        let faulty = Faulty::new(Arc::clone(&store) as _, move |request| match request.op {
            Op::Delete | Op::BulkDelete => verdict(deletes.fetch_add(1, Ordering::Relaxed)),
            _ => Fault::None,
        });
        let mut options = at_once();
        options.pause = Duration::ZERO;
        let collector = Bucket::new(Arc::new(faulty.clone()), "", options);
        drop(collector.gc(false, |_, _| ()).await);
        let fresh = Bucket::new(Arc::clone(&store) as _, "", at_once());
        let next = SessionRef::fresh(session.id.clone());
        fresh.create(&next).await.unwrap();
        for _ in 0..3 {
            append(&fresh, &next).await;
        }
        faulty.settle().await;
        calm.gc(false, |_, _| ()).await.unwrap();
        for reader in [fresh, Bucket::new(Arc::clone(&store) as _, "", at_once())] {
            let (there, end) = reader.head(&next.id).await.unwrap();
            assert_eq!((there, end.tail.get()), (next.clone(), 3));
            assert_eq!(reader.verify(&next.id).await.unwrap(), []);
        }
    });
}

#[test]
fn a_collection_that_breaks_off_leaves_the_name_usable() {
    next_life(|n| if n == 0 { Fault::None } else { Fault::Lost });
}

#[test]
fn deletes_that_come_late_take_nothing_of_the_next_life() {
    next_life(|n| {
        if n % 2 == 0 {
            Fault::Late(200)
        } else {
            Fault::None
        }
    });
}

#[test]
fn who_takes_over_collects_the_heads_of_those_before_and_keeps_the_fences() {
    pollster::block_on(async {
        let store = Arc::new(InMemory::new());
        let options = |collect_every| {
            let mut options = Options::default();
            options.collect_every = collect_every;
            options
        };
        let session = SessionRef::fresh("s".parse().unwrap());
        let first = Bucket::new(Arc::clone(&store) as _, "", options(u64::MAX));
        first.create(&session).await.unwrap();
        let heads = async || {
            let mut keys = keys(&store).await;
            keys.retain(|key| key.contains("/h/"));
            keys
        };
        let begin = heads().await;
        for _ in 0..30 {
            append(&first, &session).await;
        }
        let before = heads().await;
        assert_eq!(before.len(), 31);
        let written = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&written);
        let faulty = Faulty::new(Arc::clone(&store) as _, move |request| {
            if request.op == Op::Create {
                noted.lock().unwrap().push(request.key.clone());
            }
            Fault::None
        });
        let next = Bucket::new(Arc::new(faulty), "", options(1));
        for _ in 0..10 {
            append(&next, &session).await;
        }
        let fence = written.lock().unwrap()[0].clone();
        let left = heads().await;
        assert!(
            left.contains(&begin[0]) && left.contains(&fence),
            "{left:?}"
        );
        let old = left.iter().filter(|key| before.contains(key)).count();
        assert_eq!(old, 1, "{left:?}");
        append(&first, &session).await;
        assert_eq!(first.verify(&session.id).await.unwrap(), vec![]);
        assert_eq!(first.head(&session.id).await.unwrap().1.tail.get(), 41);
    });
}
