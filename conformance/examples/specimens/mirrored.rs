//! The tutorial's backend, whose journal is brought to the place with a fault.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fs, io};

use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};
use sessionlog_core::{
    AppendCondition, BlobId, BlobInfo, BlobStore, Chunks, Error, EventLog, FencingToken, Finding,
    Head, Kind, Lease, LeaseRequest, LeaseStore, Liveness, NewEvent, Pieces, Repair, Result,
    SeqNum, SessionId, SessionIds, SessionRef, Snapshot, SnapshotStore, Snapshots, Upkeep,
};
use tempfile::TempDir;

use crate::custom_backend::{Journal, strays};

/// A store of one handle.
pub(crate) struct Mirrored {
    inner: Journal,
    hidden: TempDir,
    dir: PathBuf,
    /// Gone after a failure, when nobody knows what is in the place.
    mirror: Mutex<Option<Box<dyn Keep>>>,
    splits: bool,
}

/// Where a journal is kept.
pub(crate) trait Keep: Send {
    /// What is kept.
    fn content(&self) -> &[u8];

    /// Keeps something else; most often what is kept, and more.
    fn bring(&mut self, content: Vec<u8>) -> io::Result<()>;
}

impl Mirrored {
    /// Opens what is kept in a folder.
    pub(crate) async fn open(dir: &Path, mirror: io::Result<Box<dyn Keep>>) -> Result<Self> {
        let unavailable = |e| Error::unavailable("the twin can't be opened").with_source(e);
        let mirror = mirror.map_err(unavailable)?;
        // Nothing is lost there: it is as good in memory, where a flush costs nothing.
        let memory = tempfile::tempdir_in("/dev/shm");
        let hidden = memory
            .or_else(|_| tempfile::tempdir())
            .map_err(unavailable)?;
        fs::write(hidden.path().join("journal"), mirror.content()).map_err(unavailable)?;
        let inner = Journal::open(hidden.path()).await.map_err(unavailable)?;
        Ok(Self {
            inner,
            hidden,
            dir: dir.to_owned(),
            mirror: Mutex::new(Some(mirror)),
            splits: false,
        })
    }

    /// The same store, which writes batches event by event.
    pub(crate) fn splitting(mut self) -> Self {
        self.splits = true;
        self
    }

    fn mirror(&self) -> MutexGuard<'_, Option<Box<dyn Keep>>> {
        self.mirror.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// After a failure the journal in memory may be ahead of the place: nobody sees it.
    fn serves(&self) -> Result<()> {
        match *self.mirror() {
            Some(_) => Ok(()),
            None => Err(Error::unavailable("a write failed, open the store again")),
        }
    }

    /// A change is made: brought to the place before it is acknowledged.
    async fn change<T>(&self, made: impl Future<Output = Result<T>>) -> Result<T> {
        self.serves()?;
        let made = made.await;
        let lost = |e| Error::indeterminate("the place was not written").with_source(e);
        let content = fs::read(self.hidden.path().join("journal")).map_err(lost)?;
        let mut slot = self.mirror();
        if let Some(mut mirror) = slot.take() {
            mirror.bring(content).map_err(lost)?;
            *slot = Some(mirror);
        }
        made
    }
}

#[async_trait]
impl EventLog for Mirrored {
    async fn create(&self, session: &SessionRef) -> Result<()> {
        self.change(self.inner.create(session)).await
    }
    async fn head(&self, id: &SessionId) -> Result<(SessionRef, Head)> {
        self.serves()?;
        self.inner.head(id).await
    }
    async fn append(
        &self,
        session: &SessionRef,
        mut events: Vec<NewEvent>,
        condition: AppendCondition,
    ) -> Result<Range<SeqNum>> {
        if self.splits && events.len() > 1 {
            let rest = events.split_off(1);
            let first = self.inner.append(session, events, condition);
            let first = self.change(first).await?;
            let next = AppendCondition::new(None, condition.token);
            let rest = self.change(self.inner.append(session, rest, next)).await?;
            return Ok(first.start..rest.end);
        }
        self.change(self.inner.append(session, events, condition))
            .await
    }
    fn read(&self, session: &SessionRef, range: Range<SeqNum>) -> Chunks {
        self.inner.read(session, range)
    }
    async fn changed(&self, session: &SessionRef, tail: SeqNum) -> Result<()> {
        self.inner.changed(session, tail).await
    }
    fn sessions(&self) -> SessionIds {
        match self.serves() {
            Ok(()) => self.inner.sessions(),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }
    async fn delete(&self, session: &SessionRef, token: Option<FencingToken>) -> Result<()> {
        self.change(self.inner.delete(session, token)).await
    }
}

#[async_trait]
impl LeaseStore for Mirrored {
    async fn acquire(&self, session: &SessionRef, request: LeaseRequest) -> Result<Lease> {
        self.change(self.inner.acquire(session, request)).await
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
impl SnapshotStore for Mirrored {
    async fn save(
        &self,
        session: &SessionRef,
        snapshot: Snapshot,
        token: Option<FencingToken>,
    ) -> Result<()> {
        self.change(self.inner.save(session, snapshot, token)).await
    }
    async fn latest(
        &self,
        session: &SessionRef,
        projection: &Kind,
        version: u32,
        bound: SeqNum,
    ) -> Result<Option<Snapshot>> {
        self.inner.latest(session, projection, version, bound).await
    }
    fn scan(&self, projection: &Kind, version: u32) -> Snapshots {
        self.inner.scan(projection, version)
    }
}

#[async_trait]
impl BlobStore for Mirrored {
    async fn put(
        &self,
        session: &SessionRef,
        pieces: Pieces,
        token: Option<FencingToken>,
    ) -> Result<BlobInfo> {
        self.change(self.inner.put(session, pieces, token)).await
    }
    fn get(&self, session: &SessionRef, id: BlobId, range: Range<u64>) -> Pieces {
        self.inner.get(session, id, range)
    }
    fn list(&self, session: &SessionRef) -> BoxStream<'static, Result<BlobInfo>> {
        self.inner.list(session)
    }
    async fn remove(
        &self,
        session: &SessionRef,
        id: BlobId,
        token: Option<FencingToken>,
    ) -> Result<()> {
        self.change(self.inner.remove(session, id, token)).await
    }
}

#[async_trait]
impl Upkeep for Mirrored {
    async fn verify(&self, id: &SessionId) -> Result<Vec<Finding>> {
        self.inner.verify(id).await
    }
    async fn repair(&self, id: &SessionId, apply: bool) -> Result<Repair> {
        self.inner.repair(id, apply).await
    }
    async fn strays(&self) -> Result<Vec<Finding>> {
        strays(&self.dir)
    }
}
