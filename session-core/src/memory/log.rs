//! The log in memory.

use std::ops::Range;

use async_trait::async_trait;
use futures_util::{StreamExt, stream};

use super::{Life, Memory};
use crate::ledger::held_error;
use crate::{
    Admission, AppendCondition, Chunks, Error, ErrorKind, Event, EventLog, FencingToken, Head,
    NewEvent, Result, SeqNum, SessionId, SessionIds, SessionRef, fence,
};

/// Events handed out at a time.
const CHUNK: usize = 256;

#[async_trait]
impl EventLog for Memory {
    async fn create(&self, session: &SessionRef) -> Result<()> {
        let mut state = self.lock();
        if let Some(life) = state.lives.get(&session.id) {
            let tail = life.ledger.head().tail;
            return Err(Error::new(
                ErrorKind::Conflict { tail },
                format!("the session is there already, open it: {}", session.id),
            ));
        }
        state.lives.insert(session.id.clone(), Life::new(session));
        Ok(())
    }

    async fn head(&self, id: &SessionId) -> Result<(SessionRef, Head)> {
        match self.lock().lives.get(id) {
            Some(life) => Ok((life.session.clone(), life.ledger.head())),
            None => Err(Error::not_found(format!("there is no such session: {id}"))),
        }
    }

    async fn append(
        &self,
        session: &SessionRef,
        events: Vec<NewEvent>,
        condition: AppendCondition,
    ) -> Result<Range<SeqNum>> {
        let mut state = self.lock();
        let life = state.life(session)?;
        let stored = match life.ledger.wanted(&events) {
            Some(wanted) => slice(&life.events, &wanted.range)
                .iter()
                .filter(|e| wanted.matches(e))
                .cloned()
                .collect(),
            None => Vec::new(),
        };
        match life
            .ledger
            .admit(events, condition, &self.limits, life.token, &stored)?
        {
            Admission::Repeat(range) => Ok(range),
            Admission::Write(sealed) => {
                let end = life.ledger.head().tail;
                let start = end.minus(sealed.len() as u64);
                life.events.extend(sealed);
                life.bell.notify(usize::MAX);
                Ok(start..end)
            }
        }
    }

    fn read(&self, session: &SessionRef, range: Range<SeqNum>) -> Chunks {
        let (memory, session) = (self.clone(), session.clone());
        let mut end = range.end;
        let (mut first, mut failed) = (true, false);
        stream::iter(0_u64..)
            .map(move |chunk| {
                let start = range.start.plus(chunk.saturating_mul(CHUNK as u64));
                let mut state = memory.lock();
                let life = state.life(&session)?;
                if std::mem::take(&mut first) {
                    end = end.min(life.ledger.head().tail);
                }
                let until = end.min(start.plus(CHUNK as u64));
                Ok(slice(&life.events, &(start..until)).to_vec())
            })
            .take_while(move |chunk| {
                let more = !failed && !matches!(chunk, Ok(events) if events.is_empty());
                failed |= chunk.is_err();
                async move { more }
            })
            .boxed()
    }

    async fn changed(&self, session: &SessionRef, tail: SeqNum) -> Result<()> {
        let listener = {
            let mut state = self.lock();
            let life = state.life(session)?;
            if life.ledger.head().tail > tail {
                return Ok(());
            }
            life.bell.listen()
        };
        listener.await;
        Ok(())
    }

    fn sessions(&self) -> SessionIds {
        let ids: Vec<_> = self.lock().lives.keys().cloned().map(Ok).collect();
        stream::iter(ids).boxed()
    }

    async fn delete(&self, session: &SessionRef, token: Option<FencingToken>) -> Result<()> {
        let mut state = self.lock();
        let life = state.life(session)?;
        fence(token, life.token)?;
        if token.is_none()
            && let Some(holder) = life.holder()
        {
            return Err(held_error(holder.clone(), None));
        }
        let bell = life.bell.clone();
        state.lives.remove(&session.id);
        bell.notify(usize::MAX);
        Ok(())
    }
}

fn slice<'a>(events: &'a [Event], range: &Range<SeqNum>) -> &'a [Event] {
    let at = |seq: SeqNum| {
        usize::try_from(seq.get())
            .unwrap_or(usize::MAX)
            .min(events.len())
    };
    events
        .get(at(range.start)..at(range.end))
        .unwrap_or_default()
}
