//! The counts of a session.

use std::collections::BTreeMap;

use serde::Serialize;
use sessionlog::transcript::{Message, Transcript, kinds};
use sessionlog::{Event, Kind, Projection, Timestamp};

use super::prices::Prices;
use super::tell::Told;
use crate::story::slim;
use crate::unanswered::Unanswered;

/// The counts. The log is read once, in bounded memory.
#[derive(Default)]
pub(super) struct Counts {
    events: u64,
    bytes: u64,
    kinds: BTreeMap<Kind, OfKind>,
    messages: BTreeMap<&'static str, u64>,
    calls: u64,
    results: u64,
    open: Unanswered,
    transcript: Transcript,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

#[derive(Default, Serialize)]
pub(super) struct OfKind {
    pub(super) events: u64,
    pub(super) bytes: u64,
}

impl Counts {
    pub(super) fn add(&mut self, event: &Event) {
        let size = event.data.len() as u64;
        self.events += 1;
        self.bytes += size;
        // Looked up first: a kind is cloned once, not once an event.
        match self.kinds.get_mut(&event.kind) {
            Some(kind) => kind.add(size),
            None => self.kinds.entry(event.kind.clone()).or_default().add(size),
        }
        // When a session was imported says nothing about when it was.
        if event.kind != kinds::IMPORT_STARTED && event.kind != kinds::IMPORT_FINISHED {
            self.first = Some(self.first.map_or(event.at, |at| at.min(event.at)));
            self.last = Some(self.last.map_or(event.at, |at| at.max(event.at)));
        }
        if event.kind == kinds::MESSAGE
            && let Ok(message) = event.data.view::<Message<'_>>()
        {
            *self.messages.entry(message.role.as_str()).or_default() += 1;
            self.calls += message.calls.len() as u64;
            self.results += message.results.len() as u64;
            self.open.add(&message);
        }
        self.transcript.apply(&slim(event));
    }

    pub(super) fn told<'a>(&'a self, id: &'a str, prices: Option<&Prices>) -> Told<'a> {
        let spending = self.transcript.spending();
        let lineage = self.transcript.lineage();
        Told {
            id,
            events: self.events,
            bytes: self.bytes,
            kinds: &self.kinds,
            messages: &self.messages,
            calls: self.calls,
            results: self.results,
            unanswered: self.open.count(),
            tokens: spending.tokens(),
            inherited: spending.inherited(),
            models: spending.by_model(),
            cache_hit_rate: spending.cache_hit_rate(),
            cost: spending.cost(),
            cost_by_prices: prices.map(|prices| spending.cost_by(|model| prices.of(model))),
            turns: self.transcript.turns().started(),
            branches: self.transcript.branches(None).len() as u64,
            agents: self.transcript.agents().collect(),
            forked_from: lineage.origin.as_ref(),
            forks: &lineage.forks,
            succeeded_by: lineage.succeeded_by.as_deref(),
            oddities: self.transcript.oddities().all(),
            first: self.first,
            last: self.last,
        }
    }
}

impl OfKind {
    fn add(&mut self, bytes: u64) {
        self.events += 1;
        self.bytes += bytes;
    }
}
