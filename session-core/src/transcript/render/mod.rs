//! Conversations in the words of a provider.

mod anthropic;
mod chat;
mod draft;
mod ids;
mod image;
mod openai;
mod part;
mod responses;
mod text;

use std::fmt;

use serde_json::value::RawValue;

use super::Conversation;
use crate::SeqNum;

/// The words of a model API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Anthropic messages: `{"role":"assistant","content":[{"type":"tool_use",…}]}`.
    Anthropic,
    /// `OpenAI` chat completions, and what imitates them:
    /// `{"role":"assistant","tool_calls":[…]}`.
    Chat,
    /// `OpenAI` responses: `{"type":"function_call",…}`.
    Responses,
}

/// A conversation ready to be sent.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    /// Instructions that stand outside the messages, as blocks of text: Anthropic only.
    pub system: Vec<Box<RawValue>>,
    /// The messages, or items, in order.
    pub messages: Vec<Box<RawValue>>,
    /// What could not be said, or was changed so that the API takes it. Empty if all messages are
    /// of the dialect and in order: then each is what went in, byte for byte.
    pub losses: Vec<Loss>,
}

/// Something that is not in the rendered conversation as it is in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The event.
    pub seq: SeqNum,
    /// What of it.
    pub what: Lost,
}

/// What can be lost or changed in rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lost {
    /// Thoughts of the model: another provider can't read them, and a reply can't end with them.
    Thought,
    /// An image that has no place or no address there.
    Image,
    /// A block that has no counterpart: a document, audio, a provider's own tool.
    Block,
    /// The role: instructions in the middle are told as the user's words.
    Role,
    /// Whether a tool failed.
    ErrorFlag,
    /// A call in the provider's message that its neutral fields don't name.
    Call,
    /// An id that was empty, used twice or of forbidden characters: it was replaced.
    CallId,
    /// An empty name of a tool: it was replaced.
    ToolName,
    /// Arguments that are no JSON object: they were wrapped in one.
    Arguments,
    /// A message that says nothing.
    Empty,
    /// Half a character: it was replaced.
    Surrogate,
    /// The conversation begins with the model: an opening was put before it.
    Opening,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Thought => "thought",
            Self::Image => "image",
            Self::Block => "block",
            Self::Role => "role",
            Self::ErrorFlag => "error flag",
            Self::Call => "call without a neutral field",
            Self::CallId => "id of a call",
            Self::ToolName => "name of a tool",
            Self::Arguments => "arguments that are no object",
            Self::Empty => "empty message",
            Self::Surrogate => "half a character",
            Self::Opening => "opening of the model",
        })
    }
}

/// What stands before a conversation that begins with the model.
pub(super) const OPENING: &str = "(The beginning of the conversation is not available.)";

impl Conversation<'_> {
    /// The messages to send, in the words of a provider.
    ///
    /// Messages of that provider come out as they went in: whole, byte for byte, if all of a
    /// message belongs where it stands; else each of its blocks is. Of the others, text, tool
    /// calls, results and images are said anew, and [`Rendered::losses`] tells the rest.
    ///
    /// The outcome is acceptable to the API (G20); `check` in this module tells its rules. A
    /// conversation may be empty, and then there is nothing to send yet.
    pub fn render(&self, dialect: Dialect) -> Rendered {
        match dialect {
            Dialect::Anthropic => anthropic::render(self),
            Dialect::Chat => chat::render(self),
            Dialect::Responses => responses::render(self),
        }
    }
}

impl Rendered {
    /// The messages as one JSON array.
    pub fn to_json(&self) -> String {
        let all: Vec<&str> = self.messages.iter().map(|m| m.get()).collect();
        format!("[{}]", all.join(","))
    }

    fn lose(&mut self, seq: SeqNum, what: Lost) {
        self.losses.push(Loss { seq, what });
    }

    /// Adds a message as it is.
    fn push_raw(&mut self, seq: SeqNum, message: &RawValue) {
        if text::may_be_half(message.get()) {
            self.push(seq, message.get().to_owned());
        } else {
            self.messages.push(message.to_owned());
        }
    }

    /// Adds a message.
    fn push(&mut self, seq: SeqNum, json: String) {
        let (json, changed) = text::well_formed(json);
        if changed {
            self.lose(seq, Lost::Surrogate);
        }
        match RawValue::from_string(json) {
            Ok(message) => self.messages.push(message),
            // Made of JSON that was checked, so this is never reached; a message is never dropped
            // in silence all the same.
            Err(_) => self.lose(seq, Lost::Block),
        }
    }
}
