//! The way from the root, or from the last compaction, to the head.

use serde::{Deserialize, Serialize};

use super::super::Role;
use super::entry::Entry;
use super::flow::{Admitted, Flow};
use super::segment::At;
use crate::SeqNum;

/// The entries from the root to the head, in order; their positions ascend.
///
/// After a move into a branch that is not in memory, the part before the move is `base`: a place in
/// the tree whose events are read when the conversation is asked for. What replay decides never
/// depends on whether they were.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "State", into = "State")]
pub(in super::super) struct Path {
    pub(in super::super) base: Option<Base>,
    entries: Vec<Entry>,
    /// Entries that a rollback can't take: the checkpoint and what it kept.
    floor: usize,
    flow: Flow,
}

/// The part of a path that is not in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Base {
    /// Its end.
    pub(in super::super) at: At,
    /// Only entries from this position on belong to it.
    pub(in super::super) from: SeqNum,
}

/// A path as it is saved.
#[derive(Serialize, Deserialize)]
struct State {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<Base>,
    entries: Vec<Entry>,
    floor: usize,
}

impl From<State> for Path {
    fn from(state: State) -> Self {
        let mut path = Self {
            base: state.base,
            ..Self::default()
        };
        state.entries.into_iter().for_each(|entry| path.push(entry));
        path.floor = state.floor.min(path.entries.len());
        path
    }
}

impl From<Path> for State {
    fn from(path: Path) -> Self {
        Self {
            base: path.base,
            entries: path.entries,
            floor: path.floor,
        }
    }
}

impl Path {
    /// A path to a place whose events are not in memory.
    pub(in super::super) fn to(at: At) -> Self {
        Self {
            base: Some(Base {
                at,
                from: SeqNum::ZERO,
            }),
            ..Self::default()
        }
    }

    pub(in super::super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(in super::super) fn flow(&self) -> &Flow {
        &self.flow
    }

    /// The end; `None` before the first message.
    pub(in super::super) fn end(&self) -> Option<At> {
        let last = self.entries.last().map(|entry| At::exactly(entry.seq));
        last.or_else(|| self.base.map(|base| base.at))
    }

    pub(in super::super) fn push(&mut self, mut entry: Entry) {
        let admitted = self.flow.admit(self.entries.len(), &entry);
        entry.joins = admitted.joins.is_some();
        entry.aside = is_aside(&entry, &admitted);
        self.entries.push(entry);
    }

    /// Puts a checkpoint, and its messages, in the place of all but the messages from `kept` on.
    pub(in super::super) fn compact(&mut self, checkpoint: Vec<Entry>, kept: Option<SeqNum>) {
        let from = kept.unwrap_or(SeqNum::MAX);
        let base = self.base.filter(|base| base.at.seq >= from);
        let base = base.map(|base| Base {
            at: base.at,
            from: base.from.max(from),
        });
        let entries = std::mem::take(&mut self.entries);
        *self = Self {
            base,
            ..Self::default()
        };
        entries
            .into_iter()
            .filter(|entry| entry.seq >= from)
            .chain(checkpoint)
            .for_each(|entry| self.push(entry));
        self.floor = self.entries.len();
    }

    /// Takes `n` messages away, as far as there are any. Only where all of the path is in memory.
    pub(in super::super) fn rollback(&mut self, n: u64) {
        let mut left = n;
        let mut len = self.entries.len();
        while left > 0
            && len > self.floor
            && let Some(entry) = self.entries.get(len - 1)
        {
            left -= u64::from(!entry.joins && !entry.aside);
            len -= 1;
        }
        self.truncate(len);
    }

    pub(in super::super) fn truncate(&mut self, len: usize) {
        if len < self.entries.len() {
            self.entries.truncate(len);
            self.flow.truncate(len, &self.entries);
        }
    }

    /// The number of entries up to the one at `seq`, if it is above the last checkpoint or is it;
    /// else the number of those before it.
    pub(in super::super) fn find(&self, seq: SeqNum) -> Result<usize, usize> {
        let len = self.entries.partition_point(|entry| entry.seq <= seq);
        let reachable = len >= self.floor.max(1);
        let exact = len.checked_sub(1).and_then(|at| self.entries.get(at));
        match exact {
            Some(entry) if reachable && entry.seq == seq => Ok(len),
            _ => Err(if reachable { len } else { 0 }),
        }
    }
}

fn is_aside(entry: &Entry, admitted: &Admitted) -> bool {
    let result = entry.role == Role::Tool || !entry.results.is_empty();
    result
        && entry.role != Role::Assistant
        && admitted.answers.iter().all(Option::is_none)
        && (entry.role == Role::Tool || !entry.has_more_than_results())
}
