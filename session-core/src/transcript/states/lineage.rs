//! Where a session comes from, and where it goes on.

use serde::{Deserialize, Serialize};

use crate::SeqNum;

/// The payload of [`kinds::SESSION_FORKED`](crate::transcript::kinds::SESSION_FORKED), in the
/// session that was forked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forked {
    /// The new session.
    pub into: String,
    /// How many events it has from this one.
    #[serde(default)]
    pub at: SeqNum,
}

/// The payload of [`kinds::SESSION_ORIGIN`](crate::transcript::kinds::SESSION_ORIGIN), in the new
/// session, behind the events that it has from the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origins {
    /// The session that it was forked from.
    pub from: String,
    /// How many of its events are from there; they have the positions that they had.
    #[serde(default)]
    pub at: SeqNum,
}

/// The payload of [`kinds::SESSION_SUCCEEDED`](crate::transcript::kinds::SESSION_SUCCEEDED).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Succeeded {
    /// The session in which it goes on.
    pub by: String,
}

/// The payload of [`kinds::SESSION_HANDED_OVER`](crate::transcript::kinds::SESSION_HANDED_OVER):
/// written by a harness before another takes its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HandedOver {
    /// The harness that takes over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The session that is handed over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// The lineage of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lineage {
    /// The session that this one was forked from.
    pub origin: Option<Origins>,
    /// The sessions that were forked from this one.
    pub forks: Vec<Forked>,
    /// The session in which this one goes on.
    pub succeeded_by: Option<String>,
    /// The last time that a harness handed it over, and where.
    pub handed_over: Option<(SeqNum, HandedOver)>,
}
