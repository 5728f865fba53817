//! Many objects: long lists, and collections that hold few names at once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_timer::Delay;
use futures_util::future::{BoxFuture, join_all};
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use pollster::block_on;
use sessionlog_backend_s3::{Bucket, Folder, Options};
use sessionlog_conformance::objects::{Counted, Fault, Faulty, Op, Request, Slow, Watch, Wrapped};
use sessionlog_core::{AppendCondition, EventLog, Kind, NewEvent, SessionRef, Upkeep};

/// Sessions with three objects in the folder of each.
async fn sessions(store: &Arc<InMemory>, count: u32) {
    let bucket = Bucket::new(Arc::clone(store) as _, "", Options::default());
    for n in 0..count {
        let session = SessionRef::fresh(format!("s{n}").parse().unwrap());
        bucket.create(&session).await.unwrap();
        for _ in 0..2 {
            let new = NewEvent::json(Kind::from_static("note"), "1").unwrap();
            let condition = AppendCondition::NONE;
            bucket.append(&session, vec![new], condition).await.unwrap();
        }
    }
}

fn in_order(at: bool) -> Options {
    let mut options = Options::default();
    options.lists_in_order = Some(at);
    options.pause = Duration::ZERO;
    options
}

/// So many objects that are not the store's.
async fn put_foreign(store: &InMemory, many: usize) {
    let puts = (0..many).map(|n| async move {
        let key = format!("p/{n}").into();
        store.put(&key, "".into()).await.unwrap()
    });
    join_all(puts).await;
}

#[test]
fn a_list_may_take_longer_than_a_request_if_no_page_does() {
    block_on(async {
        let store = Arc::new(InMemory::new());
        put_foreign(&store, 3_500).await;
        let page = Duration::from_millis(400);
        let slow = Arc::new(Slow::new(Arc::clone(&store) as _, move |_| page));
        for at in [true, false] {
            let mut options = in_order(at);
            // And a second for the megabyte that a page may have.
            options.request_timeout = Duration::from_millis(100);
            options.tries = 1;
            let bucket = Bucket::new(Arc::clone(&slow) as _, "p", options);
            assert_eq!(bucket.strays().await.unwrap().len(), 3_500);
        }
    });
}

#[test]
fn a_list_in_order_goes_on_where_it_broke_off() {
    block_on(async {
        let store = Arc::new(InMemory::new());
        put_foreign(&store, 2_500).await;
        // The second page breaks off in its middle, and the one behind that is lost.
        let script = [Fault::None, Fault::TruncatedList, Fault::Lost];
        for (at, pages) in [(true, 4), (false, 6)] {
            let faulty = Faulty::scripted(Arc::clone(&store) as _, script);
            let bucket = Bucket::new(Arc::new(faulty.clone()), "p", in_order(at));
            let found = bucket.strays().await.unwrap();
            let places: BTreeSet<_> = found.iter().map(|f| f.place.file.clone()).collect();
            assert_eq!((found.len(), places.len()), (2_500, 2_500));
            assert_eq!(faulty.requests(), pages, "in order: {at}");
        }
    });
}

/// What a collection has under way and behind it, as its requests show.
#[derive(Default)]
struct Progress {
    /// Objects of sessions that were listed.
    listed: usize,
    /// Heads that were asked for.
    looked: usize,
    /// Gets under way, and the most there were.
    open: usize,
    most: usize,
    /// Sessions that were listed and not asked for, at most.
    behind: usize,
}

struct Watched {
    progress: Arc<Mutex<Progress>>,
    /// Objects on a page of the list of all.
    page: usize,
}

impl Watched {
    fn sent(&self, request: &Request) {
        let mut now = self.progress.lock().unwrap();
        if request.op == Op::List && request.key.starts_with("v1/s") {
            now.behind = now.behind.max((now.listed / 3).saturating_sub(now.looked));
            now.listed += if request.key == "v1/s" { self.page } else { 3 };
        }
        if request.op == Op::Get {
            now.looked += 1;
            now.open += 1;
            now.most = now.most.max(now.open);
        }
    }
}

impl Watch for Watched {
    fn request<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Fault> {
        Box::pin(async move {
            self.sent(request);
            if request.op == Op::Get {
                Delay::new(Duration::from_millis(2)).await;
                self.progress.lock().unwrap().open -= 1;
            }
            Fault::None
        })
    }
}

#[test]
fn a_collection_holds_few_sessions_at_once_and_looks_at_sixteen() {
    const SESSIONS: u32 = 1_400;
    block_on(async {
        let store = Arc::new(InMemory::new());
        sessions(&store, SESSIONS).await;
        for at in [true, false] {
            let progress = Arc::new(Mutex::new(Progress::default()));
            let watch = Watched {
                progress: Arc::clone(&progress),
                page: if at { 1000 } else { 0 },
            };
            let watched = Wrapped::around(Arc::clone(&store) as _, watch);
            let bucket = Bucket::new(Arc::new(watched), "", in_order(at));
            assert_eq!(bucket.gc(false, |_, _| ()).await.unwrap().objects, 0);
            let progress = progress.lock().unwrap();
            assert_eq!(progress.looked, 1_400);
            assert_eq!(progress.most, 16, "in order: {at}");
            // A page, and those that are looked at.
            let most = if at { 1000 / 3 + 16 } else { 40 };
            assert!(progress.behind <= most, "{} sessions", progress.behind);
        }
    });
}

#[test]
fn a_collection_lists_no_session_for_itself_where_lists_are_in_order() {
    block_on(async {
        let store = Arc::new(InMemory::new());
        sessions(&store, 1_100).await;
        for (at, lists) in [(true, 1 + 4 + 2), (false, 1 + 1 + 1_100 + 2)] {
            let counted = Counted::new(Arc::clone(&store) as _);
            let bucket = Bucket::new(Arc::new(counted.clone()), "", in_order(at));
            bucket.gc(false, |_, _| ()).await.unwrap();
            let counts = counted.counts();
            assert_eq!((counts.list_pages, counts.gets), (lists, 1_100));
            assert_eq!(counts.requests(), lists + 1_100);
        }
    });
}

#[test]
fn a_collection_of_thousands_deletes_a_thousand_at_a_time_and_tells_each() {
    block_on(async {
        let store = Arc::new(InMemory::new());
        sessions(&store, 1_100).await;
        let counted = Counted::new(Arc::clone(&store) as _);
        let mut options = in_order(true);
        (options.retention, options.reader_grace) = (Duration::ZERO, Duration::ZERO);
        let calm = Bucket::new(Arc::clone(&store) as _, "", options.clone());
        let ids = (0..1_100).map(|n| format!("s{n}").parse().unwrap());
        for id in ids {
            let (session, _) = calm.head(&id).await.unwrap();
            calm.delete(&session, None).await.unwrap();
        }
        let bucket = Bucket::new(Arc::new(counted.clone()), "", options);
        assert_eq!(bucket.gc(false, |_, _| ()).await.unwrap().closed, 1_100);
        let before = counted.counts();
        let mut told = BTreeSet::new();
        let found = bucket
            .gc(false, |key, _| assert!(told.insert(key.to_owned())))
            .await
            .unwrap();
        let deletes = counted.counts().since(&before);
        assert_eq!(told.len() as u64, found.objects);
        assert_eq!(deletes.deleted_objects, found.objects);
        assert_eq!(deletes.bulk_deletes, found.objects.div_ceil(1000));
        assert_eq!(bucket.gc(false, |_, _| ()).await.unwrap().objects, 0);
    });
}

#[test]
fn a_store_that_lists_in_another_order_than_it_says_loses_nothing() {
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Folder::new(folder.path()).unwrap());
        let mut options = in_order(true);
        (options.retention, options.reader_grace) = (Duration::ZERO, Duration::ZERO);
        let bucket = Bucket::new(store, "", options);
        for n in 0..40 {
            let session = SessionRef::fresh(format!("s{n}").parse().unwrap());
            bucket.create(&session).await.unwrap();
        }
        let refused = bucket.gc(false, |_, _| ()).await.unwrap_err();
        assert_eq!(refused.kind().name(), "unsupported", "{refused}");
        for n in 0..40 {
            bucket
                .head(&format!("s{n}").parse().unwrap())
                .await
                .unwrap();
        }
    });
}
