//! A conversation as it goes to a model: calls answered once, in order, whatever the log holds.

mod aside;
mod assemble;
mod item;

pub use aside::{Aside, Why};
pub use item::{Item, Origin};

use super::tree::Entry;
use super::{Call, Role};
use crate::SeqNum;

/// What the model is told of a call that has no result.
pub const INTERRUPTED: &str =
    "The call was interrupted: no result was recorded, and it may or may not have had an effect.";

/// The conversation of one agent at one position, borrowed from a
/// [`Transcript`](super::Transcript).
///
/// It upholds G20: each call of a reply is answered exactly once, directly behind the reply, in the
/// order of the calls. A call without a result is answered by an item that replay made; a result
/// without a call that waits for it is [`set_aside`](Self::set_aside). Nothing in the log changes.
#[derive(Clone, Debug, Default)]
pub struct Conversation<'a> {
    pub(super) steps: Vec<Step<'a>>,
    aside: Vec<Aside>,
    open: Vec<OpenCall>,
}

/// A tool call that has no result yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// The message that makes it.
    pub seq: SeqNum,
    /// The provider's id of the call.
    pub id: String,
    /// The name of the tool.
    pub name: String,
}

#[derive(Clone, Debug)]
pub(super) enum Step<'a> {
    Checkpoint {
        entry: &'a Entry,
        words: &'a str,
    },
    Say {
        entry: &'a Entry,
        /// Only what is no result: the results stand behind their calls.
        rest: bool,
    },
    Reply(Reply<'a>),
}

/// A reply of the model, with the answers to its calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Reply<'a> {
    pub(super) parts: Vec<&'a Entry>,
    pub(super) calls: Vec<Made<'a>>,
}

#[derive(Clone, Debug)]
pub(super) struct Made<'a> {
    /// Which part of the reply makes it.
    pub(super) part: usize,
    pub(super) call: &'a Call,
    /// The entry that answers it, and which of its results does; none if replay must.
    pub(super) answer: Option<(&'a Entry, usize)>,
}

impl<'a> Reply<'a> {
    /// Whether it broke off.
    pub(super) fn is_cut(&self) -> bool {
        self.parts.last().is_some_and(|part| part.more)
    }
}

impl<'a> Conversation<'a> {
    /// The conversation item by item, each with the provider's own bytes.
    pub fn items(&self) -> Vec<Item<'a>> {
        item::items(&self.steps)
    }

    /// Results that are not part of the conversation, and why.
    pub fn set_aside(&self) -> &[Aside] {
        &self.aside
    }

    /// The calls that wait for their results: the model has not gone on without them.
    pub fn open_calls(&self) -> &[OpenCall] {
        &self.open
    }

    /// Whether the last thing said is a reply that broke off.
    pub fn is_cut(&self) -> bool {
        let last = self.steps.iter().rev().find_map(|step| match step {
            Step::Reply(reply) => Some(reply.is_cut()),
            _ => None,
        });
        last.unwrap_or(false)
    }

    /// Whether the model is to speak next: the last word is a prompt, or the results of calls.
    pub fn awaits_reply(&self) -> bool {
        self.steps.last().is_some_and(|step| match step {
            Step::Checkpoint { .. } => false,
            Step::Say { entry, .. } => entry.role == Role::User,
            Step::Reply(reply) => !reply.calls.is_empty(),
        })
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}
