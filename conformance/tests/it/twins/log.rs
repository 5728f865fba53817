//! Faults of logs.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt, future, stream};
use sessionlog_core::{
    AppendCondition, Chunks, Data, Error, ErrorKind, Event, EventId, EventLog, FencingToken, Head,
    Kind, Liveness, NewEvent, Result, SeqNum, SessionId, SessionIds, SessionRef, Sum, Timestamp,
};

use super::{Fault, Faulty, lock, pause};

impl Faulty {
    /// The session that a call is about, where a fault takes one for another.
    pub(crate) async fn meant(&self, session: &SessionRef) -> SessionRef {
        match self.fault {
            Fault::StaleHandleWrites => match self.inner.head(&session.id).await {
                Ok((present, _)) => present,
                Err(_) => session.clone(),
            },
            Fault::AppendChecksLifeEarly => {
                let before = self.inner.head(&session.id).await;
                if before.is_ok_and(|(present, _)| present == *session) {
                    pause().await;
                    if let Ok((present, _)) = self.inner.head(&session.id).await {
                        return present;
                    }
                }
                session.clone()
            }
            _ => self.folded(session),
        }
    }

    pub(crate) fn folded(&self, session: &SessionRef) -> SessionRef {
        match self.fault {
            Fault::CaseFolds => SessionRef {
                id: session.id.as_str().to_lowercase().parse().unwrap(),
                incarnation: session.incarnation,
            },
            _ => session.clone(),
        }
    }

    async fn condition(
        &self,
        session: &SessionRef,
        given: AppendCondition,
        empty: bool,
    ) -> Result<AppendCondition> {
        let mut condition =
            AppendCondition::new(given.tail, self.token(session, given.token).await);
        match self.fault {
            Fault::IgnoresTail => condition.tail = None,
            Fault::EmptyIgnoresCondition if empty => condition = AppendCondition::NONE,
            Fault::TokenSkipsTail if condition.token.is_some() => condition.tail = None,
            Fault::FencelessAppend => condition.token = None,
            Fault::AppendChecksTokenEarly if condition.token.is_some() && !empty => {
                let checked = self.inner.append(session, Vec::new(), condition).await;
                if checked.is_ok() {
                    pause().await;
                    condition.token = None;
                }
            }
            Fault::LeaseExcludesOthers if condition.token.is_none() => {
                if let Liveness::Live(Some(holder)) = self.inner.holder(session).await? {
                    return Err(sessionlog_core::held_error(holder, None));
                }
            }
            Fault::ChecksTailEarly => {
                if let Some(tail) = condition.tail.take() {
                    let end = self.inner.head(&session.id).await?.1.tail;
                    std::thread::sleep(Duration::from_millis(10));
                    pause().await;
                    if tail != end {
                        return Err(Error::new(ErrorKind::Conflict { tail: end }, "early"));
                    }
                }
            }
            Fault::ConditionFirst => {
                let end = self.inner.head(&session.id).await?.1.tail;
                if condition.tail.is_some_and(|tail| tail != end) {
                    return Err(Error::new(ErrorKind::Conflict { tail: end }, "first"));
                }
            }
            _ => {}
        }
        Ok(condition)
    }

    fn changed_events(&self, events: Vec<NewEvent>) -> Vec<NewEvent> {
        let mut seen = std::collections::HashSet::new();
        events
            .into_iter()
            .filter(|e| !self.is(Fault::DropsDoubles) || seen.insert(e.id))
            .map(|mut event| {
                match self.fault {
                    Fault::Reserialises => {
                        if let Ok(value) = event.data.parse::<serde_json::Value>() {
                            event.data = Data::from_value(&value).unwrap();
                        }
                    }
                    Fault::CutsLongPayloads if event.data.len() > 70_000 => {
                        event.data = Data::from_stored(event.data.into_bytes().slice(..70_000));
                    }
                    Fault::UnknownKinds if event.kind != "note" => {
                        event.kind = Kind::from_static("unknown");
                    }
                    Fault::TimesBeginIn1970 => event.at = event.at.max(Timestamp::EPOCH),
                    _ => {}
                }
                event
            })
            .collect()
    }

    async fn appended(
        &self,
        session: &SessionRef,
        mut events: Vec<NewEvent>,
        condition: AppendCondition,
    ) -> Result<Range<SeqNum>> {
        match self.fault {
            Fault::SplitsBatches if events.len() > 1 && condition.tail.is_none() => {
                let rest = events.split_off(1);
                let first = self.inner.append(session, events, condition).await?;
                pause().await;
                let rest = self
                    .inner
                    .append(session, rest, AppendCondition::NONE)
                    .await?;
                return Ok(first.start..rest.end);
            }
            Fault::DroppedAppendLocks if condition.tail.is_none() => {
                let mut tries = 0;
                while self.shared.busy.swap(true, SeqCst) {
                    tries += 1;
                    if tries == 2_000 {
                        return Err(Error::unavailable("somebody appends"));
                    }
                    std::thread::yield_now();
                    pause().await;
                }
                pause().await;
                let range = self.inner.append(session, events, condition).await;
                self.shared.busy.store(false, SeqCst);
                return range;
            }
            Fault::LosesConcurrentAppends if condition.tail.is_none() => {
                let first = self.shared.flying.fetch_add(1, SeqCst) == 0;
                pause().await;
                let range = if first {
                    self.inner.append(session, events, condition).await
                } else {
                    let tail = self.inner.head(&session.id).await?.1.tail;
                    Ok(tail..tail.plus(events.len() as u64))
                };
                self.shared.flying.fetch_sub(1, SeqCst);
                return range;
            }
            Fault::RefusalWritesAnEvent => {
                let range = self.inner.append(session, events, condition).await;
                if range.is_err() {
                    let filler = NewEvent::json(Kind::from_static("filler"), "null")?;
                    drop(
                        self.inner
                            .append(session, vec![filler], AppendCondition::NONE)
                            .await,
                    );
                }
                return range;
            }
            Fault::AcknowledgesEarly if super::retry::is_child() => {
                return self.later(session, events).await;
            }
            _ => {}
        }
        let range = self.inner.append(session, events, condition).await?;
        Ok(match self.fault {
            Fault::TellsShortRanges => range.start..range.start.plus(1).min(range.end),
            _ => range,
        })
    }

    fn damaged(&self, mut events: Vec<Event>) -> Vec<Event> {
        match self.fault {
            Fault::NoChain => events.iter_mut().for_each(|e| e.sum = Sum::from_u64(0)),
            Fault::RollbackHides | Fault::HeadHides => {
                let kind = ["head", "rollback"][usize::from(self.is(Fault::RollbackHides))];
                let pairs = events.windows(2).enumerate();
                let hidden: Vec<_> = pairs.filter(|(_, w)| w[1].kind == kind).collect();
                let hidden: Vec<_> = hidden.into_iter().map(|(at, _)| at).collect();
                hidden
                    .into_iter()
                    .rev()
                    .for_each(|at| drop(events.remove(at)));
            }
            _ => {}
        }
        events
    }
}

#[async_trait]
impl EventLog for Faulty {
    async fn create(&self, session: &SessionRef) -> Result<()> {
        let created = self.inner.create(&self.folded(session)).await;
        if let Some(list) = lock(&self.own.list).as_mut().filter(|_| created.is_ok()) {
            list.push(session.id.clone());
        }
        self.tag(session, created.is_ok());
        if self.is(Fault::CreateBringsBlobsBack) && created.is_ok() {
            self.bring_back(session).await?;
        }
        match created {
            Err(e)
                if self.is(Fault::CreatesTwice)
                    && matches!(e.kind(), ErrorKind::Conflict { .. }) =>
            {
                Ok(())
            }
            created => created,
        }
    }

    async fn head(&self, id: &SessionId) -> Result<(SessionRef, Head)> {
        let id: SessionId = match self.fault {
            Fault::CaseFolds => id.as_str().to_lowercase().parse()?,
            _ => id.clone(),
        };
        self.readable()?;
        let (session, mut head) = self.looked(&id).await?;
        match self.fault {
            Fault::ForgetsTheLargestId => head.top = EventId::MIN,
            Fault::CachesHeads => {
                head = *lock(&self.own.heads).entry(session.clone()).or_insert(head);
            }
            _ => {}
        }
        Ok((session, head))
    }

    async fn append(
        &self,
        session: &SessionRef,
        events: Vec<NewEvent>,
        condition: AppendCondition,
    ) -> Result<Range<SeqNum>> {
        self.readable()?;
        if self.is(Fault::ReadsLockWriters) && Arc::strong_count(&self.own.reading) > 1 {
            return Err(Error::unavailable("somebody reads"));
        }
        if self.is(Fault::RepairLeavesWritesRefused) && self.shared.busy.load(SeqCst) {
            return Err(Error::unavailable("a tag has content"));
        }
        let session = self.meant(session).await;
        let condition = self
            .condition(&session, condition, events.is_empty())
            .await?;
        let events = self.changed_events(events);
        let events = match self.retried(&session, events, condition).await? {
            Ok(events) => events,
            Err(range) => return Ok(range),
        };
        if let (Fault::FlushesTwice, Some(dir)) = (self.fault, &self.dir) {
            super::files::private(&dir.join("twice"), b"x");
        }
        self.shared.writer.store(self.own.number, SeqCst);
        let range = self.appended(&session, events, condition).await;
        if self.is(Fault::CachesHeads) && range.is_ok() {
            let head = self.inner.head(&session.id).await?.1;
            lock(&self.own.heads).insert(session, head);
        }
        range
    }

    fn read(&self, session: &SessionRef, range: Range<SeqNum>) -> Chunks {
        let session = self.folded(session);
        if self.is(Fault::ReversedRangesPanic) {
            assert!(range.start <= range.end, "a range that is upside down");
        }
        let cut = match self.fault {
            Fault::SlicesLoseTheirEnd if range.start > SeqNum::ZERO && range.end < SeqNum::MAX => {
                range.start..range.end.minus(1)
            }
            Fault::StopsAtAThousand => range.start..range.end.min(range.start.plus(1_000)),
            Fault::CachesHeads => match lock(&self.own.heads).get(&session) {
                Some(head) => range.start..range.end.min(head.tail),
                None => range,
            },
            _ => range,
        };
        self.touch("read");
        let this = self.clone();
        let chunks = self.told_chunks(self.inner.read(&session, cut.clone()));
        match self.fault {
            Fault::MissingIsEmpty => {
                let there = |chunk: &Result<_>| !matches!(chunk, Err(e) if e.is_not_found());
                chunks
                    .take_while(move |chunk| future::ready(there(chunk)))
                    .boxed()
            }
            Fault::ReadsBeyond => {
                let state = Some((Arc::clone(&self.inner), session, cut));
                stream::unfold(state, |state| async move {
                    let (inner, session, left) = state?;
                    let chunk = inner.read(&session, left.clone()).next().await?;
                    let last = chunk.as_ref().ok().and_then(|c| c.last()).map(|e| e.seq);
                    // Behind an error there is nothing to read on from.
                    let state = last.map(|seq| (inner, session, seq.plus(1)..left.end));
                    Some((chunk, state))
                })
                .boxed()
            }
            Fault::ReadsLockWriters => {
                let guard = Arc::clone(&self.own.reading);
                chunks
                    .map(move |chunk| {
                        let _held = &guard;
                        chunk
                    })
                    .boxed()
            }
            Fault::NoChain | Fault::RollbackHides | Fault::HeadHides => {
                chunks.map_ok(move |events| this.damaged(events)).boxed()
            }
            _ => chunks,
        }
    }

    async fn changed(&self, session: &SessionRef, tail: SeqNum) -> Result<()> {
        let session = self.folded(session);
        match self.fault {
            Fault::NeverWakes => future::pending().await,
            Fault::WaitsForNews => {
                let end = self.inner.head(&session.id).await?.1.tail;
                return self.inner.changed(&session, tail.max(end)).await;
            }
            Fault::CachesHeads => {
                let known = lock(&self.own.heads).get(&session).map(|h| h.tail);
                if known.is_some_and(|known| known <= tail) {
                    future::pending::<()>().await;
                }
            }
            _ => {}
        }
        let changed = self.inner.changed(&session, tail).await;
        match self.fault {
            Fault::DeafToDeletes if changed.is_err() || self.head(&session.id).await.is_err() => {
                future::pending().await
            }
            Fault::DeafToOtherHandles if self.shared.writer.load(SeqCst) != self.own.number => {
                future::pending().await
            }
            _ => changed,
        }
    }

    fn sessions(&self) -> SessionIds {
        let this = self.clone();
        stream::once(async move {
            this.readable()?;
            let mut ids: Vec<SessionId> = this.inner.sessions().try_collect().await?;
            match this.fault {
                Fault::ListMissesOne if ids.len() > 3 => drop(ids.remove(1)),
                Fault::ListKeepsDeleted => ids.extend(this.known().deleted.clone()),
                Fault::ListReadsTags => ids.retain(|id| {
                    let dir = this.dir.as_ref();
                    dir.is_none_or(|dir| dir.join(format!("tag-{id}")).exists())
                }),
                Fault::CachesLists => ids = lock(&this.own.list).get_or_insert(ids).clone(),
                _ => {}
            }
            Ok(stream::iter(ids.into_iter().map(Ok)))
        })
        .try_flatten()
        .boxed()
    }

    async fn delete(&self, session: &SessionRef, token: Option<FencingToken>) -> Result<()> {
        let session = &self.folded(session);
        let mut token = match self.fault {
            Fault::BesideFenceOfOwnGrants => token,
            _ => self.beside_token(session, token).await,
        };
        match self.fault {
            Fault::FencelessDelete => token = None,
            Fault::DeletesDriven if token.is_none() => drop(self.free(session).await),
            Fault::DeletesInSteps | Fault::DeleteTakesNeighboursBlobs => {
                let ids: Vec<SessionId> = self.inner.sessions().try_collect().await?;
                let same = |id: &SessionId| match self.fault {
                    Fault::DeletesInSteps => *id == session.id,
                    _ => id.as_str().starts_with(session.id.as_str()),
                };
                for id in ids.iter().filter(|id| same(id)) {
                    let (life, _) = self.inner.head(id).await?;
                    let blobs: Vec<_> = self.inner.list(&life).try_collect().await?;
                    for blob in blobs {
                        self.inner.remove(&life, blob.id, None).await?;
                    }
                }
            }
            _ => {}
        }
        token = self.before_delete(session, token).await?;
        let deleted = self.inner.delete(session, token).await;
        if let Some(file) = self.lease_file(session).filter(|_| deleted.is_ok()) {
            drop(std::fs::remove_file(file));
        }
        self.tag(session, false);
        if deleted.is_ok() {
            self.known().deleted.push(session.id.clone());
            if let Some(list) = lock(&self.own.list).as_mut() {
                list.retain(|id| *id != session.id);
            }
        }
        match deleted {
            Err(e) if self.is(Fault::DeletesTwice) && e.is_not_found() => Ok(()),
            deleted => deleted,
        }
    }
}
