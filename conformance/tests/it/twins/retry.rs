//! Faults of repeated appends.

use std::ops::Range;

use futures_util::TryStreamExt;
use sessionlog_core::{
    AppendCondition, Error, Event, EventId, NewEvent, Result, SeqNum, SessionRef,
};

use super::{Fault, Faulty, pause};

/// What is left to append, or where it is already.
type Left = std::result::Result<Vec<NewEvent>, Range<SeqNum>>;

/// Gives events that are stored at a position an id of their own: they are appended again.
fn doubled(
    stored: &[Event],
    mut events: Vec<NewEvent>,
    forgotten: impl Fn(SeqNum) -> bool,
) -> Vec<NewEvent> {
    for event in &mut events {
        let there = stored.iter().find(|s| s.id == event.id);
        if there.is_some_and(|s| forgotten(s.seq)) {
            event.id = EventId::generate();
        }
    }
    events
}

impl Faulty {
    async fn stored(&self, session: &SessionRef) -> Result<Vec<Event>> {
        self.inner.read(session, SeqNum::all()).try_concat().await
    }

    pub(super) async fn retried(
        &self,
        session: &SessionRef,
        events: Vec<NewEvent>,
        condition: AppendCondition,
    ) -> Result<Left> {
        let all_of = |stored: &[Event]| {
            let places: Option<Vec<SeqNum>> = events
                .iter()
                .map(|e| stored.iter().find(|s| s.id == e.id).map(|s| s.seq))
                .collect();
            let places = places.filter(|p| !p.is_empty())?;
            let dense = places.windows(2).all(|w| w[1] == w[0].plus(1));
            dense.then(|| places[0]..places[places.len() - 1].plus(1))
        };
        Ok(Ok(match self.fault {
            Fault::NotIdempotent => doubled(&self.stored(session).await?, events, |_| true),
            Fault::SmallWindow => {
                let tail = self.inner.head(&session.id).await?.1.tail;
                doubled(&self.stored(session).await?, events, |s| {
                    s.plus(1_000) < tail
                })
            }
            Fault::ForgetsIdsAtReopen => {
                let before = self
                    .known()
                    .at_open
                    .get(session)
                    .map_or(0, |(_, tail)| *tail);
                doubled(&self.stored(session).await?, events, |s| s.get() < before)
            }
            Fault::ConcurrentRepeatsDouble => {
                let before = self.stored(session).await?;
                pause().await;
                let after = self.stored(session).await?;
                let seen = before.len() as u64;
                doubled(&after, events, |s| s.get() >= seen)
            }
            Fault::NoContentCheck => match all_of(&self.stored(session).await?) {
                Some(range) => return Ok(Err(range)),
                None => events,
            },
            Fault::SkipsKnown => {
                let stored = self.stored(session).await?;
                if let Some(range) = all_of(&stored) {
                    return Ok(Err(range));
                }
                let new = |e: &NewEvent| stored.iter().all(|s| s.id != e.id);
                events.into_iter().filter(new).collect()
            }
            Fault::IdsAreGlobal => {
                let mut known = self.known();
                for event in &events {
                    let owner = known.ids.entry(event.id).or_insert(session.id.clone());
                    if *owner != session.id {
                        return Err(Error::invalid("the id is another session's"));
                    }
                }
                drop(known);
                events
            }
            Fault::IdsMustAscend if condition.tail.is_none() => {
                let top = self.inner.head(&session.id).await?.1.top;
                let stored = self.stored(session).await?;
                let new = |e: &&NewEvent| stored.iter().all(|s| s.id != e.id);
                if events.iter().filter(new).any(|e| e.id < top) {
                    return Err(Error::invalid("ids must ascend"));
                }
                events
            }
            Fault::DropsToolResults => super::replay::without_results(events),
            Fault::RollbackTruncates => {
                self.truncated(session, &events).await?;
                events
            }
            _ => events,
        }))
    }

    /// Keeps appends in memory, and writes eight at once when the next comes.
    pub(super) async fn later(
        &self,
        session: &SessionRef,
        events: Vec<NewEvent>,
    ) -> Result<Range<SeqNum>> {
        let waiting = self.known().late.len();
        if waiting == 8 {
            let late = std::mem::take(&mut self.known().late);
            for (session, events) in late {
                self.inner
                    .append(&session, events, AppendCondition::NONE)
                    .await?;
            }
        }
        let stored = self.inner.head(&session.id).await?.1.tail;
        let mut known = self.known();
        let late: usize = known.late.iter().map(|(_, e)| e.len()).sum();
        let start = stored.plus(late as u64);
        let end = start.plus(events.len() as u64);
        known.late.push((session.clone(), events));
        Ok(start..end)
    }
}

/// Whether this process is to be killed: only there does it acknowledge early.
pub(super) fn is_child() -> bool {
    std::env::var_os("SESSIONLOG_CONFORMANCE_CHILD").is_some()
}
