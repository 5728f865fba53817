//! Faults of blobs.

use std::fs;
use std::ops::Range;

use std::sync::atomic::Ordering::SeqCst;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use sessionlog_core::{
    BlobId, BlobInfo, BlobStore, Error, FencingToken, Pieces, Result, SessionRef,
};

use super::{Fault, Faulty};

pub(super) fn one(content: Vec<u8>) -> Pieces {
    stream::iter([Ok(Bytes::from(content))]).boxed()
}

impl Faulty {
    /// All content, and the source's error if it failed; part of it is stored on the way, by some.
    async fn gathered(&self, session: &SessionRef, mut content: Pieces) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        let mut part = None;
        while let Some(piece) = content.next().await {
            match piece {
                Ok(piece) => all.extend_from_slice(&piece),
                Err(error) => {
                    if self.is(Fault::KeepsHalfPuts) {
                        self.inner.put(session, one(all), None).await?;
                    }
                    return Err(error);
                }
            }
            if self.is(Fault::PutsInParts) && part.is_none() {
                part = Some(self.inner.put(session, one(all.clone()), None).await?.id);
            }
        }
        if let Some(part) = part.filter(|id| *id != BlobId::of(&all)) {
            self.inner.put(session, one(all.clone()), None).await?;
            self.inner.remove(session, part, None).await?;
        }
        if self.is(Fault::CutsBlobs) {
            all.truncate(128 << 10);
        }
        Ok(all)
    }

    async fn has(&self, session: &SessionRef, id: BlobId) -> Result<bool> {
        let all: Vec<BlobInfo> = self.inner.list(session).try_collect().await?;
        Ok(all.iter().any(|info| info.id == id))
    }

    /// A blob of another session, or of another life.
    fn elsewhere(&self, session: &SessionRef, id: BlobId) -> Option<Vec<u8>> {
        let known = self.known();
        let mut all = known.blobs.iter();
        match self.fault {
            Fault::BlobsAreShared => all.find(|((_, other), _)| *other == id),
            Fault::DeleteLeavesBlobs => {
                all.find(|((s, other), _)| *s == session.id && *other == id)
            }
            _ => None,
        }
        .map(|(_, content)| content.clone())
    }
}

#[async_trait]
impl BlobStore for Faulty {
    async fn put(
        &self,
        session: &SessionRef,
        content: Pieces,
        token: Option<FencingToken>,
    ) -> Result<BlobInfo> {
        let session = &self.folded(session);
        let mut token = self.beside_token(session, token).await;
        if self.is(Fault::FencelessPut) {
            token = None;
        }
        let opened = self.shared.opened.load(SeqCst);
        let checked = self.checked(session, token).await;
        let content = self.gathered(session, content).await?;
        if self.is(Fault::OpeningClearsPuts) && self.shared.opened.load(SeqCst) != opened {
            return Ok(BlobInfo::new(BlobId::of(&content), content.len() as u64));
        }
        if checked && self.is(Fault::PutChecksTokenEarly) {
            token = None;
        }
        let present = match self.inner.head(&session.id).await {
            Ok((present, _)) if checked && self.is(Fault::PutChecksLifeEarly) => present,
            _ => session.clone(),
        };
        let session = &present;
        let info = self.inner.put(session, one(content.clone()), token).await?;
        if let (Fault::DeleteLeavesAFile, Some(dir)) = (self.fault, &self.dir) {
            let path = dir.join("blob-copy");
            super::files::private(&path, &content);
            assert!(fs::exists(path).unwrap());
        }
        if self.is(Fault::PutMovesBlobs) {
            let owners: Vec<_> = self.known().blobs.keys().cloned().collect();
            for (owner, _) in owners
                .iter()
                .filter(|(owner, id)| *id == info.id && *owner != session.id)
            {
                let (owner, _) = self.inner.head(owner).await?;
                self.inner.remove(&owner, info.id, None).await?;
            }
        }
        let mut known = self.known();
        known.blobs.insert((session.id.clone(), info.id), content);
        *known.puts.entry(info.id).or_default() += 1;
        Ok(info)
    }

    fn get(&self, session: &SessionRef, id: BlobId, range: Range<u64>) -> Pieces {
        let (this, session) = (self.clone(), self.folded(session));
        let range = match self.fault {
            Fault::RangesAreInclusive => range.start..range.end.saturating_add(1),
            _ => range,
        };
        stream::once(async move {
            let live = this.inner.holder(&session).await.is_ok();
            if live
                && !this.has(&session, id).await?
                && let Some(content) = this.elsewhere(&session, id)
            {
                return Ok(one(content));
            }
            let pieces = this.inner.get(&session, id, range);
            Ok::<_, Error>(pieces.map_err(move |e| this.told_of_a_blob(e)).boxed())
        })
        .try_flatten()
        .boxed()
    }

    fn list(&self, session: &SessionRef) -> BoxStream<'static, Result<BlobInfo>> {
        let (this, session) = (self.clone(), self.folded(session));
        stream::once(async move {
            let mut all: Vec<BlobInfo> = this.inner.list(&session).try_collect().await?;
            if this.is(Fault::DamagedBlobsVanish) {
                all = this.readable_blobs(&session, all).await;
            }
            let known = this.known();
            match this.fault {
                Fault::ListsDoublePuts => {
                    let double =
                        |info: &&BlobInfo| known.puts.get(&info.id).is_some_and(|n| *n > 1);
                    all.extend(all.clone().iter().filter(double));
                }
                Fault::DeleteLeavesBlobs => {
                    for ((id, blob), content) in &known.blobs {
                        if *id == session.id && all.iter().all(|info| info.id != *blob) {
                            let len = content.len() as u64;
                            all.push(BlobInfo::new(*blob, len));
                        }
                    }
                }
                _ => {}
            }
            drop(known);
            Ok::<_, Error>(stream::iter(all.into_iter().map(Ok)))
        })
        .try_flatten()
        .boxed()
    }

    async fn remove(
        &self,
        session: &SessionRef,
        id: BlobId,
        token: Option<FencingToken>,
    ) -> Result<()> {
        let session = &self.folded(session);
        let mut token = self.beside_token(session, token).await;
        match self.fault {
            Fault::FencelessRemove => token = None,
            Fault::RemovingMissingFails if !self.has(session, id).await? => {
                self.inner.remove(session, id, token).await?;
                return Err(Error::not_found("there is no such blob"));
            }
            _ => {}
        }
        self.inner.remove(session, id, token).await?;
        let mut known = self.known();
        known.puts.remove(&id);
        if self.is(Fault::DeleteLeavesBlobs) {
            known.blobs.remove(&(session.id.clone(), id));
        }
        Ok(())
    }
}
