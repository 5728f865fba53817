//! Blobs: one object each, named by its content.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::try_join;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt, stream};
use sessionlog_core::{
    BlobHasher, BlobId, BlobInfo, BlobStore, Error, ErrorKind, FencingToken, Pieces, Place, Result,
    SessionRef, fence,
};

use crate::Bucket;
use crate::codec::wide;
use crate::key::{Named, Part};
use crate::objects::{Answer, unsettled};

/// Bytes that a get asks for at a time.
const PIECE: u64 = 8 << 20;

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
        let key = self.env.keys.blob(session, info.id);
        self.put_new(&key, &content).await?;
        // A lease that was granted while the content was on its way comes before it, and so does a
        // deletion. What a fenced writer put stays: the new holder may have put the same since, and
        // was told that it is there.
        let behind = self.may_stay(session, token).await;
        if behind.as_ref().is_err_and(Error::is_not_found) {
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
            len: None,
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
        self.may_write(session, token).await?;
        let key = self.env.keys.blob(session, id);
        self.env.objects.delete(vec![key]).await
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

    /// Puts an object unless it is there.
    async fn put_new(&self, key: &object_store::path::Path, content: &Bytes) -> Result<()> {
        match self.env.objects.create(key, content).await {
            Answer::Made => Ok(()),
            Answer::Refused(error) => Err(error),
            // The same name is the same content, so another put does no harm.
            Answer::Taken => self.env.objects.put(key, content).await,
            Answer::Unknown(_) => {
                let put = self.env.objects.put(key, content).await;
                put.map_err(unsettled)
            }
        }
    }

    pub(crate) async fn blobs(&self, session: &SessionRef) -> Result<Vec<BlobInfo>> {
        let (env, seat) = (&self.env, self.seat(&session.id));
        let folder = env.keys.blobs(session);
        let listing = env.objects.list(Some(&folder));
        let (view, listed) = try_join(seat.fresh(), listing).await?;
        view.is(session)?;
        let infos = listed
            .iter()
            .filter_map(|blob| match env.keys.named(&blob.key) {
                Some(Named::Of(_, Part::Blob(_, id))) => Some(BlobInfo::new(id, blob.len)),
                _ => None,
            });
        Ok(infos.collect())
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
    len: Option<u64>,
    /// Names what was read, where all of it is.
    hasher: Option<BlobHasher>,
}

impl Reading {
    async fn piece(&mut self) -> Result<Option<Bytes>> {
        if self.len.is_none() {
            self.begin().await?;
        }
        if self.range.is_empty() {
            return self.finish().map(|()| None);
        }
        let env = &self.bucket.env;
        let key = env.keys.blob(&self.session, self.id);
        let end = self.range.end.min(self.range.start.saturating_add(PIECE));
        let bytes = env.objects.get_range(&key, self.range.start..end).await?;
        let bytes = bytes.ok_or_else(|| self.missing())?;
        if wide(bytes.len()) != end - self.range.start {
            return Err(self.damaged());
        }
        self.range.start = end;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&bytes);
        }
        // A whole blob is handed out only when its last piece is known to be right.
        if self.range.is_empty() {
            self.finish()?;
        }
        Ok(Some(bytes))
    }

    async fn begin(&mut self) -> Result<()> {
        let seat = self.bucket.seat(&self.session.id);
        let key = self.bucket.env.keys.blob(&self.session, self.id);
        let head = self.bucket.env.objects.len(&key);
        let (view, len) = try_join(seat.fresh(), head).await?;
        view.is(&self.session)?;
        let len = len.ok_or_else(|| self.missing())?;
        let (start, end) = (self.range.start.min(len), self.range.end.min(len));
        self.hasher = (start == 0 && end == len).then(BlobHasher::default);
        self.range = start.min(end)..end;
        self.len = Some(len);
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        match self.hasher.take().map(BlobHasher::finish) {
            Some(id) if id != self.id => Err(self.damaged()),
            _ => Ok(()),
        }
    }

    fn missing(&self) -> Error {
        Error::not_found(format!("there is no such blob: {}", self.id))
    }

    fn damaged(&self) -> Error {
        let keys = &self.bucket.env.keys;
        let key = keys.blob(&self.session, self.id);
        let place = Place::file(keys.relative(&key)).with_session(&self.session.id);
        Error::corrupt(place, "the blob does not match its name")
    }
}
