//! The formats that can be imported.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use sessionlog::{Error, Result};

/// How another tool writes its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Claude Code: one JSONL file a session, and one for each of its sub-agents.
    ClaudeCode,
    /// Codex: rollout files.
    Codex,
    /// kvit-coder: a folder with `history.jsonl` and `meta.json`, or one file of bare messages.
    KvitCoder,
    /// Any JSON Lines, kept as records. Never found by itself: it is asked for.
    Lines,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::ClaudeCode, Self::Codex, Self::KvitCoder, Self::Lines];

    /// The name, as it is written in events and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::KvitCoder => "kvit-coder",
            Self::Lines => "lines",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| {
            let all = Self::ALL.map(Self::name).join(", ");
            Error::invalid(format!(
                "not a format that is known, use one of {all}: {name:?}"
            ))
        })
    }
}

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
