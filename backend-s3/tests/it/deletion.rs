//! A deletion that broke off behind its tombstone, and is asked for once more.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use pollster::block_on;
use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_conformance::objects::{Fault, Faulty, Op};
use sessionlog_core::{BlobStore, EventLog, SessionId, SessionRef, Upkeep};

async fn keys(store: &InMemory) -> Vec<String> {
    let listed: Vec<_> = store.list(None).try_collect().await.unwrap();
    let keys = listed.iter().map(|object| object.location.to_string());
    keys.collect()
}

fn is_notice(key: &str) -> bool {
    key.contains("/i/") && !key.contains('_')
}

/// All objects but notices.
async fn named(store: &InMemory) -> Vec<String> {
    let mut keys = keys(store).await;
    keys.retain(|key| !is_notice(key));
    keys
}

fn options() -> Options {
    let mut options = Options::default();
    options.pause = Duration::ZERO;
    options.tries = 2;
    options
}

/// Deletes a session, with these verdicts on the first requests of a kind, and then once more.
fn broken_off(of: fn(Op) -> bool, faults: &'static [Fault], same: bool) {
    block_on(async {
        let store = Arc::new(InMemory::new());
        let calm = || Bucket::new(Arc::clone(&store) as _, "", options());
        let session = SessionRef::fresh("s".parse().unwrap());
        calm().create(&session).await.unwrap();
        let content = futures_util::stream::iter([Ok(Bytes::from("a secret"))]);
        let put = calm().put(&session, Box::pin(content), None).await;
        put.unwrap();
        let deleting = Arc::new(AtomicU32::new(0));
        let seen = AtomicU32::new(0);
        let stone = Arc::clone(&deleting);
        let faulty = Faulty::new(Arc::clone(&store) as _, move |request| {
            if request.op == Op::Create {
                stone.store(1, Ordering::Relaxed);
            }
            if stone.load(Ordering::Relaxed) == 0 || !of(request.op) {
                return Fault::None;
            }
            let n = usize::try_from(seen.fetch_add(1, Ordering::Relaxed)).unwrap();
            faults.get(n).copied().unwrap_or_default()
        });
        let first = Bucket::new(Arc::new(faulty), "", options());
        let error = first.delete(&session, None).await.unwrap_err();
        assert_eq!(error.kind().name(), "indeterminate", "{error}");
        let left = keys(&store).await;
        assert!(
            left.iter()
                .any(|key| key.contains("/d/") || key.contains("/i/")),
            "{left:?}"
        );

        let next = if same { first } else { calm() };
        next.delete(&session, None).await.unwrap();
        let left = named(&store).await;
        assert!(left.iter().all(|key| key.contains("/h/")), "{left:?}");
        for handle in [next, calm()] {
            let again = handle.delete(&session, None).await.unwrap_err();
            assert!(again.is_not_found(), "{again}");
        }
    });
}

fn deletes(op: Op) -> bool {
    matches!(op, Op::Delete | Op::BulkDelete)
}

#[test]
fn it_is_finished_by_the_same_handle_and_by_others() {
    for same in [true, false] {
        broken_off(deletes, &[Fault::Lost; 2], same);
        broken_off(deletes, &[Fault::PartialDelete; 2], same);
        broken_off(|op| op == Op::List, &[Fault::Lost; 2], same);
    }
}

#[test]
fn it_is_left_alone_once_there_is_another_life() {
    block_on(async {
        let store = Arc::new(InMemory::new());
        let open = || Bucket::new(Arc::clone(&store) as _, "", options());
        let (old, bucket) = (SessionRef::fresh("s".parse().unwrap()), open());
        bucket.create(&old).await.unwrap();
        bucket.delete(&old, None).await.unwrap();
        let new = SessionRef::fresh(old.id.clone());
        open().create(&new).await.unwrap();
        for handle in [bucket, open()] {
            let again = handle.delete(&old, None).await.unwrap_err();
            assert!(again.is_not_found(), "{again}");
        }
        assert_eq!(open().head(&new.id).await.unwrap().0, new);
    });
}

#[test]
fn who_deletes_what_another_has_deleted_is_told_so_and_leaves_no_marker() {
    block_on(async {
        for gone in ["deleted", "closed", "made anew"] {
            let store = Arc::new(InMemory::new());
            let mut at_once = options();
            (at_once.retention, at_once.reader_grace) = (Duration::ZERO, Duration::ZERO);
            let open = || Bucket::new(Arc::clone(&store) as _, "", at_once.clone());
            let (late, other) = (open(), open());
            let session = SessionRef::fresh("s".parse().unwrap());
            late.create(&session).await.unwrap();
            other.delete(&session, None).await.unwrap();
            match gone {
                "closed" => drop(other.gc(false, |_, _| ()).await.unwrap()),
                "made anew" => other
                    .create(&SessionRef::fresh(session.id.clone()))
                    .await
                    .unwrap(),
                _ => {}
            }
            let before = named(&store).await;
            for _ in 0..2 {
                let told = late.delete(&session, None).await.unwrap_err();
                assert!(told.is_not_found(), "{gone}: {told}");
                assert_eq!(named(&store).await, before, "{gone}");
            }
        }
    });
}

async fn listed(bucket: &Bucket) -> Vec<SessionId> {
    bucket.sessions().try_collect().await.unwrap()
}

#[test]
fn a_marker_that_comes_late_is_in_no_list_and_is_collected() {
    block_on(async {
        let store = Arc::new(InMemory::new());
        let open = |options: &Options| Bucket::new(Arc::clone(&store) as _, "", options.clone());
        let (bucket, session) = (open(&options()), SessionRef::fresh("s".parse().unwrap()));
        bucket.create(&session).await.unwrap();
        let marker = object_store::path::Path::from(keys(&store).await.remove(0));
        assert!(marker.as_ref().contains("_s!"), "{marker}");
        let text = store.get(&marker).await.unwrap().bytes().await.unwrap();
        bucket.delete(&session, None).await.unwrap();
        store.put(&marker, text.into()).await.unwrap();

        let mut in_order = options();
        in_order.lists_in_order = Some(true);
        let other = SessionRef::fresh("t".parse().unwrap());
        for options in [options(), in_order] {
            let reader = open(&options);
            assert_eq!(listed(&reader).await, []);
            assert_eq!(reader.newest(1).await.unwrap(), Some(vec![]));
            assert_eq!(reader.strays().await.unwrap(), []);
            assert_eq!(reader.gc(false, |_, _| ()).await.unwrap().objects, 0);
        }
        bucket.create(&other).await.unwrap();
        assert_eq!(
            listed(&open(&options())).await.as_slice(),
            std::slice::from_ref(&other.id)
        );
        // Another life of the name has a marker of its own.
        let again = SessionRef::fresh(session.id.clone());
        bucket.create(&again).await.unwrap();
        let mut all = listed(&open(&options())).await;
        all.sort();
        assert_eq!(all, [session.id, other.id]);
        bucket.delete(&again, None).await.unwrap();
        assert_eq!(listed(&bucket).await.len(), 1);
        // Who deletes the session once more finishes what looks like a deletion that broke off.
        let mut at_once = options();
        at_once.retention = Duration::ZERO;
        open(&at_once).gc(false, |_, _| ()).await.unwrap();
        let left = keys(&store).await;
        assert!(!left.contains(&marker.to_string()), "{left:?}");
        assert_eq!(listed(&bucket).await.len(), 1);
    });
}

#[test]
fn a_deletion_that_is_refused_leaves_the_session_in_lists() {
    block_on(async {
        let store = Arc::new(InMemory::new());
        let tombstone = |request: &sessionlog_conformance::objects::Request| match request.op
            == Op::Create
            && request.key.contains("/h/")
        {
            true => Fault::Lost,
            false => Fault::None,
        };
        let calm = Bucket::new(Arc::clone(&store) as _, "", options());
        let session = SessionRef::fresh("s".parse().unwrap());
        calm.create(&session).await.unwrap();
        let faulty = Faulty::new(Arc::clone(&store) as _, tombstone);
        let bucket = Bucket::new(Arc::new(faulty), "", options());
        bucket.delete(&session, None).await.unwrap_err();
        assert_eq!(
            keys(&store).await.len(),
            3,
            "the notice, the marker, the head"
        );
        assert_eq!(listed(&calm).await, [session.id]);
    });
}
