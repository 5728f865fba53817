//! A path put together again from its events.

use std::ops::Range;

use super::entry::Entry;
use super::path::{Base, Path};
use super::segment::{Segment, Step, way_to};
use crate::SeqNum;

/// A fold over the events of a way that is not in memory.
#[derive(Debug)]
pub(in super::super) struct Rebuild {
    base: Base,
    steps: std::collections::VecDeque<Step>,
    path: Path,
}

impl Rebuild {
    pub(in super::super) fn new(segments: &[Segment], base: Base) -> Self {
        Self {
            base,
            steps: way_to(segments, base.at, base.from).into(),
            path: Path::default(),
        }
    }

    /// The positions that are to be read, in order.
    pub(in super::super) fn ranges(&self) -> Vec<Range<SeqNum>> {
        let mut all: Vec<Range<SeqNum>> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            match all.last_mut().filter(|last| last.end == step.range.start) {
                Some(last) => last.end = step.range.end,
                None => all.push(step.range.clone()),
            }
        }
        all
    }

    /// Takes in the next message of the agent, or the next checkpoint with its messages.
    pub(in super::super) fn push(&mut self, entries: Vec<Entry>) {
        let Some(first) = entries.first() else {
            return;
        };
        let (seq, checkpoint) = (first.seq, first.is_checkpoint());
        while let Some(step) = self.steps.front()
            && step.range.end <= seq
        {
            self.path.rollback(step.up);
            self.steps.pop_front();
        }
        let step = self.steps.front();
        let Some(step) = step.filter(|step| step.range.contains(&seq)) else {
            return;
        };
        if checkpoint {
            let kept = step.kept.filter(|kept| *kept != SeqNum::MAX);
            self.path.compact(entries, kept);
        } else {
            entries.into_iter().for_each(|entry| self.path.push(entry));
        }
    }

    /// The entries of the way.
    pub(in super::super) fn finish(mut self) -> (Base, Vec<Entry>) {
        for step in std::mem::take(&mut self.steps) {
            self.path.rollback(step.up);
        }
        let from = self.base.from;
        let entries = self.path.entries().iter();
        let entries = entries.filter(|entry| entry.seq >= from).cloned().collect();
        (self.base, entries)
    }
}
