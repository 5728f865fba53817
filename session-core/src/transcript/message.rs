//! Messages.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Source, Usage, text_of};

/// Who speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A person, or whoever stands for one.
    #[default]
    User,
    /// The model.
    Assistant,
    /// Instructions to the model.
    System,
    /// Instructions to the model, in the newer word of one provider.
    Developer,
    /// The result of a tool call, where it is a message of its own.
    Tool,
}

impl Role {
    /// The role as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Developer => "developer",
            Self::Tool => "tool",
        }
    }
}

/// A tool call that a message makes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The provider's id of the call.
    #[serde(default)]
    pub id: String,
    /// The name of the tool.
    #[serde(default)]
    pub name: String,
}

/// A tool call that a message answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    /// The id of the call.
    #[serde(default)]
    pub id: String,
    /// Whether the tool failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub error: bool,
}

/// The payload of [`kinds::MESSAGE`](super::kinds::MESSAGE): the provider's own JSON, untouched,
/// and the few neutral fields that replay needs.
///
/// The provider's message is `message`; of an imported one it is a part of `record`, the record as
/// the other tool wrote it, and `body` says which part: a path of keys joined by dots.
///
/// ```
/// use sessionlog_core::{Data, transcript::{Message, Role}};
///
/// let data = Data::from_json(r#"{"role":"user","message":{"role":"user","content":"hi"}}"#)?;
/// let message: Message = data.view()?;
/// assert_eq!(message.role, Role::User);
/// assert_eq!(message.text(), "hi");
/// # Ok::<(), sessionlog_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Message<'a> {
    /// Who speaks. The one necessary field.
    pub role: Role,
    /// The agent whose conversation this is; none for the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The tool calls that it makes, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
    /// The tool calls that it answers, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<CallResult>,
    /// The provider's id of the reply: parts with one id are one reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// The model that replied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Written by the harness, not typed by a person or made by the model: environment, reminders.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub injected: bool,
    /// The working directory, where it is not the one of the message before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The git branch, where it is not the one of the message before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The program that drives the session, where it is not the one of the message before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<String>,
    /// More parts of this reply are to come. A reply whose last part says so was cut by a crash.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// This part is the whole reply: it takes the place of the parts before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// Tokens and cost of the reply so far. The last part of a reply has the final figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Where an imported message comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The provider's message, byte for byte.
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a RawValue>,
    /// The keys that lead to the provider's message inside `record`; empty for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The record that the message was imported from, byte for byte.
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    pub record: Option<&'a RawValue>,
}

impl<'a> Message<'a> {
    /// The provider's message, byte for byte, wherever it is.
    pub fn native(&self) -> Option<&'a RawValue> {
        let path = self.body.as_deref().unwrap_or_default();
        self.message.or_else(|| follow(self.record?, path))
    }

    /// The usage that it reports, counted by the reply if it has no key of its own: all parts of a
    /// reply count once.
    pub fn counted(&self) -> Option<std::borrow::Cow<'_, Usage>> {
        use std::borrow::Cow;
        let usage = self.usage.as_ref()?;
        match &self.response {
            Some(response) if usage.key.is_none() => Some(Cow::Owned(Usage {
                key: Some(response.clone()),
                ..usage.clone()
            })),
            _ => Some(Cow::Borrowed(usage)),
        }
    }

    /// The words of the message, without tool calls, results, images and thoughts.
    pub fn text(&self) -> String {
        self.native().map(text_of).unwrap_or_default()
    }
}

/// The value that a path of keys leads to, a path without keys to the value itself.
pub(super) fn follow<'a>(value: &'a RawValue, path: &str) -> Option<&'a RawValue> {
    path.split('.')
        .filter(|key| !key.is_empty())
        .try_fold(value, super::fields::find)
}
