//! Payloads of what moves the head of a conversation.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Source, message::follow};
use crate::SeqNum;

/// The payload of [`kinds::ROLLBACK`](super::kinds::ROLLBACK): the head moves up.
///
/// Counted are messages of the conversation as [`Conversation`](super::Conversation) shows them:
/// the parts of a reply are one, what replay made and what it set aside are none. A rollback of
/// more than there is ends at the root or at the last compaction; to go before that, move the head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollback {
    /// How many messages are no longer part of the conversation.
    pub dropped: u64,
    /// The agent whose conversation this is; none for the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// The payload of [`kinds::HEAD`](super::kinds::HEAD): the conversation goes on behind another
/// message, of whatever branch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadMoved {
    /// The position of the message or compaction; `null` for before the first one.
    #[serde(deserialize_with = "Option::deserialize")]
    pub to: Option<SeqNum>,
    /// The agent whose conversation this is; none for the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// A file that matters for what is to be done next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportantFile {
    /// The path.
    pub path: String,
    /// Why it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The payload of [`kinds::COMPACTION`](super::kinds::COMPACTION): a checkpoint that stands for the
/// conversation before it. Nothing of what it covers leaves the log.
///
/// The model gets the first of these that is there: `message`, the provider's own JSON, untouched;
/// the messages of `replacement`; else a message of the user with the text of
/// [`text`](Self::text).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Compaction<'a> {
    /// The agent whose conversation this is; none for the main one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What happened, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What is to be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// What is done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub completed: Vec<String>,
    /// How things stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The files that matter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ImportantFile>,
    /// What was tried and did not work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
    /// What was decided.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
    /// What still runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<String>,
    /// What comes next.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next_steps: Vec<String>,
    /// Messages of the conversation from this position on stay part of it, behind the checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_from: Option<SeqNum>,
    /// The same, by the id that the message has in its [`Source`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_id: Option<String>,
    /// The conversation begins anew with nothing: without this an empty checkpoint is passed over.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cleared: bool,
    /// Where an imported checkpoint comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The provider's message that stands for the rest, byte for byte.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a RawValue>,
    /// The provider's messages that stand for the rest, byte for byte.
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub replacement: Vec<&'a RawValue>,
    /// The keys that lead to a message, or to an array of messages, inside `record`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The record that the checkpoint was imported from, byte for byte.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub record: Option<&'a RawValue>,
}

impl<'a> Compaction<'a> {
    /// The provider's messages that stand for the rest; none if there is only text.
    pub fn natives(&self) -> Vec<&'a RawValue> {
        if let Some(message) = self.message {
            return vec![message];
        }
        if !self.replacement.is_empty() {
            return self.replacement.clone();
        }
        let path = self.body.as_deref().filter(|path| !path.is_empty());
        let Some(part) = path.and_then(|path| follow(self.record?, path)) else {
            return Vec::new();
        };
        match part.get().as_bytes().first() {
            Some(b'[') => super::fields::items(part).unwrap_or_default(),
            Some(b'{') => vec![part],
            _ => Vec::new(),
        }
    }

    /// The checkpoint in words, each part under its heading; empty if it has none.
    pub fn text(&self) -> String {
        let mut out = self.summary.clone().unwrap_or_default().trim().to_owned();
        let mut part = |title: &str, lines: Vec<String>| {
            let lines: Vec<_> = lines.into_iter().filter(|l| !l.trim().is_empty()).collect();
            if lines.is_empty() {
                return;
            }
            if !out.is_empty() {
                out.push_str("\n\n");
            }
            out.push_str(title);
            lines.iter().for_each(|line| {
                out.push_str("\n- ");
                out.push_str(line);
            });
        };
        let files = self.files.iter().map(|file| match &file.reason {
            Some(reason) => format!("{}: {reason}", file.path),
            None => file.path.clone(),
        });
        part("Objective:", self.objective.iter().cloned().collect());
        part("Completed:", self.completed.clone());
        part("Current state:", self.state.iter().cloned().collect());
        part("Important files:", files.collect());
        part("Failed attempts:", self.failed.clone());
        part("Decisions:", self.decisions.clone());
        part("Running processes:", self.processes.clone());
        part("Next steps:", self.next_steps.clone());
        out
    }

    /// Whether it says nothing that could stand for a conversation.
    pub fn is_empty(&self) -> bool {
        self.natives().is_empty() && self.text().is_empty()
    }
}
