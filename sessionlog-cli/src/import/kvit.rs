//! kvit-coder: `history.jsonl` of a session's folder, or a file of bare messages.
//!
//! A line of the history is `{ts, kind, …}`; only lines with a `message` are the conversation, and
//! `rollback.dropped` counts those. A bare line is the message itself, and has no time.

use serde_json::json;
use sessionlog::transcript::{Call, CallResult, Message, Role, SettingsChanged, kinds};

use super::dialect::{Dialect, Identity, Mapped};
use super::fields::Fields;

/// A kvit-coder session.
#[derive(Debug, Default)]
pub(crate) struct Kvit {
    started: bool,
}

const KINDS: &[&str] = &["message", "tool_result", "settings", "notice", "rollback"];
const ROLES: &[&str] = &["system", "user", "assistant", "tool"];
const BARE: &[&str] = &[
    "role",
    "content",
    "reasoning_content",
    "reasoning",
    "name",
    "tool_calls",
    "tool_call_id",
    "images",
];
const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// Whether this is surely a record of kvit-coder.
pub(crate) fn recognizes(record: &Fields<'_>) -> bool {
    let history = record.has("ts")
        && record
            .text("kind")
            .is_some_and(|kind| KINDS.contains(&&*kind))
        && !record.has("type");
    history || is_bare(record)
}

/// A message without anything around it.
fn is_bare(record: &Fields<'_>) -> bool {
    record
        .text("role")
        .is_some_and(|role| ROLES.contains(&&*role))
        && record.names().all(|name| BARE.contains(&name))
}

impl Dialect for Kvit {
    fn survey(&mut self, _: u64, _: &Fields<'_>) {}

    fn needs_all(&self) -> bool {
        false
    }

    fn identity(&self) -> Identity {
        Identity::default()
    }

    fn map(&mut self, _: u64, record: &Fields<'_>) -> Mapped {
        let kind = record.filled("kind");
        let mapped = Mapped::record(kind.clone());
        let mapped = match kind.as_deref() {
            _ if record.has_object("message") => {
                self.message(mapped, &record.object("message"), Some("message"))
            }
            Some("settings") => settings(mapped, record),
            Some("notice") => mapped.means(kinds::NOTICE, &json!({ "text": record.text("text") })),
            Some("rollback") => {
                let dropped = record.number("dropped").unwrap_or(0);
                mapped.means(kinds::ROLLBACK, &json!({ "dropped": dropped }))
            }
            None if record.has("role") => self.message(mapped, record, None),
            _ => Mapped::unknown(kind),
        };
        Mapped {
            at: record.time("ts"),
            ..mapped
        }
    }

    fn restart(&self) -> Box<dyn Dialect> {
        Box::new(Self::default())
    }
}

impl Kvit {
    fn message(&mut self, mapped: Mapped, native: &Fields<'_>, body: Option<&str>) -> Mapped {
        let role = match native.text("role").as_deref() {
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            Some("tool") => Role::Tool,
            _ => Role::User,
        };
        let mut message = Message {
            role,
            body: body.map(ToOwned::to_owned),
            ..Message::default()
        };
        for call in native.items("tool_calls") {
            let call = Fields::of(call);
            message.calls.push(Call {
                id: call.filled("id").unwrap_or_default(),
                name: call.object("function").filled("name").unwrap_or_default(),
            });
        }
        if role == Role::Tool {
            let id = native.filled("tool_call_id").unwrap_or_default();
            message.results.push(CallResult { id, error: false });
        }
        if !std::mem::replace(&mut self.started, true) {
            message.harness = Some("kvit-coder".to_owned());
        }
        mapped.means(kinds::MESSAGE, &message)
    }
}

/// `model:effort`, if what stands behind the colon is an effort.
fn settings(mapped: Mapped, record: &Fields<'_>) -> Mapped {
    let model = record.filled("model").unwrap_or_default();
    let (model, effort) = match model.rsplit_once(':') {
        Some((name, effort)) if EFFORTS.contains(&effort) => (name, Some(effort.to_owned())),
        _ => (model.as_str(), None),
    };
    let settings = SettingsChanged {
        model: (!model.is_empty()).then(|| model.to_owned()),
        effort,
        ..SettingsChanged::default()
    };
    mapped.means(kinds::SETTINGS_CHANGED, &settings)
}

#[cfg(test)]
mod tests;
