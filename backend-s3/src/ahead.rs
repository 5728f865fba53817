//! Sealing ahead: the chunk is put beside the head that holds its events still, and the next head
//! names it and lets go of them. So no append waits for a chunk.

use std::sync::Arc;
use std::time::Duration;

use sessionlog_core::{Event, Head as LogEnd, Incarnation};

use crate::chunk::ChunkRef;
use crate::codec::{frame_len, narrow};
use crate::head::{Held, State, Tail};
use crate::moment::Moment;
use crate::objects::Tries;
use crate::seat::{Desk, Seat, Unnamed};
use crate::view::View;

/// For so long a chunk may wait for the head that names it: what nothing names is garbage in the
/// end.
const WAITS: Duration = Duration::from_secs(600);

/// A chunk that is there, and that the next head is to name.
pub(crate) struct Ahead {
    life: Incarnation,
    /// The end of the log before it.
    base: LogEnd,
    /// The end of the log behind it.
    end: LogEnd,
    /// The chunks of the head that held its events.
    before: Vec<ChunkRef>,
    /// Those of the head that names it.
    after: Vec<ChunkRef>,
    /// The chunks that it might have been merged with could be read.
    readable: bool,
    since: Moment,
}

impl Ahead {
    /// How many of the events that are in no chunk it has, if it goes on where the chunks of the
    /// head before end.
    fn fits(&self, state: &State, held: &Held) -> Option<usize> {
        let same = self.life == state.incarnation
            && self.base == state.tail.base
            && self.before == state.chunks
            && self.since.elapsed() < WAITS;
        let count = self.end.tail.get().checked_sub(self.base.tail.get())?;
        let count = narrow(count);
        let last = held.events.get(count.checked_sub(1)?)?;
        (same && LogEnd::after(last) == self.end).then_some(count)
    }
}

impl Seat {
    /// Lets a head name the chunk that was put ahead, if there is one for it. Gives the events that
    /// are still in no chunk; the tail of `state` is as it was, but for its beginning.
    pub(crate) fn name_ahead(&self, desk: &mut Desk, state: &mut State, held: &Held) -> Held {
        let Some(ahead) = desk.ahead.take() else {
            return held.clone();
        };
        // Until the head is written.
        desk.unnamed.extend(ahead.life, &ahead.before, &ahead.after);
        let Some(count) = ahead.fits(state, held) else {
            return held.clone();
        };
        state.chunks = ahead.after;
        state.tail.base = ahead.end;
        let (sealed, left) = held.events.split_at_checked(count).unwrap_or_default();
        let at: usize = sealed.iter().map(frame_len).sum();
        Held {
            frames: held.frames.slice(at.min(held.frames.len())..),
            events: Arc::new(left.to_vec()),
        }
    }

    /// As [`Self::name_ahead`], in a head that holds no events: only if all of them are in the
    /// chunk.
    pub(crate) fn name_all_ahead(&self, desk: &mut Desk, state: &mut State, view: &View) {
        let reaches = |ahead: &Ahead| ahead.end == state.end;
        if let Some(held) = view.held.get()
            && desk.ahead.as_ref().is_some_and(reaches)
        {
            let left = self.name_ahead(desk, state, held);
            if left.events.is_empty() {
                state.tail = Tail::empty(state.end, state.slot);
            }
        }
    }

    /// Whether the events that a head holds go into a chunk beside it: the next ones, if they are
    /// as many, would be too many.
    pub(crate) fn is_due(&self, held: &Held, new: usize) -> bool {
        held.frames.len() + new > self.env.objects.options.seal_bytes
    }

    /// Puts the events that a head holds into a chunk. What fails is left for the next time.
    pub(crate) async fn seal_ahead(
        &self,
        unnamed: &Unnamed,
        merges: bool,
        mut state: State,
        events: &[Event],
    ) -> Option<Ahead> {
        let before = state.chunks.clone();
        let end = LogEnd::after(events.last()?);
        let sealed = self.seal(unnamed, merges, &mut state, events, Tries::One);
        let readable = sealed.await.ok()?;
        Some(Ahead {
            life: state.incarnation,
            base: state.tail.base,
            end,
            before,
            after: state.chunks,
            readable,
            since: Moment::now(),
        })
    }

    /// Keeps a chunk for the next head, behind the one beside which it was put. Cost: 1 GET.
    ///
    /// It may have come behind a deletion of the session, which then did not see it. Where there is
    /// another head already it is not kept, and goes as all chunks that no head names.
    pub(crate) async fn keep_ahead(&self, desk: &mut Desk, now: &View, ahead: Option<Ahead>) {
        let Some(ahead) = ahead else {
            return;
        };
        desk.unmerged |= !ahead.readable;
        if matches!(self.peek(now.state.slot + 1).await, Ok(None)) {
            desk.unnamed.remove(ahead.life, &ahead.after);
            desk.ahead = Some(ahead);
        }
    }

    /// Gives up a chunk that no head will name.
    pub(crate) fn drop_ahead(&self, desk: &mut Desk) {
        if let Some(ahead) = desk.ahead.take() {
            desk.unnamed.extend(ahead.life, &ahead.before, &ahead.after);
        }
    }
}
