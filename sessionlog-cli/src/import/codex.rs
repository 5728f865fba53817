//! Codex rollouts.
//!
//! Each line is `{timestamp, type, payload}`. The conversation is written twice: as `response_item`,
//! what the model gets, and as `event_msg`, what the user sees. The first is the conversation; of
//! the second, `user_message` says which of its user messages a person wrote.

mod event;
mod item;
mod prompts;

use std::sync::Arc;

use serde_json::json;
use sessionlog::transcript::{SessionStarted, SettingsChanged, kinds};

use super::dialect::{Dialect, Identity, Mapped, shared};
use super::fields::Fields;

/// A Codex rollout.
#[derive(Debug, Default)]
pub(crate) struct Codex {
    facts: Arc<Facts>,
    state: item::State,
    started: bool,
}

#[derive(Clone, Debug, Default)]
struct Facts {
    id: Option<String>,
    parent: Option<String>,
    prompts: prompts::Prompts,
}

const TYPES: &[&str] = &[
    "session_meta",
    "turn_context",
    "response_item",
    "event_msg",
    "compacted",
    "world_state",
];

/// Whether this is surely a record of Codex.
pub(crate) fn recognizes(record: &Fields<'_>) -> bool {
    record.has_object("payload")
        && record.has("timestamp")
        && record
            .text("type")
            .is_some_and(|kind| TYPES.contains(&&*kind))
}

impl Dialect for Codex {
    fn survey(&mut self, line: u64, record: &Fields<'_>) {
        let facts = shared(&mut self.facts);
        match record.text("type").as_deref() {
            Some("session_meta") if facts.id.is_none() => {
                let payload = record.object("payload");
                facts.id = payload.filled("id");
                facts.parent = payload.filled("forked_from_id");
            }
            Some("response_item") => facts.prompts.item(line, &record.object("payload")),
            Some("event_msg") => facts.prompts.event(&record.object("payload")),
            _ => {}
        }
    }

    fn needs_all(&self) -> bool {
        true
    }

    fn identity(&self) -> Identity {
        Identity {
            name: self.facts.id.clone(),
            parent: self.facts.parent.clone(),
        }
    }

    fn map(&mut self, line: u64, record: &Fields<'_>) -> Mapped {
        let kind = record.filled("type");
        let payload = record.object("payload");
        let mapped = match kind.as_deref() {
            Some("session_meta") => self.meta(kind, &payload),
            Some("turn_context") => settings(kind, &payload),
            Some("response_item") => {
                let typed = self.facts.prompts.is_prompt(line);
                item::item(&mut self.state, line, &payload, typed)
            }
            Some("event_msg") => event::event(&payload),
            Some("compacted") => {
                self.state.end_reply();
                Mapped::record(kind).means(kinds::COMPACTION, &compacted(&payload))
            }
            Some("world_state") => Mapped::record(kind),
            _ => Mapped::unknown(kind),
        };
        Mapped {
            at: record.time("timestamp"),
            id: payload.filled("id"),
            ..mapped
        }
    }

    fn restart(&self) -> Box<dyn Dialect> {
        Box::new(Self {
            facts: Arc::clone(&self.facts),
            ..Self::default()
        })
    }
}

impl Codex {
    fn meta(&mut self, kind: Option<String>, payload: &Fields<'_>) -> Mapped {
        let mapped = Mapped::record(kind);
        // A second one repeats the first, or is the head of a history that was copied here.
        if std::mem::replace(&mut self.started, true) {
            return mapped;
        }
        let started = SessionStarted {
            directory: payload.filled("cwd"),
            branch: payload.object("git").filled("branch"),
            harness: Some("codex".to_owned()),
            version: payload.filled("cli_version"),
            model: payload.filled("model"),
            parent: payload.filled("forked_from_id"),
        };
        mapped.means(kinds::SESSION_STARTED, &started)
    }
}

/// The new context may be there as a whole.
fn compacted(payload: &Fields<'_>) -> serde_json::Value {
    let whole = !payload.items("replacement_history").is_empty();
    let body = whole.then_some("payload.replacement_history");
    json!({"summary": payload.text("message"), "body": body})
}

fn settings(kind: Option<String>, payload: &Fields<'_>) -> Mapped {
    let settings = SettingsChanged {
        model: payload.filled("model"),
        effort: payload.filled("effort"),
        mode: payload.object("collaboration_mode").filled("mode"),
        directory: payload.filled("cwd"),
        ..SettingsChanged::default()
    };
    Mapped::record(kind).means(kinds::SETTINGS_CHANGED, &settings)
}

#[cfg(test)]
mod tests;
