//! Branches as positions.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::SeqNum;

/// A place in the tree: so many messages above the last message up to a position.
///
/// A rollback inside a branch that is not in memory can't tell which message it ends at; the events
/// of the branch can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct At {
    pub(in super::super) seq: SeqNum,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(in super::super) up: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl At {
    pub(in super::super) const fn exactly(seq: SeqNum) -> Self {
        Self { seq, up: 0 }
    }
}

/// A run of messages, each of which hangs under the one before. All messages of the agent between
/// the two positions belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Segment {
    pub(in super::super) first: SeqNum,
    pub(in super::super) last: SeqNum,
    /// What the first one hangs under; nothing for a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) under: Option<At>,
    /// The first one is a checkpoint, and the messages from this position on stay behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) kept: Option<SeqNum>,
}

/// A run of messages on the way to a place, and how many are taken away at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Step {
    pub(in super::super) range: Range<SeqNum>,
    pub(in super::super) up: u64,
    pub(in super::super) kept: Option<SeqNum>,
}

/// The segment that a position lies in.
pub(in super::super) fn find(segments: &[Segment], seq: SeqNum) -> Option<&Segment> {
    let at = segments.partition_point(|segment| segment.first <= seq);
    let segment = segments.get(at.checked_sub(1)?)?;
    (seq <= segment.last).then_some(segment)
}

/// The way to a place, from the root or the nearest compaction down.
pub(in super::super) fn way_to(segments: &[Segment], at: At, from: SeqNum) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut next = Some(at);
    let mut needed = from;
    while let Some(at) = next.filter(|at| at.seq >= needed)
        && let Some(segment) = find(segments, at.seq)
    {
        steps.push(Step {
            range: segment.first..at.seq.plus(1),
            up: at.up,
            kept: segment.kept,
        });
        if let Some(kept) = segment.kept {
            needed = needed.max(kept);
        }
        // A parent always stands before its child, so this ends.
        next = segment.under.filter(|under| under.seq < segment.first);
    }
    steps.reverse();
    steps
}
