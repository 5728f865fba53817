//! Sealing: events leave the head for a chunk, and small chunks become larger ones.

use std::sync::Arc;

use futures_util::future::try_join_all;
use sessionlog_core::{Error, Event, Place, Result};

use crate::chunk::{self, ChunkRef};
use crate::codec::{frame_len, wide};
use crate::head::{Held, State, Tail};
use crate::objects::{Tries, unseen};
use crate::seat::{Desk, Seat, Unnamed};

/// So many neighbours of a size become one.
const FAN: usize = 8;
/// How often a chunk can be merged into a larger one.
const LEVELS: u32 = 3;
/// New events of so many times what is sealed go into a chunk at once: no head sends them.
const LARGE: usize = 4;
/// A head that was to hold so many times what is sealed waits for a chunk.
const MOST: usize = 8;

impl Seat {
    /// Puts new events behind the old ones: into the head, or, where that would be too large, into a
    /// chunk. Gives what the head is to hold, and enters chunks and tail into `state`.
    pub(crate) async fn sealed(
        &self,
        desk: &mut Desk,
        state: &mut State,
        old: &Held,
        new: Vec<Event>,
        frames: Vec<u8>,
    ) -> Result<Held> {
        let seal = self.env.objects.options.seal_bytes;
        let old = self.name_ahead(desk, state, old);
        let all: Vec<Event> = old.events.iter().cloned().chain(new).collect();
        let len = old.frames.len() + frames.len();
        if frames.len() >= seal.saturating_mul(LARGE) || len > seal.saturating_mul(MOST) {
            let (unnamed, merges) = (Arc::clone(&desk.unnamed), !desk.unmerged);
            let merged = self.seal(&unnamed, merges, state, &all, Tries::Many);
            desk.unmerged |= !merged.await?;
            state.tail = Tail::empty(state.end, state.slot);
            return Ok(Held::default());
        }
        let held = Held {
            frames: [&old.frames[..], &frames].concat().into(),
            events: Arc::new(all),
        };
        state.tail = Tail::of(state.tail.base, state.slot, &held.frames);
        Ok(held)
    }

    /// Puts events into a chunk, together with the chunks before them if these have become many and
    /// are to be merged. Whether the chunks before them could be read.
    pub(crate) async fn seal(
        &self,
        unnamed: &Unnamed,
        merges: bool,
        state: &mut State,
        events: &[Event],
        tries: Tries,
    ) -> Result<bool> {
        let from = self.merged_from(state, events);
        let old = state.chunks.get(from..).unwrap_or_default();
        let mut readable = true;
        if !old.is_empty() && merges {
            // What can't be read or written is not merged: that must not fail an append. It is tried again,
            // unless it is damaged.
            let merged = async {
                let mut all = self.events_of(state, old).await?;
                all.extend_from_slice(events);
                self.put_chunk(unnamed, state, &all, tries).await
            };
            match merged.await {
                Ok(chunk) => {
                    state.chunks.truncate(from);
                    state.chunks.push(chunk);
                    return Ok(true);
                }
                Err(error) => readable = !error.is_corrupt(),
            }
        }
        let chunk = self.put_chunk(unnamed, state, events, tries).await?;
        state.chunks.push(chunk);
        Ok(readable || !merges)
    }

    /// The first of the chunks that new events are put together with.
    fn merged_from(&self, state: &State, events: &[Event]) -> usize {
        let mut raw: u64 = events.iter().map(|event| wide(frame_len(event))).sum();
        let mut from = state.chunks.len();
        for level in 0..LEVELS {
            if self.level(raw) > level {
                continue;
            }
            let before = state.chunks.get(..from).unwrap_or_default();
            let small = |chunk: &&ChunkRef| self.level(chunk.raw) <= level;
            let (mut n, mut all) = (0, raw);
            for chunk in before.iter().rev().take_while(small) {
                if all.saturating_add(chunk.raw) > self.largest_chunk() {
                    break;
                }
                (n, all) = (n + 1, all + chunk.raw);
            }
            // A larger one waits for as many of its own size, so that no byte is merged again for every few
            // small ones.
            if n + 1 < FAN {
                break;
            }
            (from, raw) = (from - n, all);
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
        self.put_chunk(&desk.unnamed, state, &all, Tries::Many)
            .await
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
        unnamed: &Unnamed,
        state: &State,
        events: &[Event],
        tries: Tries,
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
        unnamed.push(state.incarnation, &chunk);
        let put = self.env.objects.put_for(&key, &bytes, tries);
        put.await.map_err(unseen)?;
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
