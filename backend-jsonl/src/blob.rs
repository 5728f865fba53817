//! Blobs: files named by the hash of their content.

use std::fs::{self, File};
use std::io::ErrorKind as Io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use sessionlog_core::{
    BlobHasher, BlobId, BlobInfo, BlobStore, Error, FencingToken, Pieces, Place, Result,
    SessionRef, fence,
};

use crate::dir::{BLOBS, SessionDir, TEMPORARY};
use crate::life::Life;
use crate::slots::Slots;
use crate::store::Jsonl;
use sessionlog_local::files::{
    create_new, failed, failed_to_move, make_dir, open_read, open_write, read_range, sync_dir,
    unique, wide, write_all_at,
};
use sessionlog_local::lock::try_whole;

/// How much is read at a time.
const PIECE: u64 = 256 << 10;

/// A blob that is being written: locked, so that it is not taken for a leftover, and removed again
/// unless it gets its name.
struct Unfinished {
    file: File,
    path: PathBuf,
}

impl Unfinished {
    fn new(folder: &Path) -> std::io::Result<Self> {
        let path = folder.join(format!("{TEMPORARY}{}", unique()));
        let file = create_new(&path)?;
        let unfinished = Self { file, path };
        try_whole(&unfinished.file)?;
        Ok(unfinished)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // It is gone if it got its name, and cleared by a later put if this fails.
        drop(fs::remove_file(&self.path));
    }
}

/// The right to change the blobs of a session.
async fn allowed<'a>(
    life: &'a Life,
    token: Option<FencingToken>,
) -> Result<crate::append_lock::AppendLock<'a>> {
    let mut lock = life.lock().await?;
    life.is_current()?;
    if token.is_some() {
        fence(token, Slots::read(&life.dir)?.newest())?;
    }
    lock.settle(life)?;
    Ok(lock)
}

/// Removes what crashes left in the folder. To be called under the append lock.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with(TEMPORARY)
            && open_write(&path).is_ok_and(|file| try_whole(&file).unwrap_or(false))
        {
            drop(fs::remove_file(path));
        }
    }
}

#[async_trait]
impl BlobStore for Jsonl {
    async fn put(
        &self,
        session: &SessionRef,
        mut content: Pieces,
        token: Option<FencingToken>,
    ) -> Result<BlobInfo> {
        let life = self.life(session)?;
        let folder = life.dir.join(BLOBS);
        let unwritten = || failed("write a blob in", &folder);
        let unfinished = {
            let _lock = allowed(&life, token).await?;
            make_dir(&folder).map_err(failed("make the folder", &folder))?;
            sync_dir(life.dir.path()).map_err(failed("flush", life.dir.path()))?;
            sweep(&folder);
            Unfinished::new(&folder).map_err(unwritten())?
        };
        let mut hasher = BlobHasher::default();
        let mut len = 0;
        while let Some(piece) = content.try_next().await? {
            hasher.update(&piece);
            write_all_at(&unfinished.file, &piece, len).map_err(unwritten())?;
            len += wide(piece.len());
        }
        unfinished.file.sync_all().map_err(unwritten())?;
        let id = hasher.finish();
        let _lock = allowed(&life, token).await?;
        fs::rename(&unfinished.path, folder.join(id.to_string()))
            .map_err(failed_to_move("write a blob", &unfinished.path))?;
        sync_dir(&folder).map_err(|e| {
            Error::indeterminate("the blob was stored, but perhaps not durably").with_source(e)
        })?;
        Ok(BlobInfo::new(id, len))
    }

    fn get(&self, session: &SessionRef, id: BlobId, range: Range<u64>) -> Pieces {
        let (store, session) = (self.clone(), session.clone());
        let opened = move || {
            let life = store.life(&session)?;
            Reading::open(&life.dir, id, range)
        };
        stream::once(async move { opened() })
            .map_ok(|reading| {
                stream::unfold(Some(reading), |reading| async move {
                    let mut reading = reading?;
                    let piece = reading.next()?;
                    let more = piece.is_ok().then_some(reading);
                    Some((piece, more))
                })
            })
            .try_flatten()
            .boxed()
    }

    fn list(&self, session: &SessionRef) -> BoxStream<'static, Result<BlobInfo>> {
        match self.life(session).and_then(|life| blobs(&life.dir)) {
            Ok(blobs) => stream::iter(blobs.into_iter().map(Ok)).boxed(),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }

    async fn remove(
        &self,
        session: &SessionRef,
        id: BlobId,
        token: Option<FencingToken>,
    ) -> Result<()> {
        let life = self.life(session)?;
        let _lock = allowed(&life, token).await?;
        let Some(folder) = life.dir.folder(BLOBS) else {
            return Ok(());
        };
        let path = folder.join(id.to_string());
        match fs::remove_file(&path) {
            // Who removed it may not have flushed that.
            Err(e) if e.kind() == Io::NotFound => {}
            removed => removed.map_err(failed_to_move("remove", &path))?,
        }
        sync_dir(&folder).map_err(|e| {
            Error::indeterminate("the blob was removed, but perhaps not durably").with_source(e)
        })
    }
}

/// The blobs of a session.
pub(crate) fn blobs(dir: &SessionDir) -> Result<Vec<BlobInfo>> {
    let Some(folder) = dir.folder(BLOBS) else {
        return Ok(Vec::new());
    };
    let listed = match fs::read_dir(&folder) {
        Err(e) if e.kind() == Io::NotFound => return Ok(Vec::new()),
        listed => listed.map_err(failed("list", &folder))?,
    };
    let mut blobs = Vec::new();
    for entry in listed {
        let entry = entry.map_err(failed("list", &folder))?;
        if let Ok(id) = entry.file_name().to_string_lossy().parse()
            && let Ok(meta) = fs::symlink_metadata(entry.path())
            && meta.is_file()
        {
            let len = meta.len();
            blobs.push(BlobInfo::new(id, len));
        }
    }
    Ok(blobs)
}

/// A blob that is being read.
pub(crate) struct Reading {
    file: File,
    path: PathBuf,
    place: Place,
    id: BlobId,
    next: u64,
    end: u64,
    /// Checks the content, if all of it is read.
    hasher: Option<BlobHasher>,
}

impl Reading {
    pub(crate) fn open(dir: &SessionDir, id: BlobId, range: Range<u64>) -> Result<Self> {
        let none = || Error::not_found(format!("there is no such blob: {id}"));
        let folder = dir.folder(BLOBS).ok_or_else(none)?;
        let path = folder.join(id.to_string());
        let file = match open_read(&path) {
            Err(e) if e.kind() == Io::NotFound => return Err(none()),
            opened => opened.map_err(failed("open", &path))?,
        };
        let len = file.metadata().map_err(failed("look at", &path))?.len();
        let whole = range.start == 0 && range.end >= len;
        Ok(Self {
            file,
            path,
            place: Place::file(dir.relative(&format!("{BLOBS}/{id}"))),
            id,
            next: range.start,
            end: range.end.min(len),
            hasher: whole.then(BlobHasher::default),
        })
    }

    /// The next piece; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<Result<Bytes>> {
        if self.next >= self.end {
            let hasher = self.hasher.take()?;
            return (hasher.finish() != self.id).then(|| Err(self.damaged()));
        }
        let to = self.end.min(self.next.saturating_add(PIECE));
        let piece = match read_range(&self.file, self.next, to) {
            Ok(piece) => Bytes::from(piece),
            Err(e) => return Some(Err(failed("read", &self.path)(e))),
        };
        if piece.is_empty() {
            self.next = self.end;
            return Some(Err(self.damaged()));
        }
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&piece);
        }
        self.next += wide(piece.len());
        Some(Ok(piece))
    }

    fn damaged(&self) -> Error {
        Error::corrupt(
            self.place.clone(),
            "the content of the blob does not match its name",
        )
    }
}
