//! Sealing: events leave the head for a chunk, and small chunks become larger ones.

use std::sync::Arc;

use futures_util::future::try_join_all;
use sessionlog_core::{Error, Event, Head as LogEnd, Place, Result};

use crate::chunk::{self, ChunkRef};
use crate::codec::{frame_len, wide};
use crate::head::{Held, State, Tail};
use crate::objects::unseen;
use crate::seat::{Desk, Seat};

/// So many neighbours of a size become one.
const FAN: usize = 8;
/// How often a chunk can be merged into a larger one.
const LEVELS: u32 = 3;

impl Seat {
    /// Puts new events behind the old ones: into the head as long as that stays small, else into a
    /// chunk. Gives what the head is to hold, and enters chunks and tail into `state`.
    pub(crate) async fn sealed(
        &self,
        desk: &mut Desk,
        state: &mut State,
        old: &Held,
        new: Vec<Event>,
        frames: Vec<u8>,
    ) -> Result<Held> {
        let most = self.env.objects.options.seal_bytes;
        let base = state.tail.base;
        let old_end = old.events.last().map_or(base, LogEnd::after);
        if old.frames.len() + frames.len() <= most {
            let held = Held {
                frames: [&old.frames[..], &frames].concat().into(),
                events: Arc::new(old.events.iter().cloned().chain(new).collect()),
            };
            state.tail = Tail::of(base, state.slot, &held.frames);
            return Ok(held);
        }
        if frames.len() >= most {
            let all: Vec<Event> = old.events.iter().cloned().chain(new).collect();
            self.seal(desk, state, &all).await?;
            state.tail = Tail::empty(state.end, state.slot);
            return Ok(Held::default());
        }
        self.seal(desk, state, &old.events).await?;
        let held = Held {
            frames: frames.into(),
            events: Arc::new(new),
        };
        state.tail = Tail::of(old_end, state.slot, &held.frames);
        Ok(held)
    }

    /// Puts events into a chunk, together with the chunks before them if these have become many.
    pub(crate) async fn seal(
        &self,
        desk: &mut Desk,
        state: &mut State,
        events: &[Event],
    ) -> Result<()> {
        let from = self.merged_from(state, events);
        let old = state.chunks.get(from..).unwrap_or_default();
        if !old.is_empty() && !desk.unmerged {
            // What can't be read is not merged: that must not fail an append.
            match self.events_of(state, old).await {
                Ok(mut all) => {
                    all.extend_from_slice(events);
                    let chunk = self.put_chunk(desk, state, &all).await?;
                    state.chunks.truncate(from);
                    state.chunks.push(chunk);
                    return Ok(());
                }
                Err(_) => desk.unmerged = true,
            }
        }
        let chunk = self.put_chunk(desk, state, events).await?;
        state.chunks.push(chunk);
        Ok(())
    }

    /// The first of the chunks that new events are put together with.
    fn merged_from(&self, state: &State, events: &[Event]) -> usize {
        let mut raw: u64 = events.iter().map(|event| wide(frame_len(event))).sum();
        let mut from = state.chunks.len();
        for level in 0..LEVELS {
            let before = state.chunks.get(..from).unwrap_or_default();
            let small = |chunk: &&ChunkRef| self.level(chunk.raw) <= level;
            let run = before.iter().rev().take_while(small);
            let (n, more) = run.fold((0, 0), |(n, more), chunk| (n + 1, more + chunk.raw));
            if self.level(raw) <= level && n + 1 >= FAN {
                from -= n;
                raw += more;
            }
        }
        from
    }

    async fn events_of(&self, state: &State, chunks: &[ChunkRef]) -> Result<Vec<Event>> {
        let parts = chunks
            .iter()
            .map(|chunk| self.chunk_events(state.incarnation, chunk));
        Ok(try_join_all(parts).await?.concat())
    }

    /// Merges all chunks and the events behind them, as far as chunks may grow.
    pub(crate) async fn merge_all(
        &self,
        desk: &mut Desk,
        state: &mut State,
        behind: &[Event],
    ) -> Result<()> {
        let most = self.largest_chunk();
        let (mut done, mut some, mut raw) = (Vec::new(), Vec::new(), 0);
        for chunk in std::mem::take(&mut state.chunks) {
            if !some.is_empty() && chunk.raw.saturating_add(raw) > most {
                done.push(self.merged(desk, state, &some, &[]).await?);
                (some, raw) = (Vec::new(), 0);
            }
            raw += chunk.raw;
            some.push(chunk);
        }
        if !some.is_empty() || !behind.is_empty() {
            done.push(self.merged(desk, state, &some, behind).await?);
        }
        state.chunks = done;
        Ok(())
    }

    /// One chunk for several, and for the events behind them.
    async fn merged(
        &self,
        desk: &mut Desk,
        state: &State,
        chunks: &[ChunkRef],
        behind: &[Event],
    ) -> Result<ChunkRef> {
        if let ([one], []) = (chunks, behind) {
            return Ok(one.clone());
        }
        let mut all = self.events_of(state, chunks).await?;
        all.extend_from_slice(behind);
        self.put_chunk(desk, state, &all).await
    }

    fn level(&self, raw: u64) -> u32 {
        let seal = wide(self.env.objects.options.seal_bytes).max(2);
        let grown = |level: &u32| raw >= seal / 2 * 8_u64.pow(*level);
        (1..=LEVELS).take_while(grown).last().unwrap_or(0)
    }

    /// The largest chunk, in bytes of frames.
    pub(crate) fn largest_chunk(&self) -> u64 {
        let seal = wide(self.env.objects.options.seal_bytes).max(2);
        seal.saturating_mul(8_u64.pow(LEVELS))
    }

    pub(crate) async fn put_chunk(
        &self,
        desk: &mut Desk,
        state: &State,
        events: &[Event],
    ) -> Result<ChunkRef> {
        let Some((chunk, bytes)) = chunk::encode(events) else {
            return Err(Error::internal("events could not be compressed"));
        };
        let first = chunk.first.get();
        let key = self
            .env
            .keys
            .chunk(&self.dir, state.incarnation, first, chunk.name);
        // Before it is put: a put that failed may have been done.
        desk.unnamed.push((state.incarnation, chunk.clone()));
        self.env.objects.put(&key, &bytes).await.map_err(unseen)?;
        Ok(chunk)
    }

    /// The place of a chunk.
    pub(crate) fn chunk_place(
        &self,
        life: sessionlog_core::Incarnation,
        chunk: &ChunkRef,
    ) -> Place {
        let key = self
            .env
            .keys
            .chunk(&self.dir, life, chunk.first.get(), chunk.name);
        Place::file(self.env.keys.relative(&key)).with_session(&self.id)
    }
}
