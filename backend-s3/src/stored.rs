//! Reading chunks.

use std::ops::Range;

use bytes::Bytes;
use futures_util::future::try_join_all;
use sessionlog_core::{Error, Event, EventId, Incarnation, Kinds, Result, SeqNum, Wanted};

use crate::chunk::{Block, ChunkRef, Front};
use crate::codec::narrow;
use crate::seat::{Desk, Seat};
use crate::view::View;

/// A chunk of at most so many bytes is read as a whole; a larger one in pieces of that size.
const PIECE: u64 = 4 << 20;
/// Fronts that are read at once.
const AT_ONCE: usize = 16;

/// Something to read in one request.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) chunk: ChunkRef,
    blocks: Vec<Block>,
    /// The front is read with it.
    whole: bool,
}

impl Seat {
    /// How to read the events of a chunk that lie in a range. Cost: nothing, or 1 GET of its front if
    /// it is large.
    pub(crate) async fn pieces(
        &self,
        life: Incarnation,
        chunk: &ChunkRef,
        range: &Range<SeqNum>,
    ) -> Result<Vec<Piece>> {
        if chunk.len <= PIECE {
            return Ok(vec![Piece {
                chunk: chunk.clone(),
                blocks: Vec::new(),
                whole: true,
            }]);
        }
        let front = self.front(life, chunk).await?;
        let ends = front.blocks.iter().skip(1).map(|block| block.first);
        let ends = ends.chain([chunk.range().end]);
        let wanted = front.blocks.iter().zip(ends);
        let wanted = wanted.filter(|(block, end)| block.first < range.end && range.start < *end);
        let mut pieces: Vec<Piece> = Vec::new();
        for (block, _) in wanted {
            match pieces.last_mut() {
                Some(piece) if piece.len() < PIECE => piece.blocks.push(block.clone()),
                _ => pieces.push(Piece {
                    chunk: chunk.clone(),
                    blocks: vec![block.clone()],
                    whole: false,
                }),
            }
        }
        Ok(pieces)
    }

    /// The events of a piece. Cost: 1 GET.
    pub(crate) async fn piece(&self, life: Incarnation, piece: &Piece) -> Result<Vec<Event>> {
        let (chunk, keys) = (&piece.chunk, &self.env.keys);
        let key = keys.chunk(&self.dir, life, chunk.first.get(), chunk.name);
        let at = piece.range();
        let bytes = if piece.whole {
            self.env.objects.get(&key).await?
        } else {
            self.env.objects.get_range(&key, at.clone()).await?
        };
        let bytes = bytes.ok_or_else(|| self.no_chunk(life, chunk))?;
        let damaged = |seq: SeqNum| {
            let place = self.chunk_place(life, chunk).with_seq(seq);
            Error::corrupt(place, "a chunk of events is damaged")
        };
        let front;
        let blocks = if piece.whole {
            front = Front::read(&bytes, chunk).ok_or_else(|| damaged(chunk.first))?;
            &front.blocks
        } else {
            &piece.blocks
        };
        let mut events = Vec::new();
        let mut kinds = Kinds::default();
        for block in blocks {
            let from = narrow(block.at.start.saturating_sub(at.start));
            let to = narrow(block.at.end.saturating_sub(at.start));
            let found = bytes
                .get(from..to)
                .and_then(|b| block.events(b, &mut kinds));
            events.extend(found.ok_or_else(|| damaged(block.first))?);
        }
        Ok(events)
    }

    /// The events of a chunk. Cost: 1 GET for each 4 MiB.
    pub(crate) async fn chunk_events(
        &self,
        life: Incarnation,
        chunk: &ChunkRef,
    ) -> Result<Vec<Event>> {
        let pieces = self.pieces(life, chunk, &chunk.range()).await?;
        let parts = pieces.iter().map(|piece| self.piece(life, piece));
        Ok(try_join_all(parts).await?.concat())
    }

    /// The events of a chunk by position, as far as they are whole: each block vouches for its own.
    pub(crate) async fn whole_events(
        &self,
        life: Incarnation,
        chunk: &ChunkRef,
    ) -> Result<Vec<Option<Event>>> {
        let mut found = vec![None; narrow(chunk.count)];
        let key = (self.env.keys).chunk(&self.dir, life, chunk.first.get(), chunk.name);
        let Some(bytes) = self.env.objects.get(&key).await? else {
            return Ok(found);
        };
        let blocks = Front::read(&bytes, chunk).map(|front| front.blocks);
        let mut kinds = Kinds::default();
        for block in blocks.unwrap_or_default() {
            let at = narrow(block.at.start)..narrow(block.at.end);
            let events = bytes.get(at).and_then(|b| block.events(b, &mut kinds));
            for event in events.unwrap_or_default() {
                let at = event.seq.get().checked_sub(chunk.first.get());
                let place = at.and_then(|at| found.get_mut(narrow(at)));
                if let Some(place) = place {
                    *place = Some(event);
                }
            }
        }
        Ok(found)
    }

    async fn front(&self, life: Incarnation, chunk: &ChunkRef) -> Result<Front> {
        let key = self
            .env
            .keys
            .chunk(&self.dir, life, chunk.first.get(), chunk.name);
        let bytes: Option<Bytes> = self.env.objects.get_range(&key, 0..chunk.front).await?;
        let bytes = bytes.ok_or_else(|| self.no_chunk(life, chunk))?;
        Front::read(&bytes, chunk).ok_or_else(|| {
            Error::corrupt(
                self.chunk_place(life, chunk),
                "the front of a chunk is damaged",
            )
        })
    }

    fn no_chunk(&self, life: Incarnation, chunk: &ChunkRef) -> Error {
        let place = self.chunk_place(life, chunk).with_seq(chunk.first);
        Error::corrupt(place, "a chunk of events is not there")
    }

    /// The events of chunks that a ledger wants to see: whose ids these are.
    ///
    /// A head says the least and the largest id of each chunk, and the front of a chunk has a filter:
    /// so ids that ascend cost nothing, and others one small GET for each chunk, once.
    pub(crate) async fn find(
        &self,
        desk: &mut Desk,
        view: &View,
        wanted: &Wanted,
        ids: &[EventId],
    ) -> Result<Vec<Event>> {
        let (life, range) = (view.state.incarnation, &wanted.range);
        let overlaps = |chunk: &&ChunkRef| {
            let has = chunk.range();
            has.start < range.end && range.start < has.end && chunk.may_hold(ids.iter().copied())
        };
        let chunks: Vec<&ChunkRef> = view.state.chunks.iter().filter(overlaps).collect();
        let mut found = Vec::new();
        for some in chunks.chunks(AT_ONCE) {
            let missing = some
                .iter()
                .filter(|chunk| !desk.fronts.contains_key(&chunk.name));
            let fronts = missing.map(|chunk| async move {
                Ok::<_, Error>((chunk.name, self.front(life, chunk).await?))
            });
            let fronts = try_join_all(fronts).await?;
            desk.fronts.extend(fronts);
            for chunk in some {
                let front = desk.fronts.get(&chunk.name);
                if front.is_some_and(|front| front.may_hold(ids.iter().copied())) {
                    let events = self.chunk_events(life, chunk).await?;
                    found.extend(events.into_iter().filter(|event| wanted.matches(event)));
                }
            }
        }
        Ok(found)
    }
}

impl Piece {
    fn range(&self) -> Range<u64> {
        let start = self.blocks.first().map_or(0, |block| block.at.start);
        start
            ..self
                .blocks
                .last()
                .map_or(self.chunk.len, |block| block.at.end)
    }

    pub(crate) fn len(&self) -> u64 {
        let range = self.range();
        range.end.saturating_sub(range.start)
    }
}
