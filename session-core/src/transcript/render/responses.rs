//! Items of `OpenAI` responses.

use super::ids::Ids;
use super::openai::{self, message};
use super::part;
use super::{Lost, Rendered, image};
use crate::SeqNum;
use crate::transcript::Role;
use crate::transcript::conversation::{Conversation, INTERRUPTED, Made, Reply};
use crate::transcript::fields::quote;
use crate::transcript::native::{Block, Native, Shape, What, says_something};
use crate::transcript::tree::Entry;

pub(super) fn render(conversation: &Conversation<'_>) -> Rendered {
    openai::render(conversation, Ids::new(false, |_| true), say, reply)
}

fn say(entry: &Entry, rest: bool, out: &mut Rendered) {
    let Some(raw) = entry.native() else {
        return out.lose(entry.seq, Lost::Empty);
    };
    let native = Native::of(raw);
    let string = native
        .fields
        .get("content")
        .is_some_and(|c| c.get().starts_with('"'));
    let own = native.shape == Shape::Responses
        || (native.shape == Shape::Plain && string && native.fields.0.len() == 2);
    let words =
        |block: &Block<'_>| matches!(block.what, What::Text(_) | What::Image(_) | What::Other);
    let speaks =
        native.fields.get("role").is_some() && native.is_clean() && native.blocks.iter().all(words);
    if own && !rest && speaks && !native.blocks.is_empty() {
        return out.push_raw(entry.seq, raw);
    }
    if matches!(entry.role, Role::System | Role::Developer) {
        return openai::instruct(entry, raw, out);
    }
    let mut blocks = Vec::new();
    for it in &native.blocks {
        match &it.what {
            What::Result { .. } => {}
            What::Text(text) if says_something(text) => {
                blocks.push(format!(
                    "{{\"type\":\"input_text\",\"text\":{}}}",
                    text.get()
                ));
            }
            What::Text(_) => {}
            What::Image(image) => match image::responses(image) {
                Some(json) => blocks.push(json),
                None => out.lose(entry.seq, Lost::Image),
            },
            What::Thought => out.lose(entry.seq, Lost::Thought),
            _ => out.lose(entry.seq, Lost::Block),
        }
    }
    if !blocks.is_empty() {
        let content = super::text::array(blocks.iter().map(String::as_str));
        out.push(entry.seq, message("user", &content));
    } else if !rest {
        out.lose(entry.seq, Lost::Empty);
    }
}

fn reply(reply: &Reply<'_>, ids: &mut Ids, out: &mut Rendered) {
    let ids = ids.of(reply, out);
    let mut items: Vec<(SeqNum, String, bool)> = Vec::new();
    let mut empty = true;
    let mut outputs = vec!["function_call_output"; reply.calls.len()];
    let parts = part::parts(reply);
    for part in &parts {
        let own = part.shape() == Shape::Responses;
        let mut placed = part.calls.iter();
        let blocks = part.native.iter().flat_map(|native| &native.blocks);
        if own
            && let (Some(raw), Some(native)) = (part.raw, &part.native)
            && native.fields.text("role").as_deref() == Some("assistant")
            && part.bare.is_empty()
            && !native.blocks.is_empty()
            && native.is_clean()
            && native.blocks.iter().all(|block| is_said(native, block))
        {
            items.push((part.seq, raw.get().to_owned(), false));
            empty = false;
            continue;
        }
        for it in blocks {
            // Only a whole message can be an item.
            let own = own && part.raw.is_some_and(|raw| std::ptr::eq(raw, it.raw));
            match &it.what {
                What::Text(text) if says_something(text) => {
                    items.push((part.seq, message("assistant", text.get()), false));
                    empty = false;
                }
                What::Text(_) => {}
                What::Call { id, name, input } => {
                    let at = placed.next().copied().flatten();
                    let Some(new) = at.and_then(|at| ids.get(at)) else {
                        out.lose(part.seq, Lost::Call);
                        continue;
                    };
                    let json = if own && *id == **new && !name.is_empty() {
                        let kind = part.native.as_ref().and_then(|n| n.fields.text("type"));
                        if let Some(slot) = at.and_then(|at| outputs.get_mut(at)) {
                            *slot = output_of(kind.as_deref().unwrap_or_default());
                        }
                        it.raw.get().to_owned()
                    } else {
                        let name = part::tool_name(name, part.seq, out);
                        call(new, &name, &part::arguments(*input))
                    };
                    items.push((part.seq, json, false));
                    empty = false;
                }
                What::Thought if own => items.push((part.seq, it.raw.get().to_owned(), true)),
                What::Thought => out.lose(part.seq, Lost::Thought),
                What::Image(_) => out.lose(part.seq, Lost::Image),
                What::Other if own => items.push((part.seq, it.raw.get().to_owned(), false)),
                _ => out.lose(part.seq, Lost::Block),
            }
        }
        for at in &part.bare {
            if let (Some(made), Some(id)) = (reply.calls.get(*at), ids.get(*at)) {
                let name = part::tool_name(&made.call.name, part.seq, out);
                items.push((part.seq, call(id, &name, "\"{}\""), false));
                empty = false;
            }
        }
    }
    // Thoughts in their own words may stand alone: the items of a reply may be messages each.
    let only_thoughts = items.iter().all(|(_, _, thought)| *thought);
    if empty && items.is_empty() {
        let seq = reply.parts.first().map_or(SeqNum::ZERO, |part| part.seq);
        out.lose(seq, Lost::Empty);
    }
    let last = items.iter().rposition(|(_, _, thought)| !thought);
    for (nth, (seq, json, thought)) in items.into_iter().enumerate() {
        if thought && !only_thoughts && last.is_some_and(|last| nth > last) {
            out.lose(seq, Lost::Thought);
        } else {
            out.push(seq, json);
        }
    }
    let seq = reply.parts.first().map_or(SeqNum::ZERO, |part| part.seq);
    for at in part::order(&parts) {
        if let (Some(made), Some(id), Some(kind)) =
            (reply.calls.get(at), ids.get(at), outputs.get(at))
        {
            result(made, id, kind, seq, out);
        }
    }
}

/// Whether a block is one that the model says in a message of this shape.
fn is_said(native: &Native<'_>, block: &Block<'_>) -> bool {
    matches!(block.what, What::Text(_) | What::Other) && native.owns(block, Shape::Responses)
}

/// The type of the item that answers a call.
fn output_of(call: &str) -> &'static str {
    match call {
        "custom_tool_call" => "custom_tool_call_output",
        "local_shell_call" => "local_shell_call_output",
        "tool_search_call" => "tool_search_output",
        _ => "function_call_output",
    }
}

fn result(made: &Made<'_>, id: &str, kind: &str, caller: SeqNum, out: &mut Rendered) {
    let Some((entry, nth)) = made.answer else {
        return out.push(caller, output(kind, id, &quote(INTERRUPTED)));
    };
    let seq = entry.seq;
    let Some((it, native)) = part::result_block(entry, nth) else {
        return out.push(seq, output(kind, id, "\"\""));
    };
    let What::Result {
        id: own,
        content,
        error,
    } = &it.what
    else {
        return out.push(seq, output(kind, id, "\"\""));
    };
    let same = native.fields.text("type").as_deref() == Some(kind);
    if native.shape == Shape::Responses && same && *own == *id {
        return out.push_raw(seq, it.raw);
    }
    if *error || entry.results.get(nth).is_some_and(|result| result.error) {
        out.lose(seq, Lost::ErrorFlag);
    }
    let parts = part::content(*content);
    let mut blocks = Vec::new();
    for what in &parts {
        match what {
            What::Text(text) => {
                blocks.push(format!(
                    "{{\"type\":\"input_text\",\"text\":{}}}",
                    text.get()
                ));
            }
            What::Image(image) => match image::responses(image) {
                Some(json) => blocks.push(json),
                None => out.lose(seq, Lost::Image),
            },
            _ => out.lose(seq, Lost::Block),
        }
    }
    let json = match (parts.as_slice(), content) {
        ([What::Text(text)], _) => text.get().to_owned(),
        ([], Some(odd)) if !matches!(odd.get(), "null" | "[]") => quote(odd.get()),
        _ if blocks.is_empty() => "\"\"".to_owned(),
        _ => super::text::array(blocks.iter().map(String::as_str)),
    };
    out.push(seq, output(kind, id, &json));
}

fn call(id: &str, name: &str, arguments: &str) -> String {
    let (id, name) = (quote(id), quote(name));
    format!(
        "{{\"type\":\"function_call\",\"call_id\":{id},\"name\":{name},\"arguments\":{arguments}}}"
    )
}

fn output(kind: &str, id: &str, output: &str) -> String {
    let id = quote(id);
    format!("{{\"type\":\"{kind}\",\"call_id\":{id},\"output\":{output}}}")
}
