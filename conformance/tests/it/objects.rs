//! The wrappers of object stores: what each fault does, and what is counted.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    Error, ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions, PutResult, Result,
};
use sessionlog_conformance::objects::{Counted, Fault, Faulty, Op, Slow};

fn run<T>(future: impl Future<Output = T>) -> T {
    pollster::block_on(future)
}

async fn create(store: &dyn ObjectStore, key: &str, content: &'static str) -> Result<PutResult> {
    let mode = PutMode::Create.into();
    store.put_opts(&key.into(), content.into(), mode).await
}

async fn content(store: &dyn ObjectStore, key: &str) -> Option<String> {
    let got = store.get(&Path::from(key)).await.ok()?;
    let bytes = got.bytes().await.ok()?;
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

async fn keys(store: &dyn ObjectStore) -> Vec<Result<String>> {
    let listed = store.list(None);
    listed
        .map(|meta| meta.map(|meta| meta.location.to_string()))
        .collect()
        .await
}

fn scripted(script: &[Fault]) -> (Arc<InMemory>, Faulty) {
    let raw = Arc::new(InMemory::new());
    let faulty = Faulty::scripted(raw.clone(), script.iter().copied());
    (raw, faulty)
}

/// What a create with a fault answers, and whether the object is there right after it.
async fn fate(fault: Fault) -> (Result<PutResult>, bool) {
    let (raw, faulty) = scripted(&[fault]);
    let answer = create(&faulty, "a", "x").await;
    (answer, content(&*raw, "a").await.is_some())
}

#[test]
fn each_fault_of_a_put_does_what_it_says() {
    run(async {
        assert!(matches!(fate(Fault::None).await, (Ok(_), true)));
        assert!(matches!(fate(Fault::Unconditional).await, (Ok(_), true)));
        for fault in [Fault::Lost, Fault::Throttled, Fault::Late(3)] {
            assert!(matches!(
                fate(fault).await,
                (Err(Error::Generic { .. }), false)
            ));
        }
        let lost = fate(Fault::AnswerLost).await;
        assert!(matches!(lost, (Err(Error::Generic { .. }), true)));
        let conflict = fate(Fault::Conflict).await;
        assert!(matches!(
            conflict,
            (Err(Error::AlreadyExists { .. }), false)
        ));
        let own = fate(Fault::OwnRetry).await;
        assert!(matches!(own, (Err(Error::AlreadyExists { .. }), true)));
    });
}

#[test]
fn a_late_put_arrives_after_so_many_requests_and_keeps_its_condition() {
    run(async {
        let (raw, faulty) = scripted(&[Fault::Late(2), Fault::Late(2)]);
        create(&faulty, "a", "late").await.unwrap_err();
        create(&faulty, "b", "late").await.unwrap_err();
        raw.put(&"b".into(), "first".into()).await.unwrap();
        faulty.head(&"c".into()).await.unwrap_err();
        assert_eq!(content(&*raw, "a").await, None);
        faulty.head(&"c".into()).await.unwrap_err();
        assert_eq!(content(&*raw, "a").await.as_deref(), Some("late"));
        faulty.settle().await;
        assert_eq!(content(&*raw, "b").await.as_deref(), Some("first"));
        assert_eq!((faulty.zombies(), faulty.requests()), (1, 4));
    });
}

#[test]
fn what_one_client_sent_late_arrives_between_requests_of_another() {
    run(async {
        let (raw, faulty) = scripted(&[Fault::Late(0)]);
        let other = faulty.beside(|_| Fault::None);
        create(&faulty, "a", "late").await.unwrap_err();
        assert_eq!(content(&other, "a").await.as_deref(), Some("late"));
        assert!(content(&*raw, "a").await.is_some());
    });
}

#[test]
fn lists_break_off_lag_and_are_counted_by_page() {
    run(async {
        let (_, faulty) = scripted(&[Fault::None; 4]);
        for key in ["a", "b", "c", "d"] {
            create(&faulty, key, "x").await.unwrap();
        }
        let half = Faulty::scripted(Arc::new(faulty.clone()), [Fault::TruncatedList]);
        let shown = keys(&half).await;
        assert_eq!(shown.len(), 3);
        assert!(shown[..2].iter().all(Result::is_ok) && shown[2].is_err());
        let stale = faulty.beside(|_| Fault::StaleList(1));
        let shown: Vec<_> = keys(&stale).await.into_iter().flatten().collect();
        assert_eq!(shown, ["a", "b", "c"]);

        let raw = Arc::new(InMemory::new());
        for n in 0..2_001 {
            raw.put(&format!("k/{n:04}").into(), "x".into())
                .await
                .unwrap();
        }
        let counted = Counted::new(raw);
        assert_eq!(counted.list(None).count().await, 2_001);
        assert_eq!(counted.counts().list_pages, 3);
        let before = counted.counts();
        let first = counted.list(None).try_next().await.unwrap();
        assert!(first.is_some());
        counted.list(Some(&"nothing".into())).count().await;
        assert_eq!(counted.counts().since(&before).list_pages, 2);
    });
}

#[test]
fn a_list_shows_what_is_there_when_it_is_asked_for() {
    run(async {
        let counted = Counted::new(Arc::new(InMemory::new()));
        let listed = counted.list(None);
        create(&counted, "a", "x").await.unwrap();
        assert_eq!(listed.count().await, 1);
    });
}

#[test]
fn bodies_break_off_in_the_middle() {
    run(async {
        let (_, faulty) = scripted(&[Fault::None, Fault::BrokenBody, Fault::None]);
        create(&faulty, "a", "0123456789").await.unwrap();
        let broken = faulty.get(&"a".into()).await.unwrap().into_stream();
        let pieces: Vec<_> = broken.collect().await;
        assert_eq!(pieces[0].as_ref().unwrap(), "01234");
        assert!(pieces.len() == 2 && pieces[1].is_err());
        assert_eq!(content(&faulty, "a").await.unwrap(), "0123456789");
    });
}

#[test]
fn bulk_deletes_are_one_request_and_can_be_partial() {
    run(async {
        let raw = Arc::new(InMemory::new());
        let four = ["a", "b", "c", "d"].map(Path::from);
        for key in &four {
            raw.put(key, "x".into()).await.unwrap();
        }
        let faulty = Faulty::scripted(raw.clone(), [Fault::PartialDelete]);
        let counted = Counted::new(Arc::new(faulty));
        let named = stream::iter(four.clone()).map(Ok).boxed();
        let outcomes: Vec<_> = counted.delete_stream(named).collect().await;
        assert_eq!(outcomes.iter().filter(|o| o.is_ok()).count(), 2);
        assert_eq!(outcomes.len(), 4);
        assert_eq!(keys(&*raw).await.len(), 2);
        counted.delete(&"c".into()).await.unwrap();
        let counts = counted.counts();
        assert_eq!((counts.bulk_deletes, counts.deletes), (1, 1));
        assert_eq!(counts.deleted_objects, 5);
    });
}

#[test]
fn uploads_in_parts_stay_half() {
    run(async {
        let upload = async |script: &[Fault]| {
            let (raw, faulty) = scripted(script);
            let options = PutMultipartOptions::default();
            let mut upload = faulty
                .put_multipart_opts(&"a".into(), options)
                .await
                .unwrap();
            let mut sent = Ok(());
            for part in ["first", "second"] {
                sent = sent.and(upload.put_part(part.into()).await);
            }
            let done = upload.complete().await;
            (
                sent.is_ok(),
                done.is_ok(),
                content(&*raw, "a").await.is_some(),
            )
        };
        let (ok, lost) = (Fault::None, Fault::Lost);
        assert_eq!(upload(&[]).await, (true, true, true));
        assert_eq!(upload(&[ok, ok, lost]).await, (false, false, false));
        assert_eq!(upload(&[ok, ok, ok, lost]).await, (true, false, false));
        let answer = upload(&[ok, ok, ok, Fault::AnswerLost]).await;
        assert_eq!(answer, (true, false, true));
        let late = upload(&[ok, ok, ok, Fault::Late(0)]).await;
        assert_eq!(late, (true, false, false));
    });
}

#[test]
fn every_method_reaches_the_store_and_is_seen() {
    run(async {
        let seen: Arc<Mutex<Vec<Op>>> = Arc::default();
        let noted = Arc::clone(&seen);
        let store = Faulty::new(Arc::new(InMemory::new()), move |request| {
            noted.lock().unwrap().push(request.op);
            Fault::None
        });
        let (a, b): (Path, Path) = ("d/a".into(), "d/b".into());
        let put = store.put(&a, "abc".into()).await.unwrap();
        let update = PutMode::Update(put.into()).into();
        store.put_opts(&a, "defghi".into(), update).await.unwrap();
        store.copy(&a, &b).await.unwrap();
        store.rename_if_not_exists(&b, &"d/c".into()).await.unwrap();
        let ranges = store.get_ranges(&a, &[0..2, 4..6]).await.unwrap();
        assert_eq!(ranges, ["de", "hi"]);
        store.head(&a).await.unwrap();
        let listed = store.list_with_delimiter(None).await.unwrap();
        assert_eq!(listed.common_prefixes, [Path::from("d")]);
        let offset = store.list_with_offset(None, &a);
        assert_eq!(offset.count().await, 1);
        let seen = seen.lock().unwrap().clone();
        use Op::{Copy, Get, Head, List, Overwrite, Rename, Update};
        assert_eq!(
            seen,
            [Overwrite, Update, Copy, Rename, Get, Head, List, List]
        );
    });
}

#[test]
fn a_slow_store_takes_its_time_for_each_request_alone() {
    run(async {
        let latency = Duration::from_millis(20);
        let store = Slow::new(Arc::new(InMemory::new()), move |_| latency);
        let start = Instant::now();
        let puts = (0..50).map(|n| {
            let (store, key) = (store.clone(), format!("{n}"));
            async move { create(&store, &key, "x").await }
        });
        let puts = futures_util::future::join_all(puts).await;
        assert!(puts.iter().all(Result::is_ok));
        assert!(start.elapsed() >= latency);
    });
}
