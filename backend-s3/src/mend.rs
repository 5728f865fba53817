//! Mending a session: every event that is whole stays at its position.

use std::sync::Arc;

use sessionlog_core::{
    Data, Error, Event, FencingToken, Head as LogEnd, Kind, Kinds, NewEvent, Repair, Result,
    SessionRef, Timestamp, held_error,
};

use crate::chunk::ChunkRef;
use crate::codec::{self, Fields, frame_len, wide};
use crate::head::{Sort, State, Tail, open};
use crate::objects::Tries;
use crate::run::Step;
use crate::seat::{Desk, Done, Seat};
use crate::view::View;

const LOST: Kind = Kind::from_static("repair.lost");

/// What is whole of a session.
pub(crate) struct Salvage {
    /// The newest head that is whole, in the newest slot.
    pub(crate) state: State,
    pub(crate) repair: Repair,
    /// The head in the newest slot is damaged.
    headless: bool,
    /// The session's marker is lost or damaged.
    unmarked: bool,
    /// What the head holds is not what it says, even if every event is there.
    spoilt: bool,
    /// The end of the log before the first loss.
    base: LogEnd,
    /// Chunks before it.
    chunks: Vec<ChunkRef>,
    /// What is behind them, by position.
    events: Vec<Option<Event>>,
}

impl Salvage {
    /// Whether there is nothing to mend.
    pub(crate) fn is_whole(&self) -> bool {
        !self.unmarked && self.holds()
    }

    /// Whether there is nothing to mend but the marker.
    fn holds(&self) -> bool {
        !self.headless && !self.spoilt && self.repair.lost == 0
    }
}

impl Seat {
    /// Looks for what is whole. Reads the whole session.
    ///
    /// # Errors
    /// `NotFound`; `Unsupported` if no head is whole.
    pub(crate) async fn salvage(&self) -> Result<Salvage> {
        let (state, frames, headless) = self.newest_whole().await?;
        let life = state.incarnation;
        let genesis = LogEnd::genesis(&self.id, life);
        let mut found = Salvage {
            repair: Repair::default(),
            headless,
            unmarked: self.marker_harm(&state).await?.is_some(),
            spoilt: !state.tail.is_of(&frames),
            base: genesis,
            chunks: Vec::new(),
            events: Vec::new(),
            state,
        };
        if found.unmarked {
            let step = "put the session's marker into the index";
            found.repair.steps.push(step.into());
        }
        if found.spoilt {
            let step = "put what is whole of the last events into a chunk";
            found.repair.steps.push(step.into());
        }
        if headless {
            let step =
                "put a head behind the newest one, which is damaged: what it alone held is lost";
            found.repair.steps.push(step.into());
        }
        let mut chain = genesis;
        for chunk in &found.state.chunks {
            let events = self.whole_events(life, chunk).await?;
            let verified = |chain: &mut LogEnd, event: &Option<Event>| {
                let event = event.as_ref();
                event.is_some_and(|event| chain.verify(&self.id, event).is_ok())
            };
            let intact =
                found.events.is_empty() && events.iter().all(|event| verified(&mut chain, event));
            if intact {
                found.base = chain;
                found.chunks.push(chunk.clone());
            } else {
                let place = self.chunk_place(life, chunk);
                found.repair.kept.extend(place.file);
                found.events.extend(events);
            }
        }
        found.events.extend(self.whole_tail(&found.state, frames));
        let lost = found.events.iter().filter(|event| event.is_none()).count();
        found.repair.lost = wide(lost);
        found.repair.events = found.state.end.tail.get() - found.repair.lost;
        if lost > 0 {
            found.repair.steps.push(format!(
                "replace {lost} lost events; what is left of them stays until garbage is collected"
            ));
        }
        Ok(found)
    }

    /// What the newest whole head says, with the slot of the newest; and the frames of its tail, as
    /// they are.
    async fn newest_whole(&self) -> Result<(State, bytes::Bytes, bool)> {
        let slots = self.slots().await?;
        let Some(newest) = slots.first().copied() else {
            return Err(match self.marker_in_index().await? {
                Some(_) => Error::unsupported(format!(
                    "no head of the session is there, bring one back from a backup or an older \
                     version of the object: {}",
                    self.id
                )),
                None => self.missing(),
            });
        };
        for slot in slots {
            let key = self.env.keys.head(&self.dir, slot);
            let Some(bytes) = self.env.objects.get(&key).await? else {
                continue;
            };
            let (mut state, mut frames) = match open(&bytes, &self.head_name(slot), &self.dir, slot)
            {
                Err(error) if error.is_corrupt() => continue,
                opened => opened?,
            };
            let view = View::new(state.clone(), None, false);
            if !state.lives() || self.is_void(&view).await? {
                return Err(self.missing());
            }
            if state.tail.slot != slot {
                frames = self.frames_in(state.tail.slot).await?;
            }
            state.slot = newest;
            let headless = slot != newest;
            if headless {
                // What can't be read may be of grants. They are counted, so the clock is far ahead of
                // any of them.
                let now = u64::try_from(Timestamp::now().as_micros()).unwrap_or(0);
                state.token = state.token.max(FencingToken::new(now));
            }
            return Ok((state, frames, headless));
        }
        Err(Error::unsupported(format!(
            "no head of the session can be read, bring one back from a backup or an older version of \
             the object: {}",
            self.id
        )))
    }

    async fn frames_in(&self, slot: u64) -> Result<bytes::Bytes> {
        let key = self.env.keys.head(&self.dir, slot);
        let bytes = self.env.objects.get(&key).await?.unwrap_or_default();
        match open(&bytes, &self.head_name(slot), &self.dir, slot) {
            Err(error) if error.is_corrupt() => Ok(bytes::Bytes::new()),
            opened => Ok(opened?.1),
        }
    }

    /// The events of a tail, as far as they stand behind each other unchanged.
    fn whole_tail(&self, state: &State, frames: bytes::Bytes) -> Vec<Option<Event>> {
        let mut chain = state.tail.base;
        let mut found = Vec::new();
        let mut left = frames;
        while let Some(frame) = Fields(&left).bytes() {
            let one = left.slice(..4 + frame.len());
            left = left.slice(one.len()..);
            let events = codec::events(&one, chain.tail, &mut Kinds::default());
            let Some([event]) = events.as_deref() else {
                break;
            };
            if chain.tail >= state.end.tail || chain.verify(&self.id, event).is_err() {
                break;
            }
            found.push(Some(event.clone()));
        }
        let all = sessionlog_core::span(&(state.tail.base.tail..state.end.tail));
        found.resize(codec::narrow(all), None);
        found
    }

    /// Mends the session.
    pub(crate) async fn try_mend(
        &self,
        desk: &mut Desk,
        session: &SessionRef,
    ) -> Result<Step<Done>> {
        self.settle(desk).await?;
        let salvage = self.salvage().await?;
        let broken = View::new(salvage.state.clone(), None, false);
        broken.is(session)?;
        if let Some(grant) = broken.grant() {
            return Err(held_error(grant.holder.clone(), Some(grant.expires_at())));
        }
        if salvage.unmarked
            && broken.is_begun()
            && let Step::Again = self.claim(desk, &broken, Sort::Fence, |_| ()).await?
        {
            // It may be a creation that was broken off: a head behind it finishes it, unless
            // somebody else has ended it.
            return Ok(Step::Again);
        }
        if salvage.unmarked {
            self.put_marker_back(&salvage.state).await?;
            if let Err(gone) = self.load().await
                && gone.is_not_found()
            {
                // Deleted meanwhile, and its marker before it was put back.
                let marker = self.marker(&salvage.state);
                self.env.objects.delete(vec![marker]).await?;
                return Err(gone);
            }
        }
        if salvage.holds() {
            return Ok(Step::Done(Done::Mended(salvage.repair)));
        }
        // A head that can't be read may be a fence.
        let slots = self.slots().await?;
        let fences = |state: &mut State| {
            if salvage.headless {
                state
                    .fences
                    .extend(slots.iter().rev().filter(|slot| **slot < state.slot));
                state.fences.sort_unstable();
                state.fences.dedup();
            }
        };
        let Step::Done(fence) = self.claim(desk, &broken, Sort::Fence, fences).await? else {
            return Ok(Step::Again);
        };
        let mut state = self.next(&fence, Sort::Turn);
        state.chunks = salvage.chunks;
        state.end = salvage.base;
        let mut events = Vec::with_capacity(salvage.events.len());
        for event in salvage.events {
            let new = event.map_or_else(lost, |event| Ok(event.into_new()))?;
            events.push(state.end.seal(new));
        }
        let (mut from, mut raw) = (0, 0);
        for (at, event) in events.iter().enumerate() {
            raw += wide(frame_len(event));
            if raw >= self.largest_chunk() || at + 1 == events.len() {
                let some = events.get(from..=at).unwrap_or_default();
                let chunk = self
                    .put_chunk(&desk.unnamed, &state, some, Tries::Many)
                    .await?;
                state.chunks.push(chunk);
                (from, raw) = (at + 1, 0);
            }
        }
        state.tail = Tail::empty(state.end, state.slot);
        let mended = View::new(state, None, true).since(&fence);
        let Step::Done(mended) = self.write(desk, mended, &[]).await? else {
            return Ok(Step::Again);
        };
        self.won(desk, &fence, &Arc::clone(&mended));
        // What is damaged is kept aside: collections leave it for a day.
        desk.dropped.clear();
        Ok(Step::Done(Done::Mended(salvage.repair)))
    }
}

/// What stands where an event is lost.
fn lost() -> Result<NewEvent> {
    let text = r#"{"reason":"the event did not match its checksum, or was missing","kept":null}"#;
    Ok(NewEvent::new(LOST, Data::from_json(text)?))
}
