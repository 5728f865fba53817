//! What was done, when, and what was answered.

use serde::{Deserialize, Serialize};

use super::clock::Clock;
use crate::breach::Held;

/// One operation of somebody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Op {
    pub(super) who: u64,
    /// Which of theirs.
    pub(super) n: u64,
    pub(super) began: u64,
    /// `None` if nobody knows how it ended.
    pub(super) ended: Option<u64>,
    pub(super) what: What,
}

/// An operation and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum What {
    /// Events with the numbers `first..first + count`.
    Append {
        first: u64,
        count: u64,
        tail: Option<u64>,
        token: Option<u64>,
        got: Got,
    },
    Head {
        tail: Option<u64>,
    },
    /// The whole log: how many events, and a sum of their numbers.
    Read {
        seen: Option<(u64, u64)>,
    },
    /// A lease, taken from its holder or not; without a token if another holds it.
    Acquire {
        forced: bool,
        token: Option<u64>,
    },
    Release {
        token: u64,
    },
    /// A session, in the life of that number; whether it was made.
    Create {
        name: String,
        life: u64,
        made: Option<bool>,
    },
    Delete {
        name: String,
        life: u64,
        gone: Option<bool>,
    },
    List {
        names: Option<Vec<String>>,
    },
}

/// What came of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Got {
    Range(u64, u64),
    Conflict(u64),
    Fenced(u64),
    /// Nothing happened, for another reason.
    Nothing,
    /// It may have happened.
    Unknown,
}

/// Writes operations down.
pub(super) struct Pen {
    clock: Clock,
    who: u64,
    n: u64,
    write: Box<dyn FnMut(&Op) + Send>,
}

impl Pen {
    pub(super) fn new(clock: Clock, who: u64, write: impl FnMut(&Op) + Send + 'static) -> Self {
        Self {
            clock,
            who,
            n: 0,
            write: Box::new(write),
        }
    }

    /// Begins an operation: it is written down, with no end yet.
    pub(super) fn begin(&mut self, what: What) -> Held<Op> {
        let op = Op {
            who: self.who,
            n: self.n,
            began: self.clock.tick()?,
            ended: None,
            what,
        };
        self.n += 1;
        (self.write)(&op);
        Ok(op)
    }

    /// Ends it.
    pub(super) fn end(&mut self, mut op: Op, what: What) -> Held {
        op.ended = Some(self.clock.tick()?);
        op.what = what;
        (self.write)(&op);
        Ok(())
    }
}

/// The operations of a history, each with its end if it has one.
pub(super) fn merged(written: impl IntoIterator<Item = Op>) -> Vec<Op> {
    let mut all = std::collections::BTreeMap::new();
    for mut op in written {
        if let What::Append {
            got: Got::Unknown, ..
        } = op.what
        {
            // It may take effect at any time from then on.
            op.ended = None;
        }
        // The end comes behind the beginning.
        all.insert((op.who, op.n), op);
    }
    all.into_values().collect()
}

/// How many operations began while another one was under way.
pub(super) fn overlaps(ops: &[Op]) -> u64 {
    let under_way = |op: &&Op| {
        ops.iter().any(|other| {
            other.who != op.who
                && other.began < op.began
                && other.ended.is_none_or(|ended| ended > op.began)
        })
    };
    ops.iter().filter(under_way).count() as u64
}
