//! Blobs: an object for each put of one, which has the name of its content, and one of its own.
//!
//! No two puts share a key. So a delete that comes late, of one who removed the blob before it was
//! put, takes nothing that was put since.

use std::collections::BTreeMap;
use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::try_join;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use sessionlog_core::{
    BlobHasher, BlobId, BlobInfo, BlobStore, Error, ErrorKind, FencingToken, Pieces, Place, Result,
    SessionRef, fence,
};

use crate::Bucket;
use crate::codec::{narrow, wide};
use crate::copies::{self, Copies};
use crate::objects::Listed;

/// Bytes that a get asks for at a time.
const PIECE: u64 = 8 << 20;
/// Copies that a get tries for a piece, if they are removed one after another.
const TRIES: u32 = 6;
/// What is said of a blob that is not what its name says.
pub(crate) const DAMAGED: &str = "the blob does not match its name";

#[async_trait]
impl BlobStore for Bucket {
    async fn put(
        &self,
        session: &SessionRef,
        content: Pieces,
        token: Option<FencingToken>,
    ) -> Result<BlobInfo> {
        let mut parts = content;
        let mut content = Vec::new();
        while let Some(piece) = parts.try_next().await? {
            content.extend_from_slice(&piece);
        }
        let content = Bytes::from(content);
        let info = BlobInfo::new(BlobId::of(&content), wide(content.len()));
        self.may_write(session, token).await?;
        let key = copies::put(
            &self.env.objects,
            &self.env.keys,
            session,
            info.id,
            &content,
        )
        .await?;
        // A lease that was granted while the content was on its way comes before it, and so does a
        // deletion. What the new holder put is another object.
        let behind = self.may_stay(session, token).await;
        let refused = |error: &Error| error.is_not_found() || is_fenced(error);
        if behind.as_ref().is_err_and(refused) {
            self.env.objects.delete(vec![key]).await?;
        }
        behind.map(|()| info)
    }

    fn get(&self, session: &SessionRef, id: BlobId, range: Range<u64>) -> Pieces {
        let reading = Reading {
            bucket: self.clone(),
            session: session.clone(),
            id,
            range,
            copy: None,
            hasher: None,
        };
        stream::unfold(Some(reading), |reading| async move {
            let mut reading = reading?;
            match reading.piece().await {
                Ok(Some(piece)) => Some((Ok(piece), Some(reading))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        })
        .boxed()
    }

    fn list(&self, session: &SessionRef) -> BoxStream<'static, Result<BlobInfo>> {
        let (bucket, session) = (self.clone(), session.clone());
        stream::once(async move { bucket.blobs(&session).await })
            .flat_map(|all| match all {
                Ok(all) => stream::iter(all.into_iter().map(Ok).collect::<Vec<_>>()),
                Err(error) => stream::iter(vec![Err(error)]),
            })
            .boxed()
    }

    async fn remove(
        &self,
        session: &SessionRef,
        id: BlobId,
        token: Option<FencingToken>,
    ) -> Result<()> {
        // Copies first: those of a holder that came since are not among them, or it is seen.
        let copies = self.copies(session, id).await?;
        self.may_write(session, token).await?;
        let mut keys: Vec<Path> = copies.into_keys(id).collect();
        keys.push(self.env.keys.shared_blob(session, id));
        self.env.objects.delete(keys).await
    }
}

impl Bucket {
    /// # Errors
    /// `NotFound`, `Fenced`.
    pub(crate) async fn may_write(
        &self,
        session: &SessionRef,
        token: Option<FencingToken>,
    ) -> Result<()> {
        let view = self.seat(&session.id).fresh().await?;
        view.is(session)?;
        fence(token, view.state.token)
    }

    /// As [`Self::may_write`], behind a put.
    ///
    /// # Errors
    /// `NotFound`, `Fenced`; `Indeterminate` if it could not be seen.
    pub(crate) async fn may_stay(
        &self,
        session: &SessionRef,
        token: Option<FencingToken>,
    ) -> Result<()> {
        let looked = self.may_write(session, token).await;
        looked.map_err(|error| match error.kind() {
            ErrorKind::Unavailable => {
                Error::indeterminate("it was put, but not seen whether its session is still there")
                    .with_source(error)
            }
            _ => error,
        })
    }

    /// The copies of a blob that have a name of their own, and of others. Cost: 1 LIST, or one more
    /// for each 256,000 that the session has of all blobs.
    async fn copies(&self, session: &SessionRef, id: BlobId) -> Result<Copies> {
        let keys = &self.env.keys;
        let folder = keys.copies(session, id);
        let listed = self.env.objects.list(Some(&folder)).await?;
        Ok(Copies::new(keys, listed))
    }

    /// A copy of a blob and its length: the newest that is there. Cost: 1 LIST, and 1 GET where
    /// there is none with a name of its own.
    async fn newest_copy(&self, session: &SessionRef, id: BlobId) -> Result<Option<(Path, u64)>> {
        let copies = self.copies(session, id).await?;
        let own = copies.counted().filter(|(of, _)| *of == id);
        let age = |(_, copy): &(BlobId, &Listed)| (copy.modified, copy.key.clone());
        if let Some((_, copy)) = own.max_by_key(age) {
            return Ok(Some((copy.key.clone(), copy.len)));
        }
        let key = self.env.keys.shared_blob(session, id);
        let len = self.env.objects.len(&key).await?;
        Ok(len.map(|len| (key, len)))
    }

    /// Whether the content of an object is the one that a blob's name says. `None` if there is no
    /// such object.
    pub(crate) async fn is_blob(&self, key: &Path, len: u64, id: BlobId) -> Result<Option<bool>> {
        let mut hasher = BlobHasher::default();
        for start in (0..len).step_by(narrow(PIECE)) {
            let end = len.min(start + PIECE);
            let Some(bytes) = self.env.objects.get_range(key, start..end).await? else {
                return Ok(None);
            };
            hasher.update(&bytes);
        }
        Ok(Some(hasher.finish() == id))
    }

    pub(crate) async fn blobs(&self, session: &SessionRef) -> Result<Vec<BlobInfo>> {
        let (env, seat) = (&self.env, self.seat(&session.id));
        let folder = env.keys.blobs(session);
        let listing = env.objects.list(Some(&folder));
        let (view, listed) = try_join(seat.fresh(), listing).await?;
        view.is(session)?;
        let copies = Copies::new(&env.keys, listed);
        let infos = copies.counted();
        // All copies of a blob are one.
        let infos: BTreeMap<BlobId, BlobInfo> = infos
            .map(|(id, copy)| (id, BlobInfo::new(id, copy.len)))
            .collect();
        Ok(infos.into_values().collect())
    }
}

/// Whether a newer lease is the reason.
pub(crate) fn is_fenced(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Fenced { .. })
}

/// A blob that is read piece by piece.
struct Reading {
    bucket: Bucket,
    session: SessionRef,
    id: BlobId,
    /// What is left to be read.
    range: Range<u64>,
    /// The copy that is read, once it is chosen. All hold the same.
    copy: Option<Path>,
    /// Names what was read, where all of it is.
    hasher: Option<BlobHasher>,
}

impl Reading {
    async fn piece(&mut self) -> Result<Option<Bytes>> {
        let mut key = match self.copy.take() {
            Some(key) => key,
            None => self.begin().await?,
        };
        if self.range.is_empty() {
            return self.finish(&key).map(|()| None);
        }
        let end = self.range.end.min(self.range.start.saturating_add(PIECE));
        let objects = &self.bucket.env.objects;
        let mut tries = 0;
        let bytes = loop {
            tries += 1;
            if let Some(bytes) = objects.get_range(&key, self.range.start..end).await? {
                break bytes;
            }
            // Removed: but it may have been put again before, and that copy is another object.
            let other = self.bucket.newest_copy(&self.session, self.id).await?;
            match other.filter(|(other, _)| *other != key && tries < TRIES) {
                Some((other, _)) => key = other,
                None => return Err(self.missing()),
            }
        };
        if wide(bytes.len()) != end - self.range.start {
            return Err(self.damaged(&key));
        }
        self.range.start = end;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&bytes);
        }
        // A whole blob is handed out only when its last piece is known to be right.
        if self.range.is_empty() {
            self.finish(&key)?;
        }
        self.copy = Some(key);
        Ok(Some(bytes))
    }

    /// Chooses a copy.
    async fn begin(&mut self) -> Result<Path> {
        let seat = self.bucket.seat(&self.session.id);
        let copy = self.bucket.newest_copy(&self.session, self.id);
        let (view, copy) = try_join(seat.fresh(), copy).await?;
        view.is(&self.session)?;
        let (key, len) = copy.ok_or_else(|| self.missing())?;
        let (start, end) = (self.range.start.min(len), self.range.end.min(len));
        self.hasher = (start == 0 && end == len).then(BlobHasher::default);
        self.range = start.min(end)..end;
        Ok(key)
    }

    fn finish(&mut self, key: &Path) -> Result<()> {
        match self.hasher.take().map(BlobHasher::finish) {
            Some(id) if id != self.id => Err(self.damaged(key)),
            _ => Ok(()),
        }
    }

    fn missing(&self) -> Error {
        Error::not_found(format!("there is no such blob: {}", self.id))
    }

    fn damaged(&self, key: &Path) -> Error {
        let keys = &self.bucket.env.keys;
        let place = Place::file(keys.relative(key)).with_session(&self.session.id);
        Error::corrupt(place, DAMAGED)
    }
}
