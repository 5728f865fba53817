//! One wrapper around an object store, for all that looks at requests or spoils them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt, future, stream};
use object_store::path::Path;
use object_store::{
    CopyMode, CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    RenameOptions, RenameTargetMode, Result,
};

use super::cloud::{Cloud, spoil};
use super::upload::Upload;
use super::{Fault, Op, Request};

/// Objects on a page of a list, and keys in a bulk delete: what S3 and GCS give and take.
const PAGE: usize = 1000;

/// Sees each request before it is sent.
pub trait Watch: Send + Sync + 'static {
    /// Decides what becomes of a request. It is sent when the future is ready.
    fn request<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Fault>;

    /// Sees each request once it took effect. Its answer is given when the future is ready.
    fn answer(&self) -> BoxFuture<'_, ()> {
        Box::pin(future::ready(()))
    }

    /// Takes note of content that was received.
    fn received(&self, _bytes: u64) {}
}

/// An [`ObjectStore`] whose requests are watched: see [`Counted`](super::Counted),
/// [`Slow`](super::Slow) and [`Faulty`](super::Faulty).
///
/// Every method is forwarded, and each HTTP request that it would cost is one [`Request`]: a list
/// is one for each page of 1,000 objects that is really asked for, a delete of many keys one for
/// each 1,000.
pub struct Wrapped<W> {
    pub(super) watch: Arc<W>,
    pub(super) cloud: Arc<Cloud>,
}

impl<W> Clone for Wrapped<W> {
    fn clone(&self) -> Self {
        Self {
            watch: Arc::clone(&self.watch),
            cloud: Arc::clone(&self.cloud),
        }
    }
}

impl<W> fmt::Debug for Wrapped<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wrapped({:?})", self.cloud.inner)
    }
}

impl<W> fmt::Display for Wrapped<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wrapped({})", self.cloud.inner)
    }
}

impl<W: Watch> Wrapped<W> {
    /// A store with a watch of your own.
    pub fn around(store: Arc<dyn ObjectStore>, watch: W) -> Self {
        Self {
            watch: Arc::new(watch),
            cloud: Arc::new(Cloud::new(store)),
        }
    }

    /// Another client of the same store, with another watch. Both count requests together, and what
    /// one has sent late may arrive between the requests of the other.
    #[must_use]
    pub fn client<V: Watch>(&self, watch: V) -> Wrapped<V> {
        Wrapped {
            watch: Arc::new(watch),
            cloud: Arc::clone(&self.cloud),
        }
    }

    /// Lets everything arrive that is late.
    pub async fn settle(&self) {
        self.cloud.settle().await;
    }

    /// Requests so far, of all clients.
    pub fn requests(&self) -> u64 {
        self.cloud.requests()
    }

    /// Late requests that arrived and took effect, of all clients.
    pub fn zombies(&self) -> u64 {
        self.cloud.zombies()
    }

    /// Asks what becomes of a request; whatever is late enough by then is done first.
    pub(super) async fn ask(&self, op: Op, key: &Path, sent: u64, objects: u64) -> (String, Fault) {
        let request = Request {
            number: self.cloud.next(),
            op,
            key: key.to_string(),
            sent,
            objects,
        };
        let fault = self.watch.request(&request).await;
        self.cloud.arrive().await;
        (request.key, fault)
    }

    /// A request that changes something: sent, lost, or sent later.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        (op, key, sent): (Op, &Path, u64),
        send: impl FnOnce(Arc<dyn ObjectStore>, bool) -> BoxFuture<'static, Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (key, fault) = self.ask(op, key, sent, 1).await;
        let inner = Arc::clone(&self.cloud.inner);
        let done = match fault {
            Fault::Lost | Fault::Throttled => return Err(spoil(fault, op, key)),
            Fault::Conflict if op != Op::Delete => return Err(spoil(fault, op, key)),
            Fault::Late(after) => {
                let late = Box::pin(async move { send(inner, true).await.is_ok() });
                self.cloud.later(after, late);
                return Err(spoil(fault, op, key));
            }
            fault => send(inner, fault != Fault::Unconditional).await,
        };
        self.watch.answer().await;
        let done = done?;
        if op == Op::Create {
            self.cloud.created(key.clone());
        }
        match fault {
            Fault::AnswerLost => Err(spoil(fault, op, key)),
            Fault::OwnRetry if matches!(op, Op::Create | Op::Update) => Err(spoil(fault, op, key)),
            _ => Ok(done),
        }
    }

    async fn delete_some(self, keys: Vec<Path>) -> BoxStream<'static, Result<Path>> {
        let op = if keys.len() == 1 {
            Op::Delete
        } else {
            Op::BulkDelete
        };
        let first = keys.first().cloned().unwrap_or_default();
        let (key, fault) = self.ask(op, &first, 0, keys.len() as u64).await;
        let inner = Arc::clone(&self.cloud.inner);
        let send = |keys: Vec<Path>| inner.delete_stream(stream::iter(keys).map(Ok).boxed());
        match fault {
            Fault::Lost | Fault::Throttled => one(Err(spoil(fault, op, key))),
            Fault::AnswerLost => {
                let _ = send(keys).collect::<Vec<_>>().await;
                one(Err(spoil(fault, op, key)))
            }
            Fault::Late(after) => {
                let late = send(keys).try_collect::<Vec<_>>();
                self.cloud
                    .later(after, Box::pin(async { late.await.is_ok() }));
                one(Err(spoil(fault, op, key)))
            }
            Fault::PartialDelete => {
                let mut done = keys;
                let left = done.split_off(done.len() / 2);
                let failed = left.into_iter();
                let failed = failed.map(move |key| Err(spoil(fault, op, key.to_string())));
                send(done).chain(stream::iter(failed)).boxed()
            }
            _ => send(keys),
        }
    }

    /// A list, a page at a time, each page with a fate of its own.
    fn pages(
        &self,
        prefix: Option<&Path>,
        list: impl FnOnce(&dyn ObjectStore) -> BoxStream<'static, Result<ObjectMeta>> + Send + 'static,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let wrapped = self.clone();
        let prefix = prefix.cloned().unwrap_or_default();
        let start = async move {
            let (key, fault) = wrapped.ask(Op::List, &prefix, 0, 1).await;
            // What is on the first page is decided when it is asked for.
            let objects = list(&*wrapped.cloud.inner).ready_chunks(PAGE).boxed();
            let pages = stream::unfold(
                (objects, Some((key, fault)), wrapped, prefix),
                |(mut objects, fate, wrapped, prefix)| async move {
                    let page = objects.next().await;
                    wrapped.watch.answer().await;
                    // An empty list is a page too, but not what is behind the last one.
                    let page = match (page, &fate) {
                        (None, None) => return None,
                        (page, _) => page.unwrap_or_default(),
                    };
                    let (key, fault) = match fate {
                        Some(first) => first,
                        None => wrapped.ask(Op::List, &prefix, 0, 1).await,
                    };
                    let page = wrapped.cloud.spoil_page(page, key, fault);
                    Some((stream::iter(page), (objects, None, wrapped, prefix)))
                },
            );
            pages.flatten()
        };
        stream::once(start).flatten().boxed()
    }
}

fn one<T: Send + 'static>(item: T) -> BoxStream<'static, T> {
    stream::once(future::ready(item)).boxed()
}

#[async_trait]
impl<W: Watch> ObjectStore for Wrapped<W> {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        opts: PutOptions,
    ) -> Result<PutResult> {
        let op = match opts.mode {
            PutMode::Overwrite => Op::Overwrite,
            PutMode::Create => Op::Create,
            PutMode::Update(_) => Op::Update,
        };
        let (sent, to) = (payload.content_length() as u64, location.clone());
        self.change((op, location, sent), move |inner, conditional| {
            let mut opts = opts;
            if !conditional {
                opts.mode = PutMode::Overwrite;
            }
            Box::pin(async move { inner.put_opts(&to, payload, opts).await })
        })
        .await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let to = location.clone();
        let upload = self.change((Op::Upload, location, 0), move |inner, _| {
            Box::pin(async move { inner.put_multipart_opts(&to, opts).await })
        });
        Ok(Box::new(Upload::new(upload.await?, self.clone(), location)))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let op = if options.head { Op::Head } else { Op::Get };
        let (key, fault) = self.ask(op, location, 0, 1).await;
        if matches!(fault, Fault::Lost | Fault::Throttled) {
            return Err(spoil(fault, op, key));
        }
        let result = self.cloud.inner.get_opts(location, options).await;
        self.watch.answer().await;
        let mut result = result?;
        if op == Op::Get {
            let length = result.range.end - result.range.start;
            let GetResult {
                meta,
                range,
                attributes,
                extensions,
                ..
            } = &result;
            let (meta, range) = (meta.clone(), range.clone());
            let (attributes, extensions) = (attributes.clone(), extensions.clone());
            let broken = fault == Fault::BrokenBody;
            let body = self.body(result.into_stream(), broken.then_some(length / 2), key);
            result = GetResult {
                payload: GetResultPayload::Stream(body),
                meta,
                range,
                attributes,
                extensions,
            };
        }
        Ok(result)
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        // Each range that is not next to another is a request of its own.
        let get = |range: Range<u64>| async move {
            let options = GetOptions {
                range: Some(range.into()),
                ..GetOptions::default()
            };
            self.get_opts(location, options).await?.bytes().await
        };
        object_store::coalesce_ranges(ranges, get, object_store::OBJECT_STORE_COALESCE_DEFAULT)
            .await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let wrapped = self.clone();
        locations
            .try_ready_chunks(PAGE)
            .then(move |keys| {
                let wrapped = wrapped.clone();
                async move {
                    match keys {
                        Ok(keys) => wrapped.delete_some(keys).await,
                        Err(error) => one(Err(error.1)),
                    }
                }
            })
            .flatten()
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let below = prefix.cloned();
        self.pages(prefix, move |inner| inner.list(below.as_ref()))
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let (below, offset) = (prefix.cloned(), offset.clone());
        self.pages(prefix, move |inner| {
            inner.list_with_offset(below.as_ref(), &offset)
        })
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let root = Path::default();
        let (key, fault) = self.ask(Op::List, prefix.unwrap_or(&root), 0, 1).await;
        match fault {
            // It has one answer, so half a list is no list.
            Fault::Lost | Fault::Throttled | Fault::TruncatedList => {
                Err(spoil(fault, Op::List, key))
            }
            fault => {
                let mut result = self.cloud.inner.list_with_delimiter(prefix).await?;
                let objects = result.objects.into_iter().map(Ok).collect();
                let shown = self.cloud.spoil_page(objects, key, fault);
                result.objects = shown.into_iter().flatten().collect();
                Ok(result)
            }
        }
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let (source, target) = (from.clone(), to.clone());
        self.change((Op::Copy, to, 0), move |inner, conditional| {
            let mut options = options;
            if !conditional {
                options.mode = CopyMode::Overwrite;
            }
            Box::pin(async move { inner.copy_opts(&source, &target, options).await })
        })
        .await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        let (source, target) = (from.clone(), to.clone());
        self.change((Op::Rename, to, 0), move |inner, conditional| {
            let mut options = options;
            if !conditional {
                options.target_mode = RenameTargetMode::Overwrite;
            }
            Box::pin(async move { inner.rename_opts(&source, &target, options).await })
        })
        .await
    }
}

impl<W: Watch> Wrapped<W> {
    /// A body whose bytes are noted, and that breaks off behind `whole` bytes if told so.
    fn body(
        &self,
        body: BoxStream<'static, Result<Bytes>>,
        whole: Option<u64>,
        key: String,
    ) -> BoxStream<'static, Result<Bytes>> {
        let watch = Arc::clone(&self.watch);
        let body = body.inspect_ok(move |piece| watch.received(piece.len() as u64));
        let Some(mut left) = whole else {
            return body.boxed();
        };
        let mut error = Some(spoil(Fault::BrokenBody, Op::Get, key));
        body.scan((), move |(), piece| {
            let piece = piece.map(|mut piece| {
                let keep = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
                piece.truncate(keep);
                left = left.saturating_sub(keep as u64);
                piece
            });
            future::ready(match left {
                0 => error.take().map(|error| vec![piece, Err(error)]),
                _ => Some(vec![piece]),
            })
        })
        .map(stream::iter)
        .flatten()
        .boxed()
    }
}
