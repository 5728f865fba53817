//! Turns.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::SeqNum;

/// The payload of [`kinds::TURN_STARTED`](crate::transcript::kinds::TURN_STARTED).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnStarted {
    /// The name of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The agent whose turn it is; none for the main one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// The payload of [`kinds::TURN_ENDED`](crate::transcript::kinds::TURN_ENDED).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnEnded {
    /// The name of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The agent whose turn it is; none for the main one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How it ended: `complete`, `aborted`, `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}

/// The turns of a session: how many, and which is not finished.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    started: u64,
    ended: u64,
    /// By agent; the main one has the empty name. A turn that begins ends the one before it.
    open: BTreeMap<String, (SeqNum, TurnStarted)>,
}

impl Turns {
    /// How many began.
    pub fn started(&self) -> u64 {
        self.started
    }

    /// How many were ended by an event.
    pub fn ended(&self) -> u64 {
        self.ended
    }

    /// The turns that have no end, and where they began.
    pub fn unfinished(&self) -> impl Iterator<Item = (SeqNum, &TurnStarted)> {
        self.open.values().map(|(seq, turn)| (*seq, turn))
    }

    pub(in crate::transcript) fn start(&mut self, seq: SeqNum, turn: TurnStarted) {
        self.started += 1;
        let agent = turn.agent.clone().unwrap_or_default();
        self.open.insert(agent, (seq, turn));
    }

    pub(in crate::transcript) fn end(&mut self, turn: &TurnEnded) {
        self.ended += 1;
        let agent = turn.agent.as_deref().unwrap_or_default();
        let same = |(_, open): &(SeqNum, TurnStarted)| {
            turn.turn.is_none() || open.turn.is_none() || turn.turn == open.turn
        };
        if self.open.get(agent).is_some_and(same) {
            self.open.remove(agent);
        }
    }
}
