//! Damage is mended as far as something is left, and whole events stay where they are.

use std::sync::Arc;

use futures_util::TryStreamExt;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use pollster::block_on;
use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_core::{
    AppendCondition, Event, EventLog, Kind, LeaseRequest, LeaseStore, NewEvent, Owner, SeqNum,
    SessionRef, Upkeep,
};

const EVENTS: u64 = 12;

struct Scene {
    store: Arc<InMemory>,
    session: SessionRef,
    before: Vec<Event>,
}

impl Scene {
    /// Three events in each chunk, and three in the newest head.
    fn new() -> Self {
        let store = Arc::new(InMemory::new());
        let session = SessionRef::fresh("s".parse().unwrap());
        let mut scene = Self {
            store,
            session,
            before: Vec::new(),
        };
        let bucket = scene.open();
        block_on(bucket.create(&scene.session)).unwrap();
        for n in 0..EVENTS {
            let text = format!("\"{n} {}\"", "x".repeat(200));
            let new = NewEvent::json(Kind::from_static("note"), text).unwrap();
            let append = bucket.append(&scene.session, vec![new], AppendCondition::NONE);
            block_on(append).unwrap();
        }
        scene.before = scene.read();
        scene
    }

    fn open(&self) -> Bucket {
        let mut options = Options::default();
        options.seal_bytes = 800;
        Bucket::new(Arc::clone(&self.store) as _, "", options)
    }

    fn read(&self) -> Vec<Event> {
        let chunks = self.open().read(&self.session, SeqNum::all());
        block_on(chunks.try_collect::<Vec<_>>()).unwrap().concat()
    }

    /// The keys with this in them, in order.
    fn keys(&self, part: &str) -> Vec<object_store::path::Path> {
        let listed: Vec<_> = block_on(self.store.list(None).try_collect()).unwrap();
        let keys = listed.into_iter().map(|object| object.location);
        keys.filter(|key| key.as_ref().contains(part)).collect()
    }

    /// Spoils a byte of an object, counted from its end.
    fn spoil(&self, key: &object_store::path::Path, at: usize) {
        let bytes = block_on(async { self.store.get(key).await.unwrap().bytes().await.unwrap() });
        let mut bytes = bytes.to_vec();
        let at = bytes.len() - 1 - at;
        bytes[at] ^= 1;
        block_on(self.store.put(key, bytes.into())).unwrap();
    }

    /// Mends, and says which positions were lost.
    fn mend(&self) -> Vec<u64> {
        let bucket = self.open();
        let id = &self.session.id;
        assert!(!block_on(bucket.verify(id)).unwrap().is_empty());
        let would = block_on(bucket.repair(id, false)).unwrap();
        let did = block_on(bucket.repair(id, true)).unwrap();
        assert_eq!(did, would);
        assert_eq!(block_on(bucket.verify(id)).unwrap(), []);
        let now = self.read();
        let mut lost = Vec::new();
        for (event, before) in now.iter().zip(&self.before) {
            if event.kind == "repair.lost" {
                lost.push(event.seq.get());
            } else {
                assert!(event.holds(&before.clone().into_new()), "{}", event.seq);
            }
        }
        assert_eq!(did.lost, lost.len() as u64);
        assert_eq!(did.events + did.lost, now.len() as u64);
        let again = block_on(bucket.repair(id, true)).unwrap();
        assert_eq!((again.lost, again.steps.len()), (0, 0));
        let more = NewEvent::json(Kind::from_static("note"), "1").unwrap();
        let append = bucket.append(&self.session, vec![more], AppendCondition::NONE);
        assert_eq!(block_on(append).unwrap().start.get(), now.len() as u64);
        lost
    }
}

#[test]
fn a_damaged_or_missing_chunk_costs_its_events_alone() {
    for missing in [false, true] {
        let scene = Scene::new();
        let chunks = scene.keys("/c/");
        assert_eq!(chunks.len(), 4, "and one that the next head would name");
        if missing {
            block_on(scene.store.delete(&chunks[1])).unwrap();
        } else {
            scene.spoil(&chunks[1], 0);
        }
        assert_eq!(scene.mend(), [3, 4, 5]);
    }
}

#[test]
fn damaged_events_in_the_head_cost_no_event_before_them() {
    let scene = Scene::new();
    // The last but one of three frames.
    scene.spoil(&scene.keys("/h/")[0], 300);
    assert_eq!(scene.mend(), [10, 11]);
}

#[test]
fn a_damaged_newest_head_costs_what_it_alone_held() {
    let scene = Scene::new();
    let heads = scene.keys("/h/");
    block_on(scene.store.put(&heads[0], "nothing".into())).unwrap();
    assert_eq!(scene.mend(), [] as [u64; 0]);
    assert_eq!(
        scene.read().len() as u64,
        EVENTS,
        "one is lost, and one was appended"
    );
}

/// The newest head was that of a grant, which nobody can read any more: its token is not given again.
#[test]
fn a_damaged_newest_head_brings_no_token_back() {
    let scene = Scene::new();
    let grant = |bucket: &Bucket| {
        let request = LeaseRequest::new(Owner::new("somebody").unwrap());
        block_on(bucket.acquire(&scene.session, request)).unwrap()
    };
    let bucket = scene.open();
    let before = grant(&bucket);
    block_on(scene.store.put(&scene.keys("/h/")[0], "nothing".into())).unwrap();
    drop(bucket);
    scene.mend();
    let bucket = scene.open();
    let after = grant(&bucket);
    assert!(after.token > before.token, "{} again", after.token);
    let late = NewEvent::json(Kind::from_static("note"), "1").unwrap();
    let late = bucket.append(
        &scene.session,
        vec![late],
        AppendCondition::with(before.token),
    );
    assert_eq!(block_on(late).unwrap_err().kind().name(), "fenced");
}

#[test]
fn a_session_without_any_head_is_left_as_it_is() {
    let scene = Scene::new();
    let heads = scene.keys("/h/");
    for head in &heads {
        block_on(scene.store.put(head, "nothing".into())).unwrap();
    }
    let refused = block_on(scene.open().repair(&scene.session.id, true)).unwrap_err();
    assert_eq!(refused.kind().name(), "unsupported");
    assert_eq!(scene.keys("/h/"), heads);
}
