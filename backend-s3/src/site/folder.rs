//! A local folder of objects, each change of which is on disk before it is called done.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error as StoreError, GetOptions, GetResult, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions,
    Result as StoreResult, UploadPart,
};
use sessionlog_core::{Error, Result};

/// Objects that are deleted before their folders are flushed.
const AT_ONCE: usize = 1000;
/// Folders that are remembered.
const KNOWN: usize = 16_384;

/// Objects in a local folder, flushed: no acknowledged change is lost when the power goes.
///
/// `LocalFileSystem` itself flushes what it puts if told so, but neither a removal, nor a name that
/// it finds there already, nor a folder that somebody else has just made.
#[derive(Clone)]
pub struct Folder(Arc<Inner>);

/// Asks a [`Folder`] for more than an answer: the name that it finds is on disk when it gives it. Whoever put
/// the object may have been killed before the folder was flushed. Other stores need not be asked.
#[derive(Clone, Copy)]
pub(crate) struct Durably;

struct Inner {
    files: LocalFileSystem,
    /// Folders above are not this store's.
    top: PathBuf,
    /// Folders whose own names are on disk.
    known: Mutex<HashSet<PathBuf>>,
}

impl Folder {
    /// The objects in a folder, which must be there. Their keys are relative to it.
    ///
    /// # Errors
    /// `Unavailable` if it is not there or can't be used.
    pub fn new(folder: impl AsRef<FilePath>) -> Result<Self> {
        let unusable = |e| Error::unavailable("the folder can't be used").with_source(e);
        let top = folder.as_ref().canonicalize().map_err(unusable)?;
        let files = LocalFileSystem::new_with_prefix(&top)
            .map_err(|e| Error::unavailable("the folder can't be used").with_source(e))?;
        Ok(Self::of(files, top))
    }

    /// The objects below a key of the file system, where no folder need be.
    pub(super) fn below(prefix: &Path) -> Result<Self> {
        let files = LocalFileSystem::new();
        let top = files
            .path_to_filesystem(prefix)
            .map_err(|e| Error::invalid("file: can't take this path").with_source(e))?;
        Ok(Self::of(files, top))
    }

    fn of(files: LocalFileSystem, top: PathBuf) -> Self {
        Self(Arc::new(Inner {
            files: files.with_fsync(true),
            top,
            known: Mutex::default(),
        }))
    }

    /// Sees to it that a name is on disk: also one of an earlier try whose flush failed, and of a
    /// folder that a process made which ended before it flushed.
    async fn settle(&self, key: &Path, flushed: bool) -> StoreResult<()> {
        let file = self.0.files.path_to_filesystem(key)?;
        let Some(folder) = file.parent().map(FilePath::to_owned) else {
            return Ok(());
        };
        if flushed && self.0.knows(&folder) {
            return Ok(());
        }
        let inner = Arc::clone(&self.0);
        blocking(move || {
            if !flushed {
                flush(&folder)?;
            }
            inner.settle_folders(&folder)
        })
        .await
    }

    /// Deletes some objects, flushes the folders that they were in, and says what became of each.
    async fn delete_some(self, keys: Vec<Path>) -> Vec<StoreResult<Path>> {
        let all = stream::iter(keys.clone()).map(Ok).boxed();
        // One answer for each, in their order.
        let mut answers: Vec<_> = self.0.files.delete_stream(all).collect().await;
        let folder = |key: &Path| {
            let file = self.0.files.path_to_filesystem(key).ok()?;
            file.parent().map(FilePath::to_owned)
        };
        // One that is not there may have been removed by a try whose flush failed.
        let touched = keys.iter().filter_map(folder);
        let touched: HashSet<PathBuf> = touched.collect();
        for changed in touched {
            let at = changed.clone();
            let Err(error) = blocking(move || flush_if_there(&at)).await else {
                continue;
            };
            let mut error = Some(error);
            for (key, answer) in keys.iter().zip(&mut answers) {
                if folder(key).as_ref() == Some(&changed) {
                    let error = error.take().unwrap_or_else(|| not_flushed(&changed, None));
                    *answer = Err(error);
                }
            }
        }
        answers
    }
}

impl Inner {
    fn knows(&self, folder: &FilePath) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.contains(folder)
    }

    /// Flushes the folders that hold the names of a folder and of those above it.
    fn settle_folders(&self, folder: &FilePath) -> StoreResult<()> {
        let mut settled = Vec::new();
        let mut at = folder;
        while !self.knows(at)
            && let Some(above) = at.parent()
        {
            if at == self.top {
                // What is above is not this store's, and need not be readable.
                drop(flush(above));
            } else if at.starts_with(&self.top) {
                flush(above)?;
            } else {
                break;
            }
            settled.push(at.to_owned());
            at = above;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN {
            known.clear();
        }
        known.extend(settled);
        Ok(())
    }
}

/// Does what waits for the disk where it holds nobody up.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> StoreResult<T> + Send + 'static,
) -> StoreResult<T> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await?,
        Err(_) => work(),
    }
}

fn flush(folder: &FilePath) -> StoreResult<()> {
    sync(folder).map_err(|error| not_flushed(folder, Some(error)))
}

/// A folder that is not there has nothing to flush.
fn flush_if_there(folder: &FilePath) -> StoreResult<()> {
    match sync(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done.map_err(|error| not_flushed(folder, Some(error))),
    }
}

fn not_flushed(folder: &FilePath, source: Option<io::Error>) -> StoreError {
    let folder = folder.display();
    let text = match source {
        Some(source) => format!("the folder {folder} could not be flushed: {source}"),
        None => format!("the folder {folder} could not be flushed"),
    };
    StoreError::Generic {
        store: "LocalFileSystem",
        source: text.into(),
    }
}

#[cfg(unix)]
fn sync(folder: &FilePath) -> io::Result<()> {
    std::fs::File::open(folder)?.sync_all()
}

/// Elsewhere folders can't be opened as files, and keep their names by themselves.
#[cfg(not(unix))]
fn sync(_: &FilePath) -> io::Result<()> {
    Ok(())
}

#[async_trait]
impl ObjectStore for Folder {
    async fn put_opts(
        &self,
        at: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> StoreResult<PutResult> {
        match self.0.files.put_opts(at, payload, options).await {
            Ok(put) => {
                self.settle(at, true).await?;
                Ok(put)
            }
            // It may be one's own, of a try whose flush failed.
            Err(error @ StoreError::AlreadyExists { .. }) => {
                self.settle(at, false).await?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        options: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        let inner = self.0.files.put_multipart_opts(at, options).await?;
        let (folder, at) = (self.clone(), at.clone());
        Ok(Box::new(Upload { inner, folder, at }))
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> StoreResult<GetResult> {
        let durably = options.extensions.get::<Durably>().is_some();
        let got = self.0.files.get_opts(at, options).await?;
        if durably {
            self.settle(at, false).await?;
        }
        Ok(got)
    }

    async fn get_ranges(&self, at: &Path, ranges: &[Range<u64>]) -> StoreResult<Vec<Bytes>> {
        self.0.files.get_ranges(at, ranges).await
    }

    fn delete_stream(
        &self,
        keys: BoxStream<'static, StoreResult<Path>>,
    ) -> BoxStream<'static, StoreResult<Path>> {
        let folder = self.clone();
        keys.try_ready_chunks(AT_ONCE)
            .then(move |keys| {
                let folder = folder.clone();
                async move {
                    match keys {
                        Ok(keys) => folder.delete_some(keys).await,
                        Err(error) => vec![Err(error.1)],
                    }
                }
            })
            .map(stream::iter)
            .flatten()
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.0.files.list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.0.files.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> StoreResult<ListResult> {
        self.0.files.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> StoreResult<()> {
        self.0.files.copy_opts(from, to, options).await?;
        self.settle(to, true).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> StoreResult<()> {
        self.0.files.rename_opts(from, to, options).await?;
        self.settle(to, true).await
    }
}

/// An upload in parts, whose name is on disk when it is completed.
#[derive(Debug)]
struct Upload {
    inner: Box<dyn MultipartUpload>,
    folder: Folder,
    at: Path,
}

#[async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, payload: PutPayload) -> UploadPart {
        self.inner.put_part(payload)
    }

    async fn complete(&mut self) -> StoreResult<PutResult> {
        let put = self.inner.complete().await?;
        self.folder.settle(&self.at, true).await?;
        Ok(put)
    }

    async fn abort(&mut self) -> StoreResult<()> {
        self.inner.abort().await
    }
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Folder").field(&self.0.top).finish()
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Folder({})", self.0.top.display())
    }
}
