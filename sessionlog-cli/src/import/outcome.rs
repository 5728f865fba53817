//! What came of an import.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use sessionlog::SessionId;

use super::Format;

/// What came of the import of one file.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The file.
    pub path: PathBuf,
    /// Its format; `None` if it is not known.
    pub format: Option<Format>,
    /// The session that it was imported into.
    pub session: Option<SessionId>,
    /// What the file calls the session, if that could not be its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named: Option<String>,
    /// How it went.
    #[serde(flatten)]
    pub status: Status,
    /// Events that the session got, those that tell of the import itself not counted.
    pub new_events: u64,
    /// Events of the file that the session had already.
    pub known_events: u64,
    /// Lines that are in the session now.
    pub lines: u64,
    /// Lines among the new events that are no record, or not only one: the first
    /// [`Outcome::DAMAGED`] of them.
    pub damaged: Vec<Damage>,
    /// How many there are.
    pub damaged_lines: u64,
    /// Types of records among the new events that the format is not known to have, and how many
    /// there are of each. They are kept as they are.
    pub unmapped: BTreeMap<String, u64>,
    /// Lines among the new events that are too large for an event, and were stored as blobs.
    pub large_lines: u64,
}

/// How an import went. Of a dry run: how it would go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "status")]
pub enum Status {
    /// A session was made of the file.
    Imported,
    /// The file had grown since it was imported; what is new was added.
    Grown,
    /// There is nothing new in the file.
    Unchanged {
        /// What is odd about that.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// A session of that name holds something else: the file became a session of its own.
    Diverged {
        /// The session that has the name.
        from: SessionId,
        /// The line where the file differs.
        line: u64,
    },
    /// The file was passed over.
    Skipped {
        /// Why, and what can be done.
        reason: String,
    },
}

/// Bytes that are no record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong, with the column.
    pub reason: String,
    /// How many bytes.
    pub bytes: u64,
}

impl Outcome {
    /// How many damaged places are listed.
    pub const DAMAGED: usize = 100;

    pub(crate) fn new(path: PathBuf, format: Option<Format>) -> Self {
        Self {
            path,
            format,
            session: None,
            named: None,
            status: Status::Unchanged { note: None },
            new_events: 0,
            known_events: 0,
            lines: 0,
            damaged: Vec::new(),
            damaged_lines: 0,
            unmapped: BTreeMap::new(),
            large_lines: 0,
        }
    }

    pub(crate) fn skipped(mut self, reason: impl Into<String>) -> Self {
        self.status = Status::Skipped {
            reason: reason.into(),
        };
        self
    }
}
