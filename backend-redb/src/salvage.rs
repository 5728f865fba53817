//! What is whole in a damaged log.

use bytes::Bytes;
use sessionlog_core::{Event, Head, Kinds, NewEvent, SeqNum, SessionRef, Sum};

use crate::format::{decode_event, event_sum};

/// Goes through the rows of a log and tells which of them are whole.
///
/// An event vouches for itself by its checksum and that of the event before. If that one is damaged,
/// its checksum may still be whole, as it was stored or as it can be computed; the event behind it
/// proves which.
pub(crate) struct Salvage {
    session: SessionRef,
    /// The possible ends of the log so far, the most likely one first.
    ends: Vec<Head>,
}

impl Salvage {
    pub(crate) fn new(session: &SessionRef) -> Self {
        Self {
            session: session.clone(),
            ends: vec![Head::genesis(&session.id, session.incarnation)],
        }
    }

    /// The verified end; `None` behind damage.
    pub(crate) fn head(&self) -> Option<Head> {
        match self.ends.as_slice() {
            [end] => Some(*end),
            _ => None,
        }
    }

    /// The next position has no row.
    pub(crate) fn missing(&mut self) {
        self.ends.clear();
    }

    /// The next row: the event, if it is whole.
    pub(crate) fn take(&mut self, seq: SeqNum, row: &Bytes, kinds: &mut Kinds) -> Option<Event> {
        let event = decode_event(row, 0..row.len(), seq, kinds);
        let Some(event) = event else {
            // What it was is lost; its checksum may be there.
            let tops = self.ends.first().map(|end| end.top);
            let sum = event_sum(row);
            self.ends = sum
                .zip(tops)
                .map(|(s, t)| end(seq, s, t))
                .into_iter()
                .collect();
            self.doubt();
            return None;
        };
        for end in &self.ends {
            let mut end = *end;
            if end.verify(&self.session.id, &event).is_ok() {
                self.ends = vec![end];
                return Some(event);
            }
        }
        // Behind a lost event the largest id before is taken from the event itself.
        for end in self.ends.clone() {
            let mut end = end;
            end.top = event.top.unwrap_or(sessionlog_core::EventId::MIN);
            if end.verify(&self.session.id, &event).is_ok() {
                self.ends = vec![end];
                return Some(event);
            }
        }
        let stored = Head::after(&event);
        let mut ends = vec![stored];
        for mut before in self.ends.clone() {
            let sealed = before.seal(new(&event));
            ends.push(Head::after(&sealed));
        }
        self.ends = ends;
        self.doubt();
        None
    }

    /// Keeps the ends from being taken for a verified one.
    fn doubt(&mut self) {
        if let [end] = self.ends.as_slice() {
            self.ends = vec![*end, *end];
        }
    }
}

fn end(seq: SeqNum, sum: Sum, top: sessionlog_core::EventId) -> Head {
    Head::new(seq.plus(1), sum, top)
}

fn new(event: &Event) -> NewEvent {
    event.clone().into_new()
}
