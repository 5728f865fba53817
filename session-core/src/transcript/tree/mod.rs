//! A conversation: a tree of messages with a movable head.

mod entry;
mod flow;
mod path;
mod rebuild;
mod segment;

use serde::{Deserialize, Serialize};

pub(super) use entry::Entry;
pub(super) use flow::{Flow, Open};
pub(super) use path::{Base, Path};
pub(super) use rebuild::Rebuild;
pub(super) use segment::{At, Segment};

use crate::SeqNum;

/// The tree of one agent. In memory is the path to the head; the rest is positions, a few for each
/// move of the head and none for each message.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Tree {
    path: Path,
    segments: Vec<Segment>,
    /// Whether the head is the end of the last segment.
    #[serde(default)]
    extends: bool,
}

/// What a node says it hangs under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// Nothing: it hangs under the head.
    Head,
    /// It is a root.
    Root,
    /// The node at this position.
    Under(SeqNum),
}

impl Tree {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    pub(super) fn message(&mut self, entry: Entry, link: Link) {
        match link {
            Link::Head => {}
            Link::Root => self.clear(),
            // Tools that run at the same time answer to the part that called them, not to the last
            // one: such links are no branches.
            Link::Under(parent) if self.expected(parent, &entry) => {}
            Link::Under(parent) => {
                if !self.move_to(parent) {
                    self.clear();
                }
            }
        }
        self.grow(entry.seq, None);
        self.path.push(entry);
    }

    /// Takes in a checkpoint and its messages, all at one position.
    pub(super) fn compaction(&mut self, entries: Vec<Entry>, link: Link, kept: Option<SeqNum>) {
        let Some(seq) = entries.first().map(|entry| entry.seq) else {
            return;
        };
        if let Link::Under(parent) = link {
            self.move_to(parent);
        }
        self.extends = false;
        self.grow(seq, Some(kept.unwrap_or(SeqNum::MAX)));
        self.path.compact(entries, kept);
    }

    pub(super) fn rollback(&mut self, n: u64) {
        let Some(end) = self.path.end().filter(|_| n > 0) else {
            return;
        };
        if self.path.base.is_some() {
            let up = end.up.saturating_add(n);
            self.path = Path::to(At { seq: end.seq, up });
        } else {
            self.path.rollback(n);
        }
        self.extends &= self.path.end() == Some(end);
    }

    /// Moves the head to the last message up to a position; false if no branch has this position.
    pub(super) fn move_to(&mut self, seq: SeqNum) -> bool {
        let end = self.path.end();
        if end == Some(At::exactly(seq)) {
            return true;
        }
        let Some(home) = segment::find(&self.segments, seq).copied() else {
            return false;
        };
        self.extends = false;
        match self.path.find(seq) {
            Ok(len) => self.path.truncate(len),
            // Between two neighbours there is no other message.
            Err(len) if len > 0 && self.neighbours(len, home) => self.path.truncate(len),
            Err(_) => self.path = Path::to(At::exactly(seq)),
        }
        true
    }

    /// Moves the head to before the first message.
    pub(super) fn clear(&mut self) {
        self.extends = false;
        self.path = Path::default();
    }

    /// Lets go of the content of all messages; the places stay.
    pub(super) fn unload(&mut self) {
        if let Some(end) = self.path.end() {
            self.path = Path::to(end);
        }
    }

    fn neighbours(&self, len: usize, home: Segment) -> bool {
        let inside = |at: usize| {
            let entry = self.path.entries().get(at);
            entry.is_some_and(|entry| home.first <= entry.seq && entry.seq <= home.last)
        };
        inside(len - 1) && inside(len)
    }

    fn expected(&self, parent: SeqNum, entry: &Entry) -> bool {
        self.path.base.is_none()
            && self.path.find(parent).is_ok()
            && self.path.flow().expects(entry)
    }

    fn grow(&mut self, seq: SeqNum, kept: Option<SeqNum>) {
        match self.segments.last_mut().filter(|_| self.extends) {
            Some(segment) => segment.last = seq,
            None => {
                self.segments.push(Segment {
                    first: seq,
                    last: seq,
                    under: self.path.end(),
                    kept,
                });
                self.extends = true;
            }
        }
    }
}
