//! Reading events: chunks, then the tail of the newest head.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use futures_util::future::try_join_all;
use futures_util::{StreamExt, stream};
use sessionlog_core::{Chunks, Event, Result, SeqNum, SessionRef};

use crate::chunk::ChunkRef;
use crate::seat::Seat;
use crate::stored::Piece;
use crate::view::View;

/// Requests that are under way at once.
const AT_ONCE: usize = 8;
/// Bytes that are under way at once.
const BYTES: u64 = 4 << 20;
/// How often a read begins anew because chunks were merged meanwhile.
const TRIES: u32 = 6;

/// How a read begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// With a look at the newest head.
    Look,
    /// With the head that this handle has seen last, if the log reaches as far there: the caller has
    /// just looked.
    Known,
}

/// A read that goes on piece by piece.
struct Reading {
    seat: Arc<Seat>,
    session: SessionRef,
    next: SeqNum,
    end: SeqNum,
    begin: Option<Begin>,
    plan: Option<Plan>,
    tries: u32,
}

/// What is to be read, as a head says it.
struct Plan {
    view: Arc<View>,
    chunks: VecDeque<ChunkRef>,
    pieces: VecDeque<Piece>,
}

/// The events of a range.
pub(crate) fn read(
    seat: Arc<Seat>,
    session: SessionRef,
    range: Range<SeqNum>,
    begin: Begin,
) -> Chunks {
    let reading = Reading {
        seat,
        session,
        next: range.start,
        end: range.end,
        begin: Some(begin),
        plan: None,
        tries: 0,
    };
    stream::unfold(Some(reading), |reading| async move {
        let mut reading = reading?;
        match reading.chunk().await {
            Ok(events) if events.is_empty() => None,
            Ok(events) => Some((Ok(events), Some(reading))),
            Err(error) => Some((Err(error), None)),
        }
    })
    .boxed()
}

impl Reading {
    /// The next events; none at the end.
    async fn chunk(&mut self) -> Result<Vec<Event>> {
        loop {
            let mut plan = match self.plan.take() {
                Some(plan) => plan,
                None => self.begin().await?,
            };
            if self.next >= self.end {
                return Ok(Vec::new());
            }
            match self.go_on(&mut plan).await {
                Ok(mut events) => {
                    events.retain(|event| self.next <= event.seq && event.seq < self.end);
                    self.plan = Some(plan);
                    match events.last() {
                        Some(last) => self.next = last.seq.plus(1),
                        None => continue,
                    }
                    return Ok(events);
                }
                Err(error) if error.is_corrupt() && self.tries < TRIES => {
                    self.tries += 1;
                    // Chunks are merged, and heads collected: then there is a newer head.
                    if self.seat.fresh().await?.state.stamp == plan.view.state.stamp {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn begin(&mut self) -> Result<Plan> {
        let begin = self.begin.take();
        let known = self.seat.view().filter(|view| {
            begin == Some(Begin::Known)
                && view.is(&self.session).is_ok()
                && self.end <= view.state.end.tail
        });
        let view = match known {
            Some(view) => view,
            None => self.seat.fresh().await?,
        };
        view.is(&self.session)?;
        if begin.is_some() {
            self.end = self.end.min(view.state.end.tail);
        }
        let wanted = |chunk: &&ChunkRef| {
            let has = chunk.range();
            has.start < self.end && self.next < has.end
        };
        let chunks = view.state.chunks.iter().filter(wanted).cloned().collect();
        Ok(Plan {
            view,
            chunks,
            pieces: VecDeque::new(),
        })
    }

    async fn go_on(&self, plan: &mut Plan) -> Result<Vec<Event>> {
        let life = plan.view.state.incarnation;
        while plan.pieces.len() < AT_ONCE
            && let Some(chunk) = plan.chunks.pop_front()
        {
            plan.pieces.extend(
                self.seat
                    .pieces(life, &chunk, &(self.next..self.end))
                    .await?,
            );
        }
        if plan.pieces.is_empty() {
            let held = self.seat.held(&plan.view).await?;
            let held = held.ok_or_else(|| self.seat.lost(&plan.view))?;
            let behind = held.events.iter().filter(|event| self.next <= event.seq);
            let events: Vec<Event> = behind.cloned().collect();
            // The caller asks on as long as there are events to come.
            return if events.is_empty() {
                Err(self.seat.lost(&plan.view))
            } else {
                Ok(events)
            };
        }
        let (mut now, mut bytes) = (Vec::new(), 0);
        while bytes < BYTES
            && now.len() < AT_ONCE
            && let Some(piece) = plan.pieces.pop_front()
        {
            bytes += piece.len();
            now.push(piece);
        }
        let parts = now.iter().map(|piece| self.seat.piece(life, piece));
        Ok(try_join_all(parts).await?.concat())
    }
}
