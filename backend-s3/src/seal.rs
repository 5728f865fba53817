//! Sealing: events leave the head for a chunk, and small chunks become larger ones.

use std::sync::Arc;

use futures_util::future::try_join_all;
use sessionlog_core::{Error, Event, Head as LogEnd, Place, Result};

use crate::chunk::{self, ChunkRef};
use crate::codec::wide;
use crate::head::{Held, State, Tail};
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

    /// Puts events into a chunk, and merges what has become many.
    pub(crate) async fn seal(
        &self,
        desk: &mut Desk,
        state: &mut State,
        events: &[Event],
    ) -> Result<()> {
        let chunk = self.put_chunk(state, events).await?;
        state.chunks.push(chunk);
        for level in 0..LEVELS {
            let small = |chunk: &&ChunkRef| self.level(chunk) <= level;
            let run = state.chunks.iter().rev().take_while(small).count();
            if run < FAN || desk.unmerged {
                continue;
            }
            let from = state.chunks.len() - run;
            if self.merge(state, from).await.is_err() {
                // What can't be read is not merged: that must not fail an append.
                desk.unmerged = true;
            }
        }
        Ok(())
    }

    /// Merges all chunks, as far as they may grow.
    pub(crate) async fn merge_all(&self, state: &mut State) -> Result<()> {
        let most = self.largest_chunk();
        let mut done = Vec::new();
        for chunk in std::mem::take(&mut state.chunks) {
            let raw: u64 = state.chunks.iter().map(|chunk| chunk.raw).sum();
            if !state.chunks.is_empty() && raw.saturating_add(chunk.raw) > most {
                self.merge_into(state, &mut done).await?;
            }
            state.chunks.push(chunk);
        }
        self.merge_into(state, &mut done).await?;
        state.chunks = done;
        Ok(())
    }

    async fn merge_into(&self, state: &mut State, done: &mut Vec<ChunkRef>) -> Result<()> {
        if state.chunks.len() > 1 {
            self.merge(state, 0).await?;
        }
        done.append(&mut state.chunks);
        Ok(())
    }

    fn level(&self, chunk: &ChunkRef) -> u32 {
        let seal = wide(self.env.objects.options.seal_bytes).max(2);
        let grown = |level: &u32| chunk.raw >= seal / 2 * 8_u64.pow(*level);
        (1..=LEVELS).take_while(grown).last().unwrap_or(0)
    }

    /// Makes one chunk of those from a place on. Readers keep the old ones for a while.
    async fn merge(&self, state: &mut State, from: usize) -> Result<()> {
        let old = state.chunks.get(from..).unwrap_or_default();
        let life = state.incarnation;
        let parts = try_join_all(old.iter().map(|chunk| self.chunk_events(life, chunk))).await?;
        let merged = self.put_chunk(state, &parts.concat()).await?;
        state.chunks.truncate(from);
        state.chunks.push(merged);
        Ok(())
    }

    /// The largest chunk, in bytes of frames.
    pub(crate) fn largest_chunk(&self) -> u64 {
        let seal = wide(self.env.objects.options.seal_bytes).max(2);
        seal.saturating_mul(8_u64.pow(LEVELS))
    }

    pub(crate) async fn put_chunk(&self, state: &State, events: &[Event]) -> Result<ChunkRef> {
        let Some((chunk, bytes)) = chunk::encode(events) else {
            return Err(Error::internal("events could not be compressed"));
        };
        let first = chunk.first.get();
        let key = self
            .env
            .keys
            .chunk(&self.dir, state.incarnation, first, chunk.name);
        self.env.objects.put(&key, &bytes).await?;
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
