//! What such a twin has beside the log.

use std::ops::Range;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use sessionlog_core::{
    BlobId, BlobInfo, BlobStore, Error, FencingToken, Finding, Kind, Lease, LeaseRequest,
    LeaseStore, Liveness, Pieces, Repair, Result, SeqNum, SessionId, SessionRef, Snapshot,
    SnapshotStore, Snapshots, Upkeep,
};

use super::super::lock;
use super::{Bulk, Wrong};

impl Bulk {
    /// A whole blob, and what is remembered of it.
    async fn whole(&self, session: &SessionRef, id: BlobId) -> Result<Bytes> {
        let key = (session.clone(), id);
        let cached = lock(&self.shared.cached).get(&key).cloned();
        if let Some(content) = cached {
            return Ok(content);
        }
        let pieces = self.inner.get(session, id, 0..u64::MAX);
        let pieces: Vec<Bytes> = pieces.try_collect().await?;
        let mut content = pieces.concat();
        if self.is(Wrong::SwapsPartsOfLargeBlobs) && content.len() > 1 << 20 {
            content.rotate_left(256 << 10);
        }
        let content = Bytes::from(content);
        if self.is(Wrong::BlobsAreCached) {
            lock(&self.shared.cached).insert(key, content.clone());
        }
        Ok(content)
    }
}

#[async_trait]
impl BlobStore for Bulk {
    async fn put(
        &self,
        session: &SessionRef,
        content: Pieces,
        token: Option<FencingToken>,
    ) -> Result<BlobInfo> {
        self.inner.put(session, content, token).await
    }

    fn get(&self, session: &SessionRef, id: BlobId, range: Range<u64>) -> Pieces {
        let (this, session) = (self.clone(), session.clone());
        let Range { start, end } = range;
        let start = match self.wrong {
            Wrong::AlignedReadsLoseTheirStart if start > 0 && start % 65_536 == 0 => start + 1,
            _ => start,
        };
        stream::once(async move {
            let content = this.whole(&session, id).await?;
            let at = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).min(content.len());
            Ok::<_, Error>(content.slice(at(start).min(at(end))..at(end)))
        })
        .boxed()
    }

    fn list(&self, session: &SessionRef) -> BoxStream<'static, Result<BlobInfo>> {
        let all = self.inner.list(session);
        match self.wrong {
            Wrong::ListsEndEarly => all.take(64).boxed(),
            _ => all,
        }
    }

    async fn remove(
        &self,
        session: &SessionRef,
        id: BlobId,
        token: Option<FencingToken>,
    ) -> Result<()> {
        self.inner.remove(session, id, token).await
    }
}

#[async_trait]
impl SnapshotStore for Bulk {
    async fn save(
        &self,
        session: &SessionRef,
        snapshot: Snapshot,
        token: Option<FencingToken>,
    ) -> Result<()> {
        let saved = (snapshot.projection.clone(), snapshot.covers);
        self.inner.save(session, snapshot, token).await?;
        let mut all = lock(&self.shared.saved);
        let all = all.entry(session.clone()).or_default();
        all.retain(|before| *before != saved);
        all.push(saved);
        Ok(())
    }

    async fn latest(
        &self,
        session: &SessionRef,
        projection: &Kind,
        version: u32,
        bound: SeqNum,
    ) -> Result<Option<Snapshot>> {
        let latest = self.inner.latest(session, projection, version, bound);
        let latest = latest.await?;
        if !self.is(Wrong::KeepsTwoOfASession) {
            return Ok(latest);
        }
        let all = lock(&self.shared.saved);
        let last: Vec<_> = all
            .get(session)
            .into_iter()
            .flatten()
            .rev()
            .take(2)
            .collect();
        Ok(latest.filter(|s| last.contains(&&(s.projection.clone(), s.covers))))
    }

    async fn latest_known(
        &self,
        session: &SessionRef,
        projection: &Kind,
        version: u32,
        bound: SeqNum,
    ) -> Result<Option<Snapshot>> {
        let version = match self.wrong {
            Wrong::KnownLatestIgnoresVersions => 1,
            _ => version,
        };
        self.latest(session, projection, version, bound).await
    }

    fn scan(&self, projection: &Kind, version: u32) -> Snapshots {
        let all = self.inner.scan(projection, version);
        match self.wrong {
            Wrong::ListsEndEarly => all.take(8).boxed(),
            _ => all,
        }
    }
}

#[async_trait]
impl LeaseStore for Bulk {
    async fn acquire(&self, session: &SessionRef, request: LeaseRequest) -> Result<Lease> {
        self.inner.acquire(session, request).await
    }

    async fn renew(&self, lease: &mut Lease, ttl: Duration) -> Result<()> {
        self.inner.renew(lease, ttl).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.inner.release(lease).await
    }

    async fn holder(&self, session: &SessionRef) -> Result<Liveness> {
        self.inner.holder(session).await
    }
}

#[async_trait]
impl Upkeep for Bulk {
    async fn verify(&self, id: &SessionId) -> Result<Vec<Finding>> {
        self.inner.verify(id).await
    }

    async fn repair(&self, id: &SessionId, apply: bool) -> Result<Repair> {
        self.inner.repair(id, apply).await
    }

    async fn strays(&self) -> Result<Vec<Finding>> {
        self.inner.strays().await
    }
}
