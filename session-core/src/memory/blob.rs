//! Blobs in memory.

use std::ops::Range;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt, stream};

use super::Memory;
use crate::{BlobId, BlobInfo, BlobStore, Error, FencingToken, Pieces, Result, SessionRef, fence};

#[async_trait]
impl BlobStore for Memory {
    async fn put(
        &self,
        session: &SessionRef,
        content: Pieces,
        token: Option<FencingToken>,
    ) -> Result<BlobInfo> {
        let content: Vec<u8> = content
            .try_fold(Vec::new(), |mut all, piece| async move {
                all.extend_from_slice(&piece);
                Ok(all)
            })
            .await?;
        let info = BlobInfo::new(BlobId::of(&content), content.len() as u64);
        let mut state = self.lock();
        let life = state.life(session)?;
        fence(token, life.token)?;
        life.blobs.insert(info.id, content.into());
        Ok(info)
    }

    fn get(&self, session: &SessionRef, id: BlobId, range: Range<u64>) -> Pieces {
        let found = self.lock().life(session).and_then(|life| {
            let content = life.blobs.get(&id);
            content
                .cloned()
                .ok_or_else(|| Error::not_found(format!("there is no such blob: {id}")))
        });
        let piece = found.map(|content| {
            let at = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).min(content.len());
            let (start, end) = (at(range.start), at(range.end));
            content.slice(start.min(end)..end)
        });
        stream::iter([piece]).boxed()
    }

    fn list(&self, session: &SessionRef) -> BoxStream<'static, Result<BlobInfo>> {
        let listed = self.lock().life(session).map(|life| {
            let info =
                |(id, content): (&BlobId, &bytes::Bytes)| BlobInfo::new(*id, content.len() as u64);
            life.blobs.iter().map(info).collect::<Vec<_>>()
        });
        match listed {
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
        let mut state = self.lock();
        let life = state.life(session)?;
        fence(token, life.token)?;
        life.blobs.remove(&id);
        Ok(())
    }
}
