//! Single events of a log, mostly in order.

use sessionlog::{Error, Event, Events, Result, SeqNum, Session};

/// So many events are read over rather than beginning anew.
const NEAR: u64 = 2000;

/// Reads events by their positions: those that follow soon without looking for them again.
pub(crate) struct Fetch<'s> {
    session: &'s Session,
    events: Option<Events>,
    chunk: Vec<Event>,
}

impl<'s> Fetch<'s> {
    pub(crate) fn new(session: &'s Session) -> Self {
        let (events, chunk) = (None, Vec::new());
        Self {
            session,
            events,
            chunk,
        }
    }

    /// The event at a position.
    pub(crate) async fn event(&mut self, seq: SeqNum) -> Result<Event> {
        let lost = || Error::internal(format!("the event can't be found again: {seq}"));
        loop {
            let range = self.chunk.first().zip(self.chunk.last());
            match range.map(|(first, last)| (first.seq, last.seq)) {
                Some((first, last)) if first <= seq && seq <= last => {
                    let found = self.chunk.binary_search_by_key(&seq, |event| event.seq);
                    let found = found.ok().and_then(|at| self.chunk.get(at));
                    return found.cloned().ok_or_else(lost);
                }
                Some((_, last)) if last < seq && seq.get() - last.get() < NEAR => {}
                _ => self.events = Some(self.session.read(seq..SeqNum::MAX)),
            }
            // No two chunks are in memory at once.
            self.chunk = Vec::new();
            let next = match &mut self.events {
                Some(events) => events.next_chunk().await,
                None => None,
            };
            self.chunk = next.ok_or_else(lost)??;
        }
    }
}
