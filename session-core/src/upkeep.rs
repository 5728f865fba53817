//! Looking for damage, and mending it.

use async_trait::async_trait;
use serde::Serialize;

use crate::{Place, Result, SessionId};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Severity {
    /// Worth knowing, no damage: a torn tail that was never acknowledged, a foreign file.
    Note,
    /// Something derived is damaged and will be rebuilt: a snapshot, say.
    Derived,
    /// Stored events or blobs are damaged or missing.
    Damage,
}

/// One thing that a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Where it is.
    pub place: Place,
    /// How many bytes are concerned, if known.
    pub len: Option<u64>,
    /// What it is, and what `repair` would do about it: lower case, no final stop.
    pub message: String,
}

impl Finding {
    /// A finding at a place. The message is lower case, without a final stop.
    pub fn new(severity: Severity, place: Place, message: impl Into<String>) -> Self {
        Self {
            severity,
            place,
            len: None,
            message: message.into(),
        }
    }

    /// The same finding, with how many bytes it concerns.
    #[must_use]
    pub fn with_len(mut self, len: u64) -> Self {
        self.len = Some(len);
        self
    }
}

/// What a repair did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// The steps, in words.
    pub steps: Vec<String>,
    /// Where what was cut is kept, relative to the store.
    pub kept: Vec<String>,
    /// Events that are whole after the repair.
    pub events: u64,
    /// Positions whose events are lost; each holds an event of kind `repair.lost` after the repair.
    pub lost: u64,
}

impl Repair {
    /// A repair of a log that has so many whole events and so many lost ones: no steps yet.
    pub fn new(events: u64, lost: u64) -> Self {
        Self {
            events,
            lost,
            ..Self::default()
        }
    }
}

/// Verification and repair of one storage. Works on damaged sessions, so it takes ids, not lives.
#[async_trait]
pub trait Upkeep: Send + Sync {
    /// Everything that is wrong with a session: all places, not only the first. Writes nothing.
    ///
    /// # Errors
    /// `NotFound` if there is no trace of the session; `Unavailable` if it can't be read.
    async fn verify(&self, id: &SessionId) -> Result<Vec<Finding>>;

    /// Mends a session so that all that is whole can be read, each event at its position; keeps
    /// aside what it cuts. With `apply` false it only says what it would do.
    ///
    /// # Errors
    /// `LeaseHeld` if somebody drives the session, unless nothing has to be mended; `Unsupported` where the storage has nothing
    /// that could be mended; `NotFound`, `Unavailable`.
    async fn repair(&self, id: &SessionId, apply: bool) -> Result<Repair>;

    /// What lies in the storage but belongs to no session: foreign files, links, leftovers.
    /// Writes and deletes nothing.
    ///
    /// # Errors
    /// `Unavailable`.
    async fn strays(&self) -> Result<Vec<Finding>>;
}
