//! What replay met and passed over.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Kind, SeqNum};

/// Why replay passed over an event, or followed it only in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Odd {
    /// The payload does not fit its standard kind.
    Unfit,
    /// The record that it hangs under is not there: its branch begins with it.
    MissingParent,
    /// The head was to move to a position that no message of the conversation has.
    NoSuchHead,
    /// A checkpoint that says nothing, and was not made to.
    EmptyCheckpoint,
}

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unfit => "the payload does not fit the kind",
            Self::MissingParent => "the record that it hangs under is missing",
            Self::NoSuchHead => "there is no message that the head could move to",
            Self::EmptyCheckpoint => "the checkpoint is empty",
        })
    }
}

/// Events of one kind that are odd in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Oddity {
    /// In which way.
    pub odd: Odd,
    /// The kind.
    pub kind: Kind,
    /// How many there are.
    pub count: u64,
    /// The first of them.
    pub first: SeqNum,
    /// The last of them.
    pub last: SeqNum,
}

/// The odd events of a log: kept, counted and named, never an error. At most one entry for each
/// way and standard kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Oddities(Vec<Oddity>);

impl Oddities {
    /// All of them, in the order in which they first came.
    pub fn all(&self) -> &[Oddity] {
        &self.0
    }

    /// How many events are odd.
    pub fn count(&self) -> u64 {
        self.0
            .iter()
            .fold(0, |sum, odd| sum.saturating_add(odd.count))
    }

    pub(super) fn note(&mut self, odd: Odd, kind: &Kind, seq: SeqNum) {
        let found = self
            .0
            .iter_mut()
            .find(|it| it.odd == odd && it.kind == *kind);
        if let Some(it) = found {
            it.count = it.count.saturating_add(1);
            it.last = seq;
            return;
        }
        self.0.push(Oddity {
            odd,
            kind: kind.clone(),
            count: 1,
            first: seq,
            last: seq,
        });
    }
}
