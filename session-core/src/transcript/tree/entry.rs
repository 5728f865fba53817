//! A node of the tree whose content is in memory.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::native::Native;
use super::super::{Call, CallResult, Compaction, Message, Role};
use crate::SeqNum;

/// A message or a checkpoint on the way from the root to the head.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in super::super) struct Entry {
    pub(in super::super) seq: SeqNum,
    pub(in super::super) role: Role,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in super::super) calls: Vec<Call>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in super::super) results: Vec<CallResult>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) response: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in super::super) more: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in super::super) whole: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in super::super) injected: bool,
    /// The provider's JSON, byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) native: Option<Box<RawValue>>,
    /// The words of a checkpoint; empty if it has messages of its own, which follow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) checkpoint: Option<String>,
    /// A message of the checkpoint with the same position.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in super::super) inner: bool,
    /// Whether it belongs to a reply that began before it. Follows from the entries before.
    #[serde(skip)]
    pub(in super::super) joins: bool,
    /// Whether nothing of it is part of the conversation. Follows from the entries before.
    #[serde(skip)]
    pub(in super::super) aside: bool,
}

impl Entry {
    pub(in super::super) fn message(seq: SeqNum, message: Message<'_>) -> Self {
        let native = message.native().filter(|native| native.get() != "null");
        let mut entry = Self {
            calls: message.calls,
            results: message.results,
            response: message.response,
            more: message.more,
            whole: message.whole,
            injected: message.injected,
            native: native.map(ToOwned::to_owned),
            ..Self::bare(seq, message.role)
        };
        if let Some(native) = native {
            entry.derive(native);
        }
        if message.role != Role::Assistant {
            entry.calls.clear();
            entry.response = None;
        }
        entry
    }

    fn bare(seq: SeqNum, role: Role) -> Self {
        Self {
            seq,
            role,
            calls: Vec::new(),
            results: Vec::new(),
            response: None,
            more: false,
            whole: false,
            injected: false,
            native: None,
            checkpoint: None,
            inner: false,
            joins: false,
            aside: false,
        }
    }

    /// Calls and results that the writer did not name are taken from the provider's message.
    fn derive(&mut self, native: &RawValue) {
        let json = native.get();
        let has = |words: [&str; 2]| words.iter().any(|word| json.contains(word));
        match self.role {
            Role::Assistant if self.calls.is_empty() && has(["tool_use", "_call"]) => {
                let own = |(id, name): (&str, &str)| Call {
                    id: id.to_owned(),
                    name: name.to_owned(),
                };
                self.calls = Native::of(native).calls().map(own).collect();
            }
            Role::User | Role::Tool if self.results.is_empty() && has(["tool_", "_output"]) => {
                let own = |(id, error): (&str, bool)| CallResult {
                    id: id.to_owned(),
                    error,
                };
                self.results = Native::of(native).results().map(own).collect();
            }
            _ => {}
        }
    }

    /// The checkpoint and its messages; nothing if it says nothing and was not made to.
    pub(in super::super) fn compaction(seq: SeqNum, it: &Compaction<'_>) -> Vec<Self> {
        if it.source.is_none() && !it.cleared && it.is_empty() {
            return Vec::new();
        }
        let natives = it.natives();
        let text = if natives.is_empty() {
            it.text()
        } else {
            String::new()
        };
        let checkpoint = Self {
            checkpoint: Some(text),
            injected: true,
            ..Self::bare(seq, Role::User)
        };
        let inner = natives.into_iter().map(|native| {
            let mut entry = Self {
                native: (native.get() != "null").then(|| native.to_owned()),
                inner: true,
                ..Self::bare(seq, role_of(native))
            };
            entry.derive(native);
            entry
        });
        std::iter::once(checkpoint).chain(inner).collect()
    }

    pub(in super::super) fn is_checkpoint(&self) -> bool {
        self.checkpoint.is_some()
    }

    pub(in super::super) fn native(&self) -> Option<&RawValue> {
        self.native.as_deref()
    }

    /// Whether it has more to say than what it answers.
    pub(in super::super) fn has_more_than_results(&self) -> bool {
        use super::super::native::What;
        self.native().is_some_and(|native| {
            Native::of(native)
                .blocks
                .iter()
                .any(|block| !matches!(block.what, What::Result { .. }))
        })
    }
}

/// Who speaks in a provider's message.
fn role_of(native: &RawValue) -> Role {
    #[derive(Deserialize)]
    struct Head {
        role: Role,
    }
    if let Ok(Head { role }) = serde_json::from_str(native.get()) {
        return role;
    }
    let native = Native::of(native);
    let answers = native.results().next().is_some();
    if answers {
        Role::Tool
    } else if native.shape == super::super::native::Shape::Responses {
        Role::Assistant
    } else {
        Role::User
    }
}
