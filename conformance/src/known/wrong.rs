//! A store with a fault, over one that has none.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use sessionlog_core::{
    AppendCondition, Backend, BlobId, BlobInfo, BlobStore, Chunks, Error, EventLog, FencingToken,
    Finding, Head, Kind, Lease, LeaseRequest, LeaseStore, Liveness, NewEvent, Pieces, Repair,
    Result, SeqNum, SessionId, SessionIds, SessionRef, Snapshot, SnapshotStore, Snapshots, Upkeep,
};
use tempfile::TempDir;

use super::journal::Journal;

/// The name of the copy.
const COPY: &str = "copy";

/// What is wrong with it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Tokens of appends are not looked at.
    Unfenced,
    /// An append is acknowledged first, and handed on with the next call.
    Late,
    /// What is acknowledged is written, and not flushed.
    Unflushed,
    /// Verification finds this, whatever there is.
    #[cfg(test)]
    Finds(Option<sessionlog_core::Severity>),
}

type Pending = (SessionRef, Vec<NewEvent>, AppendCondition);

pub(crate) struct Wrong {
    inner: Arc<dyn Backend>,
    fault: Fault,
    pending: Mutex<Option<Pending>>,
    /// Where the store really is, and the folder that has a copy of it.
    copied: Option<(TempDir, PathBuf)>,
}

impl Wrong {
    pub(crate) fn new(inner: Arc<dyn Backend>, fault: Fault) -> Self {
        Self {
            inner,
            fault,
            pending: Mutex::new(None),
            copied: None,
        }
    }

    /// A journal elsewhere, which is copied to the folder and not flushed there.
    pub(super) async fn unflushed(dir: &Path) -> Result<Self> {
        let failed = |e| Error::unavailable("the copy can't be opened").with_source(e);
        let real = tempfile::tempdir().map_err(failed)?;
        if let Ok(copy) = fs::read(dir.join(COPY)) {
            fs::write(real.path().join("journal"), copy).map_err(failed)?;
        }
        let journal = Journal::open(real.path()).await.map_err(failed)?;
        let mut wrong = Self::new(Arc::new(journal), Fault::Unflushed);
        wrong.copied = Some((real, dir.to_owned()));
        Ok(wrong)
    }

    /// What was just done is copied before it is acknowledged.
    fn copy(&self) -> Result<()> {
        let Some((real, dir)) = &self.copied else {
            return Ok(());
        };
        let journal = fs::read(real.path().join("journal"));
        let copied = journal.and_then(|journal| fs::write(dir.join(COPY), journal));
        copied.map_err(|e| Error::indeterminate("the copy was not written").with_source(e))
    }

    /// The store, with all that was acknowledged handed on to it.
    async fn caught_up(&self) -> Result<&Arc<dyn Backend>> {
        let pending = self
            .pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some((session, events, with)) = pending {
            self.inner.append(&session, events, with).await?;
        }
        Ok(&self.inner)
    }

    /// The same for a call that can't wait. What goes wrong is nobody's to hear.
    fn caught_up_now(&self) -> &Arc<dyn Backend> {
        drop(pollster::block_on(self.caught_up()));
        &self.inner
    }
}

impl Drop for Wrong {
    fn drop(&mut self) {
        self.caught_up_now();
    }
}

#[async_trait]
impl EventLog for Wrong {
    async fn create(&self, session: &SessionRef) -> Result<()> {
        self.caught_up().await?.create(session).await?;
        self.copy()
    }

    async fn head(&self, id: &SessionId) -> Result<(SessionRef, Head)> {
        self.caught_up().await?.head(id).await
    }

    async fn append(
        &self,
        session: &SessionRef,
        events: Vec<NewEvent>,
        with: AppendCondition,
    ) -> Result<Range<SeqNum>> {
        let inner = self.caught_up().await?;
        match self.fault {
            Fault::Unfenced => {
                let mut with = with;
                with.token = None;
                inner.append(session, events, with).await
            }
            Fault::Late => {
                let start = inner.head(&session.id).await?.1.tail;
                let end = SeqNum::new(start.get() + events.len() as u64);
                let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
                *pending = Some((session.clone(), events, with));
                Ok(start..end)
            }
            Fault::Unflushed => {
                let range = inner.append(session, events, with).await?;
                self.copy().map(|()| range)
            }
            #[cfg(test)]
            Fault::Finds(_) => inner.append(session, events, with).await,
        }
    }

    fn read(&self, session: &SessionRef, range: Range<SeqNum>) -> Chunks {
        self.caught_up_now().read(session, range)
    }

    async fn changed(&self, session: &SessionRef, tail: SeqNum) -> Result<()> {
        self.caught_up().await?.changed(session, tail).await
    }

    fn sessions(&self) -> SessionIds {
        self.caught_up_now().sessions()
    }

    async fn delete(&self, session: &SessionRef, token: Option<FencingToken>) -> Result<()> {
        self.caught_up().await?.delete(session, token).await
    }
}

#[async_trait]
impl LeaseStore for Wrong {
    async fn acquire(&self, session: &SessionRef, request: LeaseRequest) -> Result<Lease> {
        let lease = self.caught_up().await?.acquire(session, request).await?;
        self.copy().map(|()| lease)
    }

    async fn renew(&self, lease: &mut Lease, ttl: Duration) -> Result<()> {
        self.caught_up().await?.renew(lease, ttl).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.caught_up().await?.release(lease).await
    }

    async fn holder(&self, session: &SessionRef) -> Result<Liveness> {
        self.caught_up().await?.holder(session).await
    }
}

#[async_trait]
impl SnapshotStore for Wrong {
    async fn save(
        &self,
        session: &SessionRef,
        snapshot: Snapshot,
        token: Option<FencingToken>,
    ) -> Result<()> {
        self.caught_up().await?.save(session, snapshot, token).await
    }

    async fn latest(
        &self,
        session: &SessionRef,
        projection: &Kind,
        version: u32,
        at_or_before: SeqNum,
    ) -> Result<Option<Snapshot>> {
        let inner = self.caught_up().await?;
        inner
            .latest(session, projection, version, at_or_before)
            .await
    }

    fn scan(&self, projection: &Kind, version: u32) -> Snapshots {
        self.caught_up_now().scan(projection, version)
    }
}

#[async_trait]
impl BlobStore for Wrong {
    async fn put(
        &self,
        session: &SessionRef,
        content: Pieces,
        token: Option<FencingToken>,
    ) -> Result<BlobInfo> {
        self.caught_up().await?.put(session, content, token).await
    }

    fn get(&self, session: &SessionRef, id: BlobId, range: Range<u64>) -> Pieces {
        self.caught_up_now().get(session, id, range)
    }

    fn list(&self, session: &SessionRef) -> BoxStream<'static, Result<BlobInfo>> {
        self.caught_up_now().list(session)
    }

    async fn remove(
        &self,
        session: &SessionRef,
        id: BlobId,
        token: Option<FencingToken>,
    ) -> Result<()> {
        self.caught_up().await?.remove(session, id, token).await
    }
}

#[async_trait]
impl Upkeep for Wrong {
    async fn verify(&self, id: &SessionId) -> Result<Vec<Finding>> {
        let found = self.caught_up().await?.verify(id).await?;
        #[cfg(test)]
        if let Fault::Finds(Some(severity)) = self.fault {
            let place = sessionlog_core::Place::session(id);
            return Ok(vec![Finding::new(severity, place, "found in a test")]);
        }
        Ok(found)
    }

    async fn repair(&self, id: &SessionId, apply: bool) -> Result<Repair> {
        self.caught_up().await?.repair(id, apply).await
    }

    async fn strays(&self) -> Result<Vec<Finding>> {
        self.caught_up().await?.strays().await
    }
}
