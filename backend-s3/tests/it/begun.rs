//! Creations that are broken off between the head and its marker, and markers that are lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use pollster::block_on;
use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_conformance::objects::{Counted, Fault, Faulty, Op, Slow};
use sessionlog_core::{
    AppendCondition, EventLog, Kind, LeaseRequest, LeaseStore, NewEvent, Owner, Result, SessionRef,
    Severity, Upkeep,
};

fn open(store: &Arc<InMemory>) -> Bucket {
    Bucket::new(Arc::clone(store) as _, "p", Options::default())
}

fn session() -> SessionRef {
    SessionRef::fresh("s".parse().unwrap())
}

async fn append(bucket: &Bucket, session: &SessionRef) -> Result<()> {
    let new = NewEvent::json(Kind::from_static("note"), "1")?;
    let condition = AppendCondition::NONE;
    bucket.append(session, vec![new], condition).await.map(drop)
}

async fn keys(store: &InMemory, part: &str) -> Vec<Path> {
    let listed: Vec<_> = store.list(None).try_collect().await.unwrap();
    let keys = listed.into_iter().map(|object| object.location);
    keys.filter(|key| key.as_ref().contains(part)).collect()
}

async fn ids(bucket: &Bucket) -> usize {
    let ids: Vec<_> = bucket.sessions().try_collect().await.unwrap();
    ids.len()
}

/// A session whose maker died before it put the marker.
async fn broken_off(store: &Arc<InMemory>) -> SessionRef {
    let session = session();
    open(store).create(&session).await.unwrap();
    for marker in keys(store, "/i/").await {
        store.delete(&marker).await.unwrap();
    }
    session
}

#[test]
fn what_was_not_made_to_the_end_is_not_there_and_can_be_made() {
    block_on(async {
        let store = Arc::new(InMemory::new());
        let first = broken_off(&store).await;
        let bucket = open(&store);
        assert_eq!(ids(&bucket).await, 0);
        assert!(bucket.head(&first.id).await.unwrap_err().is_not_found());
        assert!(append(&bucket, &first).await.unwrap_err().is_not_found());
        assert_eq!(bucket.verify(&first.id).await.unwrap().len(), 1);
        let strays = bucket.strays().await.unwrap();
        assert_eq!(strays.len(), 1);
        assert_eq!(strays[0].severity, Severity::Note, "{strays:?}");

        let second = session();
        bucket.create(&second).await.unwrap();
        append(&bucket, &second).await.unwrap();
        for reader in [bucket, open(&store)] {
            assert_eq!(ids(&reader).await, 1);
            assert_eq!(reader.head(&first.id).await.unwrap().0, second);
            assert!(append(&reader, &first).await.unwrap_err().is_not_found());
            assert_eq!(reader.verify(&first.id).await.unwrap(), []);
            assert_eq!(reader.strays().await.unwrap(), []);
        }
    });
}

#[test]
fn who_has_the_same_life_in_hand_finishes_it() {
    block_on(async {
        let store = Arc::new(InMemory::new());
        let session = broken_off(&store).await;
        let bucket = open(&store);
        bucket.create(&session).await.unwrap();
        append(&bucket, &session).await.unwrap();
        assert_eq!(ids(&open(&store)).await, 1);
        let again = open(&store).create(&session).await.unwrap_err();
        assert_eq!(again.kind().name(), "conflict");
    });
}

#[test]
fn a_repair_finishes_it() {
    block_on(async {
        let store = Arc::new(InMemory::new());
        let session = broken_off(&store).await;
        let bucket = open(&store);
        bucket.repair(&session.id, true).await.unwrap();
        assert_eq!(bucket.verify(&session.id).await.unwrap(), []);
        append(&bucket, &session).await.unwrap();
        assert_eq!(ids(&open(&store)).await, 1);
    });
}

#[test]
fn of_two_who_make_a_session_at_once_one_does() {
    block_on(async {
        let store = Arc::new(InMemory::new());
        let (mine, theirs) = (session(), session());
        let (other, there) = (open(&store), theirs.clone());
        let met = Arc::new(AtomicBool::new(false));
        let meets = Arc::clone(&met);
        // The other comes when the first has put its head, and is about to put its marker.
        let slow = Slow::new(Arc::clone(&store) as _, move |request| {
            let marks = request.op.changes() && request.key.contains("/i/");
            if marks && !meets.swap(true, Ordering::Relaxed) {
                block_on(other.create(&there)).unwrap();
            }
            Duration::ZERO
        });
        let late = Bucket::new(Arc::new(slow), "p", Options::default());
        let refused = late.create(&mine).await.unwrap_err();
        assert_eq!(refused.kind().name(), "conflict", "{refused}");
        assert!(met.load(Ordering::Relaxed));
        assert!(append(&late, &mine).await.unwrap_err().is_not_found());
        append(&late, &theirs).await.unwrap();
        assert_eq!(ids(&late).await, 1);
    });
}

#[test]
fn what_a_broken_creation_leaves_is_collected() {
    block_on(async {
        let store = Arc::new(InMemory::new());
        broken_off(&store).await;
        assert_eq!(
            open(&store).gc(false, |_, _| ()).await.unwrap().objects,
            0,
            "young"
        );
        let mut options = Options::default();
        options.retention = Duration::ZERO;
        options.reader_grace = Duration::ZERO;
        let bucket = Bucket::new(Arc::clone(&store) as _, "p", options);
        assert_eq!(bucket.gc(false, |_, _| ()).await.unwrap().closed, 1);
        bucket.gc(false, |_, _| ()).await.unwrap();
        assert_eq!(
            keys(&store, "").await.len(),
            2,
            "the first head and the last"
        );

        // One that is void as well, and whose place is taken.
        broken_off(&store).await;
        let second = session();
        bucket.create(&second).await.unwrap();
        append(&bucket, &second).await.unwrap();
        assert_eq!(keys(&store, "/i/").await.len(), 2);
        bucket.gc(false, |_, _| ()).await.unwrap();
        assert_eq!(keys(&store, "/i/").await.len(), 1);
        assert_eq!(ids(&bucket).await, 1);
    });
}

#[test]
fn a_lost_marker_is_found_and_put_back() {
    block_on(async {
        for spoilt in [None, Some("--"), Some("nonsense")] {
            let store = Arc::new(InMemory::new());
            let (bucket, session) = (open(&store), session());
            bucket.create(&session).await.unwrap();
            append(&bucket, &session).await.unwrap();
            let marker = keys(&store, "/i/").await.remove(0);
            match spoilt {
                None => store.delete(&marker).await.unwrap(),
                Some(text) => drop(store.put(&marker, text.into()).await.unwrap()),
            }
            let lost = spoilt != Some("nonsense");
            let reader = open(&store);
            assert_eq!(ids(&reader).await, usize::from(!lost));
            let found = reader.verify(&session.id).await.unwrap();
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].severity == Severity::Damage, lost, "{found:?}");
            let file = found[0].place.file.clone().unwrap();
            assert!(marker.as_ref().ends_with(&file), "{file}");
            let strays = reader.strays().await.unwrap();
            assert_eq!(strays.len(), usize::from(lost), "{strays:?}");

            let would = reader.repair(&session.id, false).await.unwrap();
            assert_eq!(would.steps.len(), 1, "{would:?}");
            assert_eq!(ids(&reader).await, usize::from(!lost));
            assert_eq!(reader.repair(&session.id, true).await.unwrap(), would);
            assert_eq!(ids(&reader).await, 1);
            assert_eq!(reader.verify(&session.id).await.unwrap(), []);
            assert_eq!(reader.strays().await.unwrap(), []);
            append(&bucket, &session).await.unwrap();
        }
    });
}

#[test]
fn where_nothing_was_written_yet_a_look_costs_one_more() {
    block_on(async {
        let store = Arc::new(InMemory::new());
        let session = session();
        open(&store).create(&session).await.unwrap();
        let counted = Counted::new(Arc::clone(&store) as _);
        let bucket = Bucket::new(Arc::new(counted.clone()), "p", Options::default());
        bucket.head(&session.id).await.unwrap();
        let counts = counted.counts();
        assert_eq!([counts.list_pages, counts.gets, counts.heads], [1, 1, 1]);
        let request = LeaseRequest::new(Owner::new("me").unwrap());
        drop(bucket.acquire(&session, request).await.unwrap());
        let counts = counted.counts().since(&counts);
        assert_eq!([counts.puts, counts.list_pages, counts.gets], [1, 1, 0]);
        // The marker is left as it is, so a list trusts it.
        let reader = open(&store);
        let marker = keys(&store, "/i/").await.remove(0);
        assert!(store.head(&marker).await.unwrap().size > 2);
        assert_eq!(ids(&reader).await, 1);
    });
}

/// A creation of a second life whose requests to the index meet these verdicts; and once more.
fn made_twice(faults: &'static [Fault], first: bool) {
    block_on(async {
        let store = Arc::new(InMemory::new());
        if !first {
            let (calm, before) = (open(&store), session());
            calm.create(&before).await.unwrap();
            calm.delete(&before, None).await.unwrap();
        }
        let marks = AtomicUsize::new(0);
        let faulty = Faulty::new(Arc::clone(&store) as _, move |request| {
            let of_marker = request.op != Op::List && request.key.contains("/i/");
            let nth = of_marker.then(|| marks.fetch_add(1, Ordering::Relaxed));
            nth.and_then(|nth| faults.get(nth).copied())
                .unwrap_or_default()
        });
        let mut options = Options::default();
        (options.tries, options.pause) = (2, Duration::ZERO);
        let bucket = Bucket::new(Arc::new(faulty), "p", options);
        let mine = session();
        let lost = bucket.create(&mine).await.unwrap_err();
        assert_eq!(lost.kind().name(), "indeterminate", "{lost}");
        bucket.create(&mine).await.unwrap();
        let again = bucket.create(&mine).await.unwrap_err();
        assert_eq!(again.kind().name(), "conflict", "{again}");
        append(&bucket, &mine).await.unwrap();
        assert_eq!(ids(&open(&store)).await, 1);
        let other = open(&store).create(&mine).await.unwrap_err();
        assert_eq!(other.kind().name(), "conflict", "{other}");
    });
}

#[test]
fn a_creation_whose_answer_was_lost_is_ones_own_when_it_is_asked_for_again() {
    for first in [true, false] {
        // The marker is there, and neither its put nor the look behind it was answered.
        made_twice(&[Fault::AnswerLost, Fault::Lost, Fault::None], first);
        made_twice(
            &[Fault::AnswerLost, Fault::OwnRetry, Fault::Lost, Fault::Lost],
            first,
        );
        made_twice(&[Fault::Lost, Fault::Lost], first);
    }
}
