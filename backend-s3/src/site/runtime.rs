//! The clients of object stores need tokio; whoever uses them here does not.

use std::fmt;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::thread;

use async_trait::async_trait;
use futures_util::Stream;
use futures_util::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error as StoreError, GetOptions, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result as StoreResult,
};
use sessionlog_core::{Error, Result};
use tokio::runtime::{Builder, Handle};

/// The runtime of all clients: one thread, started by the first client and kept for the life of the
/// process.
///
/// It is used from within other runtimes, too: a connection that outlives the runtime it was made in
/// would break the next request.
pub(crate) fn handle() -> Result<Handle> {
    static STARTED: Mutex<Option<Handle>> = Mutex::new(None);
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = &*started {
        return Ok(handle.clone());
    }
    let refused = |e| Error::unavailable("can't start the thread for object stores").with_source(e);
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(refused)?;
    let handle = runtime.handle().clone();
    thread::Builder::new()
        .name("sessionlog-objects".to_owned())
        .spawn(move || runtime.block_on(pending::<()>()))
        .map_err(refused)?;
    *started = Some(handle.clone());
    Ok(handle)
}

/// A client whose timers, connections and bodies belong to a runtime that need not be the caller's.
pub(crate) struct OnRuntime {
    inner: Arc<dyn ObjectStore>,
    handle: Handle,
}

impl OnRuntime {
    pub(crate) fn new(inner: Arc<dyn ObjectStore>, handle: Handle) -> Self {
        Self { inner, handle }
    }

    fn within<'a, T: Send + 'a>(
        &self,
        work: impl Future<Output = T> + Send + 'a,
    ) -> Within<BoxFuture<'a, T>> {
        Within {
            inner: Box::pin(work),
            handle: self.handle.clone(),
        }
    }

    fn stream<T: 'static>(&self, inner: BoxStream<'static, T>) -> BoxStream<'static, T> {
        let handle = self.handle.clone();
        Box::pin(Within { inner, handle })
    }
}

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A future or a stream that is polled within a runtime.
struct Within<T> {
    inner: T,
    handle: Handle,
}

impl<T> Future for Within<BoxFuture<'_, T>> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let this = &mut *self;
        let _within = this.handle.enter();
        this.inner.as_mut().poll(cx)
    }
}

impl<T> Stream for Within<BoxStream<'static, T>> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let this = &mut *self;
        let _within = this.handle.enter();
        this.inner.as_mut().poll_next(cx)
    }
}

#[async_trait]
impl ObjectStore for OnRuntime {
    async fn put_opts(
        &self,
        at: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> StoreResult<PutResult> {
        self.within(self.inner.put_opts(at, payload, options)).await
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        // Its parts would leave the runtime; nothing here writes in parts.
        Err(StoreError::NotImplemented {
            operation: "put_multipart".to_owned(),
            implementer: self.to_string(),
        })
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> StoreResult<GetResult> {
        let mut result = self.within(self.inner.get_opts(at, options)).await?;
        if let GetResultPayload::Stream(body) = result.payload {
            result.payload = GetResultPayload::Stream(self.stream(body));
        }
        Ok(result)
    }

    fn delete_stream(
        &self,
        at: BoxStream<'static, StoreResult<Path>>,
    ) -> BoxStream<'static, StoreResult<Path>> {
        self.stream(self.inner.delete_stream(at))
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.stream(self.inner.list(prefix))
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.stream(self.inner.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> StoreResult<ListResult> {
        self.within(self.inner.list_with_delimiter(prefix)).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> StoreResult<()> {
        self.within(self.inner.copy_opts(from, to, options)).await
    }
}

/// Like `Display`: the clients' own `Debug` shows tokens.
impl fmt::Debug for OnRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.inner, f)
    }
}

impl fmt::Display for OnRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.inner, f)
    }
}
