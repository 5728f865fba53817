//! `OpenAI` chat completions.

use serde_json::value::RawValue;

use super::ids::Ids;
use super::openai::{self, message};
use super::part::{self, Part};
use super::text::{array, block, joined};
use super::{Lost, Rendered, image};
use crate::SeqNum;
use crate::transcript::Role;
use crate::transcript::conversation::{Conversation, INTERRUPTED, Made, Reply};
use crate::transcript::fields::{items, push_field, quote};
use crate::transcript::native::{Native, Shape, What};
use crate::transcript::tree::Entry;

pub(super) fn render(conversation: &Conversation<'_>) -> Rendered {
    openai::render(conversation, Ids::new(true, |_| true), say, reply)
}

fn say(entry: &Entry, rest: bool, out: &mut Rendered) {
    let Some(raw) = entry.native() else {
        return out.lose(entry.seq, Lost::Empty);
    };
    let native = Native::of(raw);
    if !rest && as_it_is(&native, entry.role.as_str()) {
        return out.push_raw(entry.seq, raw);
    }
    if matches!(entry.role, Role::System | Role::Developer) {
        return openai::instruct(entry, raw, out);
    }
    let mut blocks: Vec<String> = Vec::new();
    let mut texts: Vec<&str> = Vec::new();
    for it in &native.blocks {
        match &it.what {
            What::Result { .. } => {}
            What::Text(text) => {
                texts.push(text.get());
                blocks.push(block(text.get()));
            }
            What::Image(image) => match image::chat(image) {
                Some(json) => blocks.push(json),
                None => out.lose(entry.seq, Lost::Image),
            },
            What::Thought => out.lose(entry.seq, Lost::Thought),
            What::Junk | What::Call { .. } => out.lose(entry.seq, Lost::Block),
            _ if native.owns(it, Shape::Chat) => blocks.push(it.raw.get().to_owned()),
            _ => out.lose(entry.seq, Lost::Block),
        }
    }
    match (texts.as_slice(), blocks.len()) {
        (_, 0) if rest => {}
        (_, 0) => out.lose(entry.seq, Lost::Empty),
        ([text], 1) => out.push(entry.seq, message("user", text)),
        _ => {
            let content = array(blocks.iter().map(String::as_str));
            out.push(entry.seq, message("user", &content));
        }
    }
}

/// Whether a message can go out as it came in: it has content that the API takes.
fn as_it_is(native: &Native<'_>, role: &str) -> bool {
    let content = native.fields.get("content").map(RawValue::get);
    let says = content.is_some_and(|json| json.starts_with('"') || json.starts_with('['));
    let whole = native.blocks.iter().all(|b| match &b.what {
        What::Text(_) => true,
        What::Other | What::Image(_) => native.shape == Shape::Chat,
        _ => false,
    });
    says && whole
        && native.is_clean()
        && native
            .blocks
            .iter()
            .all(|block| native.owns(block, Shape::Chat))
        && !native.blocks.is_empty()
        && native.fields.text("role").as_deref() == Some(role)
        && match native.shape {
            Shape::Chat => true,
            Shape::Plain => !of_anthropic(native),
            _ => false,
        }
}

/// Fields of a reply that only the API writes, and takes back from nobody.
fn of_anthropic(native: &Native<'_>) -> bool {
    ["type", "stop_reason", "stop_sequence", "usage", "model"]
        .iter()
        .any(|name| native.fields.get(name).is_some())
}

fn reply(reply: &Reply<'_>, ids: &mut Ids, out: &mut Rendered) {
    let seq = reply.parts.first().map_or(SeqNum::ZERO, |part| part.seq);
    let ids = ids.of(reply, out);
    let parts = part::parts(reply);
    if let [part] = parts.as_slice()
        && untouched(part, reply, &ids)
        && let Some(raw) = part.raw
    {
        out.push_raw(seq, raw);
    } else if let Some(json) = anew(&parts, reply, &ids, out) {
        out.push(seq, json);
    } else {
        return out.lose(seq, Lost::Empty);
    }
    for at in part::order(&parts) {
        if let (Some(made), Some(id)) = (reply.calls.get(at), ids.get(at)) {
            result(made, id, seq, out);
        }
    }
}

fn untouched(part: &Part<'_>, reply: &Reply<'_>, ids: &[String]) -> bool {
    let Some(native) = &part.native else {
        return false;
    };
    let own = reply
        .calls
        .iter()
        .zip(ids)
        .all(|(made, id)| made.call.id == *id);
    let in_order = part
        .calls
        .iter()
        .enumerate()
        .all(|(nth, at)| *at == Some(nth));
    let calls = native.blocks.iter().all(|block| match &block.what {
        What::Call { name, input, .. } => {
            !name.is_empty()
                && input.is_some_and(|input| input.get().starts_with('"'))
                && native.owns(block, Shape::Chat)
        }
        _ => true,
    });
    let no_calls = native.fields.get("tool_calls");
    let no_calls =
        no_calls.is_none_or(|calls| native.calls().next().is_some() || calls.get() == "null");
    let content = native.fields.get("content").map(RawValue::get);
    let speaks = match content {
        None | Some("null") => native.calls().next().is_some(),
        _ => as_it_is_or_calls(native),
    };
    own && in_order
        && calls
        && no_calls
        && speaks
        && part.bare.is_empty()
        && native.fields.text("role").as_deref() == Some("assistant")
        && matches!(native.shape, Shape::Chat | Shape::Plain)
        && !(native.shape == Shape::Plain && of_anthropic(native))
}

fn as_it_is_or_calls(native: &Native<'_>) -> bool {
    let content = native.fields.get("content").map(RawValue::get);
    content.is_some_and(|json| json.starts_with('"') || json.starts_with("[{"))
        && native.is_clean()
        && native.blocks.iter().all(|b| match &b.what {
            What::Other => native.owns(b, Shape::Chat),
            What::Image(_) | What::Thought | What::Result { .. } => false,
            _ => true,
        })
}

/// The reply said anew, from one part or several.
fn anew(
    parts: &[Part<'_>],
    reply: &Reply<'_>,
    ids: &[String],
    out: &mut Rendered,
) -> Option<String> {
    let mut texts: Vec<(&str, bool)> = Vec::new();
    let mut calls = Vec::new();
    for part in parts {
        let mut placed = part.calls.iter();
        let Some(native) = &part.native else {
            bare(part, reply, ids, &mut calls, out);
            continue;
        };
        for it in &native.blocks {
            let chat = native.owns(it, Shape::Chat);
            match &it.what {
                What::Text(text) => texts.push((text.get(), it.raw.get().starts_with('"'))),
                What::Call { id, name, input } => {
                    let at = placed.next().copied().flatten();
                    let Some(new) = at.and_then(|at| ids.get(at)) else {
                        out.lose(part.seq, Lost::Call);
                        continue;
                    };
                    let text = input.is_some_and(|input| input.get().starts_with('"'));
                    if chat && *id == **new && text && !name.is_empty() {
                        calls.push(it.raw.get().to_owned());
                    } else {
                        let name = part::tool_name(name, part.seq, out);
                        calls.push(call(new, &name, &part::arguments(*input)));
                    }
                }
                What::Thought => out.lose(part.seq, Lost::Thought),
                What::Image(_) => out.lose(part.seq, Lost::Image),
                _ => out.lose(part.seq, Lost::Block),
            }
        }
        bare(part, reply, ids, &mut calls, out);
    }
    let content = if texts.iter().all(|(_, string)| *string) {
        // Strings are pieces of one text; blocks are texts of their own.
        (!texts.is_empty()).then(|| joined(texts.iter().map(|(text, _)| *text)))
    } else if let [(text, _)] = texts.as_slice() {
        Some((*text).to_owned())
    } else {
        let blocks: Vec<_> = texts.iter().map(|(text, _)| block(text)).collect();
        Some(array(blocks.iter().map(String::as_str)))
    };
    if calls.is_empty() && content.as_deref().is_none_or(|text| text == "\"\"") {
        return None;
    }
    let mut json = String::from("{\"role\":\"assistant\"");
    push_field(&mut json, "content", content.as_deref().unwrap_or("null"));
    if !calls.is_empty() {
        push_field(
            &mut json,
            "tool_calls",
            &array(calls.iter().map(String::as_str)),
        );
    }
    json.push('}');
    Some(json)
}

/// Calls that no block makes.
fn bare(
    part: &Part<'_>,
    reply: &Reply<'_>,
    ids: &[String],
    calls: &mut Vec<String>,
    out: &mut Rendered,
) {
    for at in &part.bare {
        if let (Some(made), Some(id)) = (reply.calls.get(*at), ids.get(*at)) {
            let name = part::tool_name(&made.call.name, part.seq, out);
            calls.push(call(id, &name, "\"{}\""));
        }
    }
}

fn result(made: &Made<'_>, id: &str, caller: SeqNum, out: &mut Rendered) {
    let Some((entry, nth)) = made.answer else {
        return out.push(caller, tool(id, &quote(INTERRUPTED)));
    };
    let seq = entry.seq;
    let failed = entry.results.get(nth).is_some_and(|result| result.error);
    let Some((it, native)) = part::result_block(entry, nth) else {
        return out.push(seq, tool(id, "\"\""));
    };
    let What::Result {
        id: own,
        content,
        error,
    } = &it.what
    else {
        return out.push(seq, tool(id, "\"\""));
    };
    let parts = part::content(*content);
    let string = content.is_some_and(|content| content.get().starts_with('"'));
    let text = !parts.is_empty() && parts.iter().all(|part| matches!(part, What::Text(_)));
    let listed = content.and_then(items).unwrap_or_default();
    let listed = text && listed.iter().all(|part| part.get().starts_with('{'));
    if native.owns(&it, Shape::Chat) && *own == *id && (string || listed) {
        if native.fields.text("role").as_deref() == Some("tool") {
            return out.push_raw(seq, it.raw);
        }
        return out.push(seq, native.fields.with("role", "\"tool\""));
    }
    if failed || *error {
        out.lose(seq, Lost::ErrorFlag);
    }
    let mut blocks = Vec::new();
    for what in &parts {
        match what {
            What::Text(text) => blocks.push(text.get()),
            What::Image(_) => out.lose(seq, Lost::Image),
            _ => out.lose(seq, Lost::Block),
        }
    }
    let json = match (blocks.as_slice(), content) {
        ([text], _) => (*text).to_owned(),
        ([], Some(odd)) if parts.is_empty() && !matches!(odd.get(), "null" | "[]") => {
            quote(odd.get())
        }
        ([], _) => "\"\"".to_owned(),
        (several, _) => {
            let blocks: Vec<_> = several.iter().map(|text| block(text)).collect();
            array(blocks.iter().map(String::as_str))
        }
    };
    out.push(seq, tool(id, &json));
}

fn tool(id: &str, content: &str) -> String {
    let id = quote(id);
    format!("{{\"role\":\"tool\",\"tool_call_id\":{id},\"content\":{content}}}")
}

fn call(id: &str, name: &str, arguments: &str) -> String {
    let (id, name) = (quote(id), quote(name));
    format!(
        "{{\"id\":{id},\"type\":\"function\",\"function\":{{\"name\":{name},\"arguments\":{arguments}}}}}"
    )
}
