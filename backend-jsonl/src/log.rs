//! The log itself: the trait of it, and how a change is waited for.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_timer::Delay;
use futures_util::future::{Either, select};
use futures_util::{StreamExt, stream};
use sessionlog_core::{
    AppendCondition, Chunks, Error, EventLog, FencingToken, Head, NewEvent, Result, SeqNum,
    SessionId, SessionIds, SessionRef, fence, held_error,
};

use crate::commit::Request;
use crate::read::Slice;
use crate::root::holds_session;
use crate::slots::Slots;
use crate::store::Jsonl;

#[async_trait]
impl EventLog for Jsonl {
    async fn create(&self, session: &SessionRef) -> Result<()> {
        self.make(session)
    }

    async fn head(&self, id: &SessionId) -> Result<(SessionRef, Head)> {
        let life = self.present(id)?;
        match life.look()? {
            (end, None) => Ok((life.session.clone(), end.head)),
            (_, Some(fault)) => Err(fault),
        }
    }

    async fn heads(&self, ids: &[SessionId]) -> Vec<Result<(SessionRef, Head)>> {
        let mut heads = Vec::with_capacity(ids.len());
        for id in ids {
            heads.push(match self.still(id) {
                Some(end) => Ok(end),
                None => self.head(id).await,
            });
        }
        heads
    }

    async fn append(
        &self,
        session: &SessionRef,
        events: Vec<NewEvent>,
        condition: AppendCondition,
    ) -> Result<Range<SeqNum>> {
        // A life that is open is not looked up again for each append: the commit looks, under its
        // lock, once for all that share it.
        let life = match self.open_life(session) {
            Some(life) => life,
            None => self.life(session)?,
        };
        let request = Request { events, condition };
        let options = self.options();
        let outcome = life
            .combiner
            .submit(request, life.lock(), |lock, requests| {
                lock.commit(&life, options, requests)
            })
            .await;
        match outcome {
            Err(error) if error.is_not_found() || error.is_corrupt() => {
                if Arc::ptr_eq(&self.life(session)?, &life) {
                    return Err(error);
                }
                Err(Error::unavailable(
                    "the file of the log was replaced by an equal one: nothing was appended, try again",
                ))
            }
            outcome => outcome,
        }
    }

    fn read(&self, session: &SessionRef, range: Range<SeqNum>) -> Chunks {
        enum State {
            Closed(Jsonl, SessionRef, Range<SeqNum>),
            Open(Slice),
        }
        let state = State::Closed(self.clone(), session.clone(), range);
        stream::unfold(Some(state), |state| async move {
            let mut slice = match state? {
                State::Open(slice) => slice,
                State::Closed(store, session, range) => {
                    let opened = store.life(&session).and_then(|l| Slice::open(l, &range));
                    match opened {
                        Ok(slice) => slice,
                        Err(error) => return Some((Err(error), None)),
                    }
                }
            };
            let chunk = slice.next()?;
            let more = chunk.is_ok().then_some(State::Open(slice));
            Some((chunk, more))
        })
        .boxed()
    }

    async fn changed(&self, session: &SessionRef, tail: SeqNum) -> Result<()> {
        // Appends of this handle ring a bell; those of others are looked for, less and less often.
        let mut pause = Duration::from_millis(5);
        loop {
            let life = self.life(session)?;
            let rung = life.bell.listen();
            let (end, fault) = life.look()?;
            if end.head.tail > tail {
                return Ok(());
            }
            if let Some(fault) = fault {
                return Err(fault);
            }
            if let Either::Right(_) = select(rung, Delay::new(pause)).await {
                pause = (pause * 2).min(Duration::from_millis(100));
            }
        }
    }

    fn sessions(&self) -> SessionIds {
        let folders = match self.folders() {
            Ok(folders) => folders,
            Err(error) => return stream::iter([Err(error)]).boxed(),
        };
        let store = self.clone();
        let names = folders.filter_map(move |folder| match folder {
            // What a scan has just read there is a session.
            Ok((id, path)) => (store.has_seen(&id) || holds_session(&path)).then_some(Ok(id)),
            Err(error) => Some(Err(error)),
        });
        stream::iter(names).boxed()
    }

    async fn delete(&self, session: &SessionRef, token: Option<FencingToken>) -> Result<()> {
        let life = self.life(session)?;
        let lock = life.lock().await?;
        life.is_current()?;
        let slots = Slots::read(&life.dir)?;
        fence(token, slots.newest())?;
        if token.is_none()
            && let Some(holder) = crate::lease::held(&life.dir, &slots)?
        {
            return Err(held_error(holder, None));
        }
        self.unmake(&life.dir)?;
        drop(lock);
        self.forget(&session.id);
        Ok(())
    }
}
