//! What each format must be able to do.

use std::sync::Arc;

use serde::Serialize;
use sessionlog::transcript::kinds;
use sessionlog::{Kind, Timestamp};

use super::fields::Fields;
use super::{Format, claude, codex, kvit, plain};

/// One format's reading of a file: first all records are surveyed, then each is mapped, in order.
pub(crate) trait Dialect: Send {
    /// First pass: facts about the whole file that the mapping of single records needs.
    fn survey(&mut self, line: u64, record: &Fields<'_>);

    /// Whether the survey must see every record.
    fn needs_all(&self) -> bool;

    /// What the survey says about the session.
    fn identity(&self) -> Identity;

    /// Second pass: what a record means.
    fn map(&mut self, line: u64, record: &Fields<'_>) -> Mapped;

    /// The same, surveyed, before its first record is mapped.
    fn restart(&self) -> Box<dyn Dialect>;
}

/// What a file says of the session that it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Its name, if the file says one.
    pub(crate) name: Option<String>,
    /// The session that it belongs to.
    pub(crate) parent: Option<String>,
}

/// What a record means.
#[derive(Debug)]
pub(crate) struct Mapped {
    pub(crate) kind: Kind,
    pub(crate) at: Option<Timestamp>,
    /// The neutral fields of the payload, as the text of a JSON object.
    pub(crate) neutral: Vec<u8>,
    /// The record's own type.
    pub(crate) name: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) parent: Option<String>,
    /// The record that it continues without hanging under it.
    pub(crate) logical_parent: Option<String>,
    /// The type is not one that the format is known to have.
    pub(crate) unknown: bool,
}

impl Mapped {
    /// A record kept as it is, of a type that is known.
    pub(crate) fn record(name: Option<String>) -> Self {
        Self {
            kind: kinds::IMPORT_RECORD,
            at: None,
            neutral: b"{}".to_vec(),
            name,
            id: None,
            parent: None,
            logical_parent: None,
            unknown: false,
        }
    }

    /// A record kept as it is, of a type that is not known.
    pub(crate) fn unknown(name: Option<String>) -> Self {
        Self {
            unknown: true,
            ..Self::record(name)
        }
    }

    /// The same record, as an event of a kind, with the fields of a payload.
    #[must_use]
    pub(crate) fn means<T: Serialize>(mut self, kind: Kind, payload: &T) -> Self {
        if let Ok(neutral) = serde_json::to_vec(payload)
            && neutral.starts_with(b"{")
        {
            self.kind = kind;
            self.neutral = neutral;
        }
        self
    }
}

impl Format {
    /// Whether a record is surely one of this format.
    pub(crate) fn recognizes(self, record: &Fields<'_>) -> bool {
        match self {
            Self::ClaudeCode => claude::recognizes(record),
            Self::Codex => codex::recognizes(record),
            Self::KvitCoder => kvit::recognizes(record),
            Self::Lines => false,
        }
    }

    pub(crate) fn dialect(self) -> Box<dyn Dialect> {
        match self {
            Self::ClaudeCode => Box::new(claude::Claude::default()),
            Self::Codex => Box::new(codex::Codex::default()),
            Self::KvitCoder => Box::new(kvit::Kvit::default()),
            Self::Lines => Box::new(plain::Plain),
        }
    }
}

/// A fact of the survey that copies share.
pub(crate) fn shared<T: Clone>(fact: &mut Arc<T>) -> &mut T {
    Arc::make_mut(fact)
}
