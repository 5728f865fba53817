//! Claude Code.
//!
//! One record a line. A reply of the model is several lines with one `message.id`, and its usage
//! stands on each of them, the last one final. Lines hang under each other by `parentUuid`; many
//! kinds of lines that are no conversation stand between.

mod known;
mod lines;
mod message;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::dialect::{Dialect, Identity, Mapped, shared};
use super::fields::Fields;

/// A Claude Code session file.
#[derive(Debug, Default)]
pub(crate) struct Claude {
    facts: Arc<Facts>,
    state: message::State,
}

#[derive(Clone, Debug, Default)]
struct Facts {
    /// Hashes of all `uuid`s: a summary is this session's title only if its leaf is here.
    uuids: HashSet<u64>,
    /// All `sessionId`s, and the first.
    sessions: BTreeSet<String>,
    /// The agent whose own file this is, while nothing says otherwise.
    agent: Agent,
}

#[derive(Clone, Debug, Default)]
enum Agent {
    #[default]
    Unknown,
    One(String),
    Several,
}

/// Whether this is surely a record of Claude Code.
pub(crate) fn recognizes(record: &Fields<'_>) -> bool {
    let Some(kind) = record.text("type") else {
        return false;
    };
    match &*kind {
        "user" | "assistant" | "system" | "progress" | "attachment" => {
            record.has("uuid") && record.has("sessionId")
        }
        "summary" => record.has("leafUuid"),
        "file-history-snapshot" => record.has("messageId") && record.has("snapshot"),
        other => known::is_known(other) && record.has("sessionId"),
    }
}

impl Dialect for Claude {
    fn survey(&mut self, _: u64, record: &Fields<'_>) {
        let facts = shared(&mut self.facts);
        if let Some(uuid) = record.text("uuid") {
            facts.uuids.insert(hash(&uuid));
        }
        if let Some(session) = record.filled("sessionId")
            && facts.sessions.len() < 16
        {
            facts.sessions.insert(session);
        }
        if matches!(record.text("type").as_deref(), Some("user" | "assistant")) {
            let own = record.is_true("isSidechain");
            let id = own.then(|| record.filled("agentId")).flatten();
            facts.agent = match (std::mem::take(&mut facts.agent), id) {
                (Agent::Unknown, Some(id)) => Agent::One(id),
                (Agent::One(one), Some(id)) if one == id => Agent::One(one),
                _ => Agent::Several,
            };
        }
    }

    fn needs_all(&self) -> bool {
        true
    }

    fn identity(&self) -> Identity {
        let mut sessions = self.facts.sessions.iter();
        match (sessions.next(), sessions.next(), &self.facts.agent) {
            (Some(session), None, Agent::One(agent)) => Identity {
                name: Some(format!("{session}.agent-{agent}")),
                parent: Some(session.clone()),
            },
            (Some(session), None, _) => Identity {
                name: Some(session.clone()),
                parent: None,
            },
            // Several, or none: the name of the file must do.
            _ => Identity::default(),
        }
    }

    fn map(&mut self, _: u64, record: &Fields<'_>) -> Mapped {
        let kind = record.filled("type");
        let mapped = match kind.as_deref() {
            Some("user" | "assistant") => {
                let own_file = matches!(self.facts.agent, Agent::One(_));
                message::message(&mut self.state, record, own_file)
            }
            Some("summary") => self.summary(record),
            _ => {
                // Other lines may stand between two of a side chain.
                self.state.agent(record);
                lines::line(record)
            }
        };
        Mapped {
            at: record.time("timestamp"),
            id: record.filled("uuid"),
            parent: record.filled("parentUuid"),
            logical_parent: record.filled("logicalParentUuid"),
            ..mapped
        }
    }

    fn restart(&self) -> Box<dyn Dialect> {
        Box::new(Self {
            facts: Arc::clone(&self.facts),
            state: message::State::default(),
        })
    }
}

impl Claude {
    /// The title, if it is about a conversation in this file: summaries of others stand here too.
    fn summary(&self, record: &Fields<'_>) -> Mapped {
        let leaf = record.text("leafUuid");
        let here = leaf.is_some_and(|leaf| self.facts.uuids.contains(&hash(&leaf)));
        lines::titled(
            record,
            here.then_some("summary"),
            sessionlog::transcript::TitleBy::Derived,
        )
    }
}

fn hash(text: &str) -> u64 {
    twox_hash::XxHash3_64::oneshot(text.as_bytes())
}

#[cfg(test)]
mod tests;
