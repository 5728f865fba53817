//! Stores that are wrong, each in its way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::future::poll_fn;
use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    PutMultipartOptions, PutOptions, PutResult, Result as StoreResult,
};
use sessionlog_core::ErrorKind;

use super::super::guard::{Desk, Guarded};
use super::super::told::told;
use super::*;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// Conditions are not known.
    Overwrites,
    /// Looks, takes the bytes, and writes then.
    TwoSteps,
    /// Refuses a create, and writes it.
    Changes,
    /// Lists nothing of what is new.
    Lags,
    /// Has no conditional create.
    Refuses,
    /// Is down.
    Down,
    /// Answers that a create came second, and it did not come at all.
    Conflicts,
}

#[derive(Debug)]
struct Odd {
    inner: InMemory,
    fault: Fault,
    requests: AtomicUsize,
    puts: AtomicUsize,
}

impl Odd {
    fn new(fault: Fault) -> Self {
        Self {
            inner: InMemory::new(),
            fault,
            requests: AtomicUsize::new(0),
            puts: AtomicUsize::new(0),
        }
    }

    fn count(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    fn there(at: &Path) -> StoreError {
        StoreError::AlreadyExists {
            path: at.to_string(),
            source: "412".into(),
        }
    }
}

async fn let_others_go_on() {
    let mut waited = false;
    poll_fn(|cx| {
        cx.waker().wake_by_ref();
        match std::mem::replace(&mut waited, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}

#[async_trait]
impl ObjectStore for Odd {
    async fn put_opts(
        &self,
        at: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> StoreResult<PutResult> {
        self.count();
        let number = self.puts.fetch_add(1, Ordering::Relaxed);
        let overwrite = PutMode::Overwrite.into();
        match self.fault {
            Fault::Overwrites => self.inner.put_opts(at, payload, overwrite).await,
            Fault::TwoSteps => {
                let there = self.inner.head(at).await.is_ok();
                let_others_go_on().await;
                match there {
                    true => Err(Self::there(at)),
                    false => self.inner.put_opts(at, payload, overwrite).await,
                }
            }
            Fault::Changes => {
                let created = self.inner.put_opts(at, payload.clone(), options).await;
                self.inner.put_opts(at, payload, overwrite).await?;
                created
            }
            Fault::Refuses => Err(StoreError::NotImplemented {
                operation: "create".into(),
                implementer: "this store".into(),
            }),
            Fault::Down => Err(StoreError::Generic {
                store: "S3",
                source: "Server returned non-2xx status code: 503 Service Unavailable: ".into(),
            }),
            Fault::Conflicts if number < RACERS => Err(Self::there(at)),
            _ => self.inner.put_opts(at, payload, options).await,
        }
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        options: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(at, options).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> StoreResult<GetResult> {
        self.count();
        self.inner.get_opts(at, options).await
    }

    fn delete_stream(
        &self,
        at: BoxStream<'static, StoreResult<Path>>,
    ) -> BoxStream<'static, StoreResult<Path>> {
        self.count();
        self.inner.delete_stream(at)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.count();
        match self.fault {
            Fault::Lags => InMemory::new().list(prefix),
            _ => self.inner.list(prefix),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> StoreResult<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> StoreResult<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

impl std::fmt::Display for Odd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an odd store")
    }
}

/// What a first write through the guard gives, and the second.
fn two_writes(store: &Arc<Odd>, desk: &Desk) -> [StoreResult<PutResult>; 2] {
    let guarded = Guarded::new(store.clone(), Path::from("pre fix"), desk.clone());
    ["first", "second"].map(|key| pollster::block_on(guarded.put(&Path::from(key), "x".into())))
}

#[test]
fn a_right_store_is_asked_once_with_twelve_requests_and_left_clean() {
    let (store, desk) = (Arc::new(Odd::new(Fault::None)), Desk::default());
    let left = pollster::block_on(async {
        let guarded = Guarded::new(store.clone(), Path::default(), desk.clone());
        assert!(guarded.list(None).next().await.is_none());
        assert_eq!(store.requests.load(Ordering::Relaxed), 1, "reading probes");
        guarded.put(&Path::from("k"), "x".into()).await.unwrap();
        store
            .inner
            .list(None)
            .map(|o| o.unwrap().location)
            .collect::<Vec<_>>()
            .await
    });
    assert_eq!(left, [Path::from("k")]);
    assert_eq!(store.requests.load(Ordering::Relaxed), 1 + 12 + 1);
    for write in two_writes(&store, &desk) {
        write.unwrap();
    }
    assert_eq!(store.requests.load(Ordering::Relaxed), 1 + 12 + 3);
}

#[test]
fn every_write_to_a_wrong_store_is_refused_with_the_reason() {
    for (fault, says) in [
        (Fault::Overwrites, "not atomic"),
        (Fault::TwoSteps, "not atomic"),
        (Fault::Changes, "was refused changed"),
        (Fault::Lags, "list does not show"),
        (Fault::Refuses, "on a condition"),
    ] {
        let (store, desk) = (Arc::new(Odd::new(fault)), Desk::default());
        let [first, second] = two_writes(&store, &desk);
        for refused in [first, second] {
            let error = told(refused.unwrap_err(), "append");
            assert_eq!(*error.kind(), ErrorKind::Unsupported, "{fault:?}: {error}");
            assert!(error.message().contains(says), "{fault:?}: {error}");
        }
        let requests = store.requests.load(Ordering::Relaxed);
        assert!(requests <= 12, "{fault:?}: {requests}");
    }
}

#[test]
fn a_store_that_could_not_be_asked_is_asked_again() {
    for fault in [Fault::Down, Fault::Conflicts] {
        let (store, desk) = (Arc::new(Odd::new(fault)), Desk::default());
        let [first, second] = two_writes(&store, &desk);
        let error = told(first.unwrap_err(), "append");
        assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
        assert_eq!(second.is_ok(), fault == Fault::Conflicts);
    }
}

#[test]
fn who_writes_while_the_store_is_asked_waits_for_the_answer() {
    let (store, desk) = (Arc::new(Odd::new(Fault::None)), Desk::default());
    let writes = (0..20).map(|n| {
        let guarded = Guarded::new(store.clone(), Path::default(), desk.clone());
        async move {
            guarded
                .put(&Path::from(format!("k{n}")), "x".into())
                .await
                .unwrap()
        }
    });
    pollster::block_on(join_all(writes));
    assert_eq!(store.requests.load(Ordering::Relaxed), 12 + 20);
}
