//! The log of such a twin.

use std::collections::HashSet;
use std::future;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt};
use sessionlog_core::{
    AppendCondition, Chunks, Error, Event, EventId, EventLog, FencingToken, Head, NewEvent, Result,
    SeqNum, SessionId, SessionIds, SessionRef,
};

use super::super::memory::LIMITS;
use super::super::{lock, pause};
use super::{Bulk, Wrong};

impl Bulk {
    /// The ids that are stored below a position.
    async fn stored(&self, session: &SessionRef, end: SeqNum) -> Result<HashSet<EventId>> {
        let log = self.inner.read(session, SeqNum::ZERO..end);
        let log: Vec<Event> = log.try_concat().await?;
        Ok(log.into_iter().map(|event| event.id).collect())
    }

    /// The ids that it does not know of, though they are stored.
    async fn unknown(&self, session: &SessionRef) -> Result<HashSet<EventId>> {
        let none = HashSet::new();
        match self.wrong {
            Wrong::ForgetsOldIdsAtReopen => {
                let tail = lock(&self.own.tails).get(session).copied();
                match tail.map(|tail| tail.minus(1_000)) {
                    Some(end) if end > SeqNum::ZERO => self.stored(session, end).await,
                    _ => Ok(none),
                }
            }
            // Threads of laws have no name; those of tests have one.
            Wrong::ThreadsRepeatUnseen if std::thread::current().name().is_none() => {
                let seen = self.stored(session, SeqNum::MAX).await?;
                std::thread::sleep(Duration::from_millis(10));
                let now = self.stored(session, SeqNum::MAX).await?;
                Ok(now.difference(&seen).copied().collect())
            }
            _ => Ok(none),
        }
    }
}

fn edge(at: SeqNum) -> bool {
    at > SeqNum::ZERO && at.get().is_multiple_of(512)
}

#[async_trait]
impl EventLog for Bulk {
    async fn create(&self, session: &SessionRef) -> Result<()> {
        self.inner.create(session).await
    }

    async fn head(&self, id: &SessionId) -> Result<(SessionRef, Head)> {
        self.inner.head(id).await
    }

    async fn heads(&self, ids: &[SessionId]) -> Vec<Result<(SessionRef, Head)>> {
        let mut ids = ids.to_vec();
        if self.is(Wrong::HeadsAreSorted) {
            ids.sort_unstable();
        }
        self.inner.heads(&ids).await
    }

    async fn append(
        &self,
        session: &SessionRef,
        mut events: Vec<NewEvent>,
        condition: AppendCondition,
    ) -> Result<Range<SeqNum>> {
        let unknown = self.unknown(session).await?;
        for event in events.iter_mut().filter(|e| unknown.contains(&e.id)) {
            event.id = EventId::generate();
        }
        let bytes: usize = events.iter().map(|e| e.data.len()).sum();
        match self.wrong {
            Wrong::LimitsPlainAppendsAlone if condition == AppendCondition::NONE => {
                LIMITS.check(&events)?;
            }
            Wrong::BatchAtTheLimitIsRefused if bytes == LIMITS.batch_bytes => {
                return Err(Error::invalid("the batch is too large"));
            }
            Wrong::SplitsLargeBatches if events.len() > 64 => {
                LIMITS.check(&events)?;
                let rest = events.split_off(events.len() / 2);
                let first = self.inner.append(session, events, condition).await?;
                pause().await;
                let rest = self.inner.append(session, rest, AppendCondition::NONE);
                return Ok(first.start..rest.await?.end);
            }
            _ => {}
        }
        self.inner.append(session, events, condition).await
    }

    fn read(&self, session: &SessionRef, range: Range<SeqNum>) -> Chunks {
        let Range { start, end } = range;
        let cut = match self.wrong {
            Wrong::AlignedReadsLoseTheirStart if edge(start) => start.plus(1)..end,
            Wrong::AlignedReadsLoseTheirEnd if edge(end) => start..end.minus(1),
            Wrong::ReadsEndEarly => start..end.min(start.plus(4_096)),
            _ => start..end,
        };
        let chunks = self.inner.read(session, cut);
        match self.wrong {
            Wrong::ReadsEndEarly => {
                let mut given = 0;
                let few = chunks.map_ok(move |mut events| {
                    events.retain(|event| {
                        let fits = given < 1 << 20;
                        given += event.data.len();
                        fits
                    });
                    events
                });
                few.boxed()
            }
            Wrong::ReadsLockOthersDeletes => {
                let held = Arc::clone(lock(&self.shared.reading).entry(self.number).or_default());
                chunks.inspect(move |_| drop(Arc::clone(&held))).boxed()
            }
            _ => chunks,
        }
    }

    fn read_known(&self, session: &SessionRef, range: Range<SeqNum>) -> Chunks {
        let Range { start, end } = range;
        match self.wrong {
            Wrong::KnownReadsAreBehind => self.read(session, start..end.minus(1)),
            _ => self.read(session, start..end),
        }
    }

    async fn changed(&self, session: &SessionRef, tail: SeqNum) -> Result<()> {
        let mine = self.own.waiting.fetch_add(1, SeqCst);
        let changed = self.inner.changed(session, tail).await;
        let deleter = lock(&self.shared.deleted).get(session).copied();
        match self.wrong {
            Wrong::LastWaiterAloneWakes if self.own.waiting.load(SeqCst) != mine + 1 => {
                future::pending().await
            }
            Wrong::DeafToOthersDeletes if deleter.is_some_and(|n| n != self.number) => {
                future::pending().await
            }
            _ => changed,
        }
    }

    fn sessions(&self) -> SessionIds {
        let all = self.inner.sessions();
        match self.wrong {
            Wrong::ListsEndEarly => all.take(100).boxed(),
            Wrong::ListsSkipThousandths => {
                let numbered = all.enumerate();
                let most = numbered.filter(|(n, _)| future::ready(n % 1_000 != 999));
                most.map(|(_, id)| id).boxed()
            }
            _ => all,
        }
    }

    async fn newest(&self, most: usize) -> Result<Option<Vec<SessionId>>> {
        if !self.is(Wrong::NewestByName) {
            return Ok(None);
        }
        let mut ids: Vec<SessionId> = self.sessions().try_collect().await?;
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids.truncate(most);
        Ok(Some(ids))
    }

    async fn delete(&self, session: &SessionRef, token: Option<FencingToken>) -> Result<()> {
        let reading =
            |(n, held): (&usize, &Arc<()>)| *n != self.number && Arc::strong_count(held) > 1;
        if lock(&self.shared.reading).iter().any(reading) {
            return Err(Error::unavailable("another handle reads"));
        }
        self.inner.delete(session, token).await?;
        lock(&self.shared.deleted).insert(session.clone(), self.number);
        Ok(())
    }
}
