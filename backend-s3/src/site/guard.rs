//! No write before the store was found fit.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex as SyncMutex, PoisonError};

use async_trait::async_trait;
use futures_util::lock::Mutex;
use futures_util::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error as StoreError, GetOptions, GetResult, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result as StoreResult,
};
use sessionlog_core::Error;

use super::open::unfit;
use super::probe::{Verdict, probe};

/// What is known of one store, shared by all who use it in this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Desk(Arc<Mutex<Option<Verdict>>>);

impl Desk {
    /// The one of the store with this name.
    pub(crate) fn of(name: &str) -> Self {
        static DESKS: LazyLock<SyncMutex<HashMap<String, Desk>>> =
            LazyLock::new(SyncMutex::default);
        let mut desks = DESKS.lock().unwrap_or_else(PoisonError::into_inner);
        desks.entry(name.to_owned()).or_default().clone()
    }
}

/// An object store whose first write probes it, once; if it is not fit, every write is refused.
///
/// Reading probes nothing, so it writes nothing and needs no right to.
#[derive(Debug)]
pub(crate) struct Guarded {
    inner: Arc<dyn ObjectStore>,
    prefix: Path,
    desk: Desk,
}

impl Guarded {
    pub(crate) fn new(inner: Arc<dyn ObjectStore>, prefix: Path, desk: Desk) -> Self {
        Self {
            inner,
            prefix,
            desk,
        }
    }

    async fn fit(&self) -> StoreResult<()> {
        // Whoever comes while somebody probes waits for the answer.
        let mut known = self.desk.0.lock().await;
        let verdict = match &*known {
            Some(verdict) => verdict.clone(),
            None => {
                let verdict = probe(&*self.inner, &self.prefix)
                    .await
                    .map_err(Refusal::boxed)?;
                known.insert(verdict).clone()
            }
        };
        match verdict {
            Verdict::Fit => Ok(()),
            Verdict::Unfit(reason) => Err(Refusal::boxed(unfit(reason, &*self.inner))),
        }
    }
}

#[async_trait]
impl ObjectStore for Guarded {
    async fn put_opts(
        &self,
        at: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> StoreResult<PutResult> {
        self.fit().await?;
        self.inner.put_opts(at, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        options: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        self.fit().await?;
        self.inner.put_multipart_opts(at, options).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> StoreResult<GetResult> {
        self.inner.get_opts(at, options).await
    }

    fn delete_stream(
        &self,
        at: BoxStream<'static, StoreResult<Path>>,
    ) -> BoxStream<'static, StoreResult<Path>> {
        self.inner.delete_stream(at)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.inner.list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.inner.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> StoreResult<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> StoreResult<()> {
        self.fit().await?;
        self.inner.copy_opts(from, to, options).await
    }
}

impl fmt::Display for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.inner, f)
    }
}

/// An error of ours on its way through an interface that knows only those of object stores.
#[derive(Debug)]
struct Refusal(Error);

impl Refusal {
    fn boxed(error: Error) -> StoreError {
        StoreError::Generic {
            store: "sessionlog",
            source: Box::new(Self(error)),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Refusal {}

/// The refusal of an unfit store or of its probe, if that is what the error is. Nothing of what was
/// asked for was done then.
pub(crate) fn refusal(error: &StoreError) -> Option<Error> {
    match error {
        StoreError::Generic { source, .. } => source
            .downcast_ref::<Refusal>()
            .map(|refusal| refusal.0.clone()),
        _ => None,
    }
}
