//! What the two APIs of `OpenAI` have in common.

use serde_json::value::RawValue;

use super::ids::Ids;
use super::{Lost, Rendered};
use crate::transcript::conversation::{Conversation, Reply, Step};
use crate::transcript::fields::quote;
use crate::transcript::text_of;
use crate::transcript::tree::Entry;

/// Says what was said and what was replied, in order.
pub(super) fn render(
    conversation: &Conversation<'_>,
    mut ids: Ids,
    say: fn(&Entry, bool, &mut Rendered),
    reply: fn(&Reply<'_>, &mut Ids, &mut Rendered),
) -> Rendered {
    let mut out = Rendered::default();
    for step in &conversation.steps {
        match step {
            Step::Checkpoint { entry, words } => {
                out.push(entry.seq, message("user", &quote(words)));
            }
            Step::Say { entry, rest } => say(entry, *rest, &mut out),
            Step::Reply(made) => reply(made, &mut ids, &mut out),
        }
    }
    out
}

/// Instructions: their text alone.
pub(super) fn instruct(entry: &Entry, raw: &RawValue, out: &mut Rendered) {
    let words = text_of(raw);
    match words.is_empty() {
        true => out.lose(entry.seq, Lost::Empty),
        false => out.push(entry.seq, message(entry.role.as_str(), &quote(&words))),
    }
}

pub(super) fn message(role: &str, content: &str) -> String {
    format!("{{\"role\":\"{role}\",\"content\":{content}}}")
}
