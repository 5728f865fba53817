//! The traits, each by the reference backend of the newest head.

use std::ops::Range;
use std::time::Duration;

use async_trait::async_trait;
use futures_timer::Delay;
use futures_util::{StreamExt, TryStreamExt, stream, stream::BoxStream};
use object_store::ObjectStoreExt;
use object_store::path::Path;
use sessionlog_core::*;

use super::heads::Entry;
use super::log::{Flaw, HeadLog};
use super::seat::{View, now};
use crate::custom_backend::{Change, Line, Token, one};

fn line(session: &SessionRef, token: Token, change: Change) -> Entry {
    Entry::Line(Line(session.id.clone(), session.incarnation, token, change))
}

impl HeadLog {
    /// What the session answers as it is now. Nobody writes to it meanwhile: who appends tries it
    /// in the same memory before anybody may see it.
    async fn asked<T>(&self, id: &SessionId, ask: impl FnOnce(&Memory) -> T) -> Result<T> {
        let cell = self.session(id);
        let mut seen = cell.lock().await;
        self.look(id, &mut seen).await?;
        let nothing = Memory::new();
        Ok(ask(seen.as_ref().map_or(&nothing, |view| &view.memory)))
    }

    /// A stream from the session as it is when it is first polled.
    fn streamed<T: Send + 'static>(
        &self,
        id: &SessionId,
        read: impl FnOnce(&Memory) -> BoxStream<'static, Result<T>> + Send + 'static,
    ) -> BoxStream<'static, Result<T>> {
        let (log, id) = (self.clone(), id.clone());
        let all = async move {
            let all = |memory: &Memory| now(read(memory).collect::<Vec<_>>());
            log.asked(&id, all).await.map(stream::iter)
        };
        stream::once(all).try_flatten().boxed()
    }
}

#[async_trait]
impl EventLog for HeadLog {
    async fn create(&self, session: &SessionRef) -> Result<()> {
        let entry = line(session, None, Change::Create);
        let take = |view: &mut View| now(view.memory.create(session));
        self.commit(session, entry, true, take).await
    }

    async fn head(&self, id: &SessionId) -> Result<(SessionRef, Head)> {
        self.asked(id, |memory| now(memory.head(id))).await?
    }

    async fn append(
        &self,
        session: &SessionRef,
        events: Vec<NewEvent>,
        condition: AppendCondition,
    ) -> Result<Range<SeqNum>> {
        let mut events = events;
        loop {
            let fields = |e: &NewEvent| (e.id, e.at, e.kind.clone(), e.data.to_string());
            let change = Change::Append(events.iter().map(fields).collect(), condition.tail);
            let entry = line(session, condition.token, change);
            let take =
                |view: &mut View| now(view.memory.append(session, events.clone(), condition));
            if self.flaw != Flaw::DoublesRetries {
                return self.commit(session, entry, false, take).await;
            }
            if let Some(range) = self.once(session, entry, false, take).await? {
                return Ok(range);
            }
            events.iter_mut().for_each(|e| e.id = EventId::generate());
        }
    }

    fn read(&self, session: &SessionRef, range: Range<SeqNum>) -> Chunks {
        let of = session.clone();
        self.streamed(&session.id, move |memory| memory.read(&of, range))
    }

    async fn changed(&self, session: &SessionRef, tail: SeqNum) -> Result<()> {
        loop {
            let (present, head) = self.head(&session.id).await?;
            if present != *session {
                return Err(session.gone());
            }
            if head.tail > tail {
                return Ok(());
            }
            Delay::new(Duration::from_millis(2)).await;
        }
    }

    fn sessions(&self) -> SessionIds {
        let log = self.clone();
        let all = async move {
            let mut there = Vec::new();
            for id in log.names().await? {
                match log.head(&id).await {
                    Ok(_) => there.push(Ok(id)),
                    Err(error) if error.is_not_found() => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(stream::iter(there))
        };
        stream::once(all).try_flatten().boxed()
    }

    async fn delete(&self, session: &SessionRef, token: Token) -> Result<()> {
        let free = self.is_free(&session.id).await;
        self.bury(session, |view: &View| {
            if let Some(token) = token {
                let condition = AppendCondition::with(token);
                return now(view.memory.append(session, Vec::new(), condition)).map(drop);
            }
            match now(view.memory.holder(session))? {
                Liveness::Live(Some(holder)) if !free => Err(held_error(holder, None)),
                _ => Ok(()),
            }
        })
        .await
    }
}

#[async_trait]
impl LeaseStore for HeadLog {
    async fn acquire(&self, session: &SessionRef, mut request: LeaseRequest) -> Result<Lease> {
        // Requests that race for a free lease are no fault of this one.
        static RACING: futures_util::lock::Mutex<()> = futures_util::lock::Mutex::new(());
        let _alone = match self.flaw {
            Flaw::FreesByName => Some(RACING.lock().await),
            _ => None,
        };
        let free = self.is_free(&session.id).await;
        request.force |= free;
        let of = (session.id.clone(), session.incarnation);
        let entry = Entry::Grant(of, request.owner.clone());
        let take = |view: &mut View| view.grant(session, request.clone());
        let lease = self.commit(session, entry, false, take).await?;
        if free {
            let deleted = self.store.delete(&self.free(&session.id)).await;
            deleted.map_err(indeterminate)?;
        }
        Ok(lease)
    }

    async fn renew(&self, lease: &mut Lease, _ttl: Duration) -> Result<()> {
        let (of, condition) = (&lease.session, AppendCondition::with(lease.token));
        let checked = |memory: &Memory| now(memory.append(of, Vec::new(), condition));
        self.asked(&of.id, checked).await?.map(drop)
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        if self.flaw == Flaw::FreesByName {
            let held = self.holder(&lease.session).await;
            if matches!(held, Ok(Liveness::Live(Some(holder))) if holder.token == lease.token) {
                let free = self.free(&lease.session.id);
                let put = self.store.put(&free, "".into()).await;
                put.map_err(indeterminate)?;
            }
            return Ok(());
        }
        let token = lease.token.get();
        let held = |view: &mut View| {
            // Another life may have the same token.
            now(view.memory.holder(&lease.session))?;
            match view.holds(token) {
                true => {
                    view.release(token);
                    Ok(())
                }
                false => Err(lease.session.gone()),
            }
        };
        match self
            .commit(&lease.session, Entry::Release(token), false, held)
            .await
        {
            // A life that ended holds nothing, and a lease that was given back is free.
            Err(error) if error.is_not_found() => Ok(()),
            released => released,
        }
    }

    async fn holder(&self, session: &SessionRef) -> Result<Liveness> {
        let free = self.is_free(&session.id).await;
        let holder = |memory: &Memory| now(memory.holder(session));
        let holder = self.asked(&session.id, holder).await??;
        Ok(if free { Liveness::Idle } else { holder })
    }
}

impl HeadLog {
    fn free(&self, id: &SessionId) -> Path {
        self.root.clone().join("free").join(id.as_str())
    }

    /// Whether a lease was given back by name.
    async fn is_free(&self, id: &SessionId) -> bool {
        self.flaw == Flaw::FreesByName && self.store.head(&self.free(id)).await.is_ok()
    }
}

fn indeterminate(error: object_store::Error) -> Error {
    Error::indeterminate("nobody knows what became of a request").with_source(error)
}

#[async_trait]
impl SnapshotStore for HeadLog {
    async fn save(&self, session: &SessionRef, snapshot: Snapshot, token: Token) -> Result<()> {
        let mut token = token;
        if self.flaw == Flaw::SavesByMemory {
            let cell = self.session(&session.id);
            let known = cell.lock().await.as_ref().map(|view| view.memory.clone());
            if let Some(known) = known {
                known.save(session, snapshot.clone(), token).await?;
                token = None;
            }
        }
        let bytes = snapshot.to_bytes().into();
        let entry = line(session, token, Change::Save(bytes));
        let take = |view: &mut View| now(view.memory.save(session, snapshot.clone(), token));
        self.commit(session, entry, false, take).await
    }

    async fn latest(
        &self,
        session: &SessionRef,
        projection: &Kind,
        version: u32,
        bound: SeqNum,
    ) -> Result<Option<Snapshot>> {
        let latest = |memory: &Memory| now(memory.latest(session, projection, version, bound));
        self.asked(&session.id, latest).await?
    }

    fn scan(&self, projection: &Kind, version: u32) -> Snapshots {
        let (log, projection) = (self.clone(), projection.clone());
        self.sessions()
            .and_then(move |id| {
                let (log, projection) = (log.clone(), projection.clone());
                async move { Ok(log.streamed(&id, move |memory| memory.scan(&projection, version))) }
            })
            .try_flatten()
            .boxed()
    }
}

#[async_trait]
impl BlobStore for HeadLog {
    async fn put(&self, session: &SessionRef, pieces: Pieces, token: Token) -> Result<BlobInfo> {
        let content = pieces.try_collect::<Vec<_>>().await?.concat();
        let entry = line(session, token, Change::Put(content.clone()));
        let take = |view: &mut View| now(view.memory.put(session, one(content.clone()), token));
        let put = self.commit(session, entry, false, take).await;
        match put {
            Err(_) if self.flaw == Flaw::AcknowledgesBlobs => {
                Ok(BlobInfo::new(BlobId::of(&content), content.len() as u64))
            }
            put => put,
        }
    }

    fn get(&self, session: &SessionRef, id: BlobId, range: Range<u64>) -> Pieces {
        let of = session.clone();
        self.streamed(&session.id, move |memory| memory.get(&of, id, range))
    }

    fn list(&self, session: &SessionRef) -> BoxStream<'static, Result<BlobInfo>> {
        let of = session.clone();
        self.streamed(&session.id, move |memory| memory.list(&of))
    }

    async fn remove(&self, session: &SessionRef, id: BlobId, token: Token) -> Result<()> {
        let entry = line(session, token, Change::Remove(id));
        let take = |view: &mut View| now(view.memory.remove(session, id, token));
        self.commit(session, entry, false, take).await
    }
}

#[async_trait]
impl Upkeep for HeadLog {
    async fn verify(&self, id: &SessionId) -> Result<Vec<Finding>> {
        verify_by_reading(self, id).await
    }

    async fn repair(&self, id: &SessionId, apply: bool) -> Result<Repair> {
        self.asked(id, |memory| now(memory.repair(id, apply)))
            .await?
    }

    async fn strays(&self) -> Result<Vec<Finding>> {
        Ok(Vec::new())
    }
}
