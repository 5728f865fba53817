//! The blocks of a message, with what the neutral fields say of its calls.

use serde_json::value::RawValue;

use super::{Lost, Rendered};
use crate::SeqNum;
use crate::transcript::conversation::Reply;
use crate::transcript::fields::quote;
use crate::transcript::native::{Native, Shape, What};
use crate::transcript::tree::Entry;

/// A part of a reply, read.
pub(super) struct Part<'a> {
    pub(super) seq: SeqNum,
    pub(super) raw: Option<&'a RawValue>,
    pub(super) native: Option<Native<'a>>,
    /// For each block that is a call the place of that call in the reply; `None` if it is not one
    /// of them.
    pub(super) calls: Vec<Option<usize>>,
    /// Calls of the part that no block makes.
    pub(super) bare: Vec<usize>,
}

/// The parts of a reply, each of its calls found once.
pub(super) fn parts<'a>(reply: &Reply<'a>) -> Vec<Part<'a>> {
    let part = |(nth, entry): (usize, &&'a Entry)| {
        let raw = entry.native();
        let native = raw.map(Native::of);
        let mut bare: Vec<usize> = (0..reply.calls.len())
            .filter(|at| reply.calls.get(*at).is_some_and(|made| made.part == nth))
            .collect();
        let mut calls = Vec::new();
        for (id, _) in native.iter().flat_map(Native::calls) {
            let named = |at: &usize| reply.calls.get(*at).is_some_and(|m| m.call.id == id);
            let found = bare.iter().position(named);
            calls.push(found.map(|at| bare.remove(at)));
        }
        Part {
            seq: entry.seq,
            raw,
            native,
            calls,
            bare,
        }
    };
    reply.parts.iter().enumerate().map(part).collect()
}

/// The calls of a reply in the order in which its rendered parts make them.
pub(super) fn order(parts: &[Part<'_>]) -> Vec<usize> {
    let of = |part: &Part<'_>| {
        let placed = part.calls.iter().copied().flatten();
        placed.chain(part.bare.iter().copied()).collect::<Vec<_>>()
    };
    parts.iter().flat_map(of).collect()
}

impl Part<'_> {
    pub(super) fn shape(&self) -> Shape {
        self.native.as_ref().map_or(Shape::Unknown, |n| n.shape)
    }
}

/// The name of a tool, never empty.
pub(super) fn tool_name(name: &str, seq: SeqNum, out: &mut Rendered) -> String {
    if name.is_empty() {
        out.lose(seq, Lost::ToolName);
        return "unknown".to_owned();
    }
    name.to_owned()
}

/// The arguments of a call as a JSON object.
pub(super) fn object(input: Option<&RawValue>, seq: SeqNum, out: &mut Rendered) -> String {
    let Some(input) = input else {
        return "{}".to_owned();
    };
    let text = match crate::transcript::fields::string(input) {
        Some(text) => text,
        None => input.get().into(),
    };
    let text = text.trim();
    if text.is_empty() {
        return "{}".to_owned();
    }
    if text.starts_with('{') && serde_json::from_str::<&RawValue>(text).is_ok() {
        return text.to_owned();
    }
    out.lose(seq, Lost::Arguments);
    format!("{{\"input\":{}}}", quote(text))
}

/// The arguments of a call as a JSON string.
pub(super) fn arguments(input: Option<&RawValue>) -> String {
    match input.map(RawValue::get) {
        None => "\"{}\"".to_owned(),
        Some(text) if text.starts_with('"') => text.to_owned(),
        Some(json) => quote(json),
    }
}

/// The content of a result, block by block: strings, blocks of text and images.
pub(super) fn content(content: Option<&RawValue>) -> Vec<What<'_>> {
    let Some(content) = content else {
        return Vec::new();
    };
    match content.get().as_bytes().first() {
        Some(b'"') => vec![What::Text(content)],
        Some(b'[') => {
            let blocks = Native::of(content).blocks;
            blocks.into_iter().map(|block| block.what).collect()
        }
        _ => Vec::new(),
    }
}

/// The block of an entry that is its `nth` result, and the shape of the message.
pub(super) fn result_block<'a>(
    entry: &'a Entry,
    nth: usize,
) -> Option<(crate::transcript::native::Block<'a>, Native<'a>)> {
    let native = Native::of(entry.native()?);
    let id = &entry.results.get(nth)?.id;
    let before = entry.results.iter().take(nth);
    let before = before.filter(|result| result.id == *id).count();
    let mut same = native.blocks.iter().filter(|block| match &block.what {
        What::Result { id: own, .. } => *own == **id,
        _ => false,
    });
    let block = same.nth(before)?.clone();
    Some((block, native))
}
