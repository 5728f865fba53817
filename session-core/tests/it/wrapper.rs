//! A backend around `Memory` whose reads, appends and saves can be made to misbehave.

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use sessionlog_core::*;

/// What happens to the next append.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is applied, and its answer is lost.
    AnswerLost,
    /// It is not applied, and nobody knows.
    RequestLost,
    /// It is not applied: the storage can't be reached.
    Unreachable,
    /// It is not applied: another one came first.
    Overtaken,
}

type Tamper = Arc<dyn Fn(&mut Vec<Event>) + Send + Sync>;

#[derive(Clone, Default)]
pub(crate) struct Wrapper {
    pub(crate) inner: Memory,
    pub(crate) faults: Arc<Mutex<Vec<Fault>>>,
    pub(crate) appends: Arc<Mutex<u32>>,
    pub(crate) tamper: Option<Tamper>,
    /// How many snapshots are still refused, and how many were saved.
    pub(crate) refused_and_saved: Arc<Mutex<(u32, u32)>>,
}

impl Wrapper {
    /// A store whose appends meet these faults, the last first.
    pub(crate) fn faulty(faults: &[Fault]) -> Self {
        Self {
            faults: Arc::new(Mutex::new(faults.to_vec())),
            ..Self::default()
        }
    }

    /// A view of the same store whose reads hand out what `tamper` makes of them.
    pub(crate) fn tampered(
        &self,
        tamper: impl Fn(&mut Vec<Event>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            tamper: Some(Arc::new(tamper)),
            ..self.clone()
        }
    }
}

#[async_trait]
impl EventLog for Wrapper {
    async fn create(&self, session: &SessionRef) -> Result<()> {
        self.inner.create(session).await
    }
    async fn head(&self, id: &SessionId) -> Result<(SessionRef, Head)> {
        self.inner.head(id).await
    }
    async fn append(
        &self,
        session: &SessionRef,
        events: Vec<NewEvent>,
        condition: AppendCondition,
    ) -> Result<Range<SeqNum>> {
        *self.appends.lock().unwrap() += 1;
        let fault = self.faults.lock().unwrap().pop();
        let lost = Err(Error::indeterminate("no answer"));
        match fault {
            None => self.inner.append(session, events, condition).await,
            Some(Fault::RequestLost) => lost,
            Some(Fault::Unreachable) => Err(Error::unavailable("no storage")),
            Some(Fault::Overtaken) => Err(Error::new(
                ErrorKind::Conflict { tail: SeqNum::ZERO },
                "another came first",
            )),
            Some(Fault::AnswerLost) => self
                .inner
                .append(session, events, condition)
                .await
                .and(lost),
        }
    }
    fn read(&self, session: &SessionRef, range: Range<SeqNum>) -> Chunks {
        let tamper = self.tamper.clone();
        let chunks = self.inner.read(session, range);
        chunks
            .map(move |chunk| {
                let mut events = chunk?;
                if let Some(tamper) = &tamper {
                    tamper(&mut events);
                }
                Ok(events)
            })
            .boxed()
    }
    async fn changed(&self, session: &SessionRef, tail: SeqNum) -> Result<()> {
        self.inner.changed(session, tail).await
    }
    fn sessions(&self) -> SessionIds {
        self.inner.sessions()
    }
    async fn delete(&self, session: &SessionRef, token: Option<FencingToken>) -> Result<()> {
        self.inner.delete(session, token).await
    }
}

#[async_trait]
impl SnapshotStore for Wrapper {
    async fn save(
        &self,
        session: &SessionRef,
        snapshot: Snapshot,
        token: Option<FencingToken>,
    ) -> Result<()> {
        {
            let (refused, saved) = &mut *self.refused_and_saved.lock().unwrap();
            if *refused > 0 {
                *refused -= 1;
                return Err(Error::unavailable("no storage"));
            }
            *saved += 1;
        }
        self.inner.save(session, snapshot, token).await
    }
    async fn latest(
        &self,
        session: &SessionRef,
        projection: &Kind,
        version: u32,
        at_or_before: SeqNum,
    ) -> Result<Option<Snapshot>> {
        self.inner
            .latest(session, projection, version, at_or_before)
            .await
    }
    fn scan(&self, projection: &Kind, version: u32) -> Snapshots {
        self.inner.scan(projection, version)
    }
}

#[async_trait]
impl LeaseStore for Wrapper {
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
impl BlobStore for Wrapper {
    async fn put(
        &self,
        session: &SessionRef,
        content: Pieces,
        token: Option<FencingToken>,
    ) -> Result<BlobInfo> {
        self.inner.put(session, content, token).await
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
        self.inner.remove(session, id, token).await
    }
}

#[async_trait]
impl Upkeep for Wrapper {
    async fn verify(&self, id: &SessionId) -> Result<Vec<Finding>> {
        verify_by_reading(self, id).await
    }
    async fn repair(&self, id: &SessionId, apply: bool) -> Result<Repair> {
        self.inner.repair(id, apply).await
    }
    async fn strays(&self) -> Result<Vec<Finding>> {
        self.inner.strays().await
    }
}

pub(crate) fn message(text: &str) -> NewEvent {
    let data = format!(r#"{{"role":"user","message":{{"role":"user","content":"{text}"}}}}"#);
    NewEvent::json(transcript::kinds::MESSAGE, data).unwrap()
}
