//! The rules of Anthropic messages.

use std::collections::HashSet;

use serde_json::value::RawValue;

use super::{Breach, is_text, require};
use crate::transcript::fields::{Fields, items, string};

/// Checks messages by the rules of the Anthropic messages API.
///
/// 1. The first message is the user's; every role is `user` or `assistant`.
/// 2. No message is empty, and no text is blank.
/// 3. A `tool_use` is the assistant's: it has an id of `A-Z a-z 0-9 _ -` that no other one has, a
///    name, and an object as its input.
/// 4. The next message answers each `tool_use` of a message exactly once, with its `tool_result`
///    blocks before anything else. There is no other `tool_result`.
/// 5. A `tool_result` that failed says something.
/// 6. Images are the user's. Thoughts are the assistant's, and no message ends with one.
/// 7. All of it is text: no half of a surrogate pair.
///
/// # Errors
/// The first rule that is broken.
pub fn anthropic(messages: &[Box<RawValue>]) -> Result<(), Breach> {
    let mut ids = HashSet::new();
    let mut waiting: Vec<String> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        require(is_text(message), at, "all of it is text")?;
        let fields = Fields::of(message);
        require(
            fields.only(&["role", "content"]),
            at,
            "there is a role and content",
        )?;
        let role = fields.text("role").unwrap_or_default();
        let assistant = &*role == "assistant";
        require(
            assistant || &*role == "user",
            at,
            "the role is user or assistant",
        )?;
        require(at > 0 || !assistant, at, "the first message is the user's")?;
        let content = fields.get("content");
        let blocks = match content.map(RawValue::get) {
            Some(json) if json.starts_with('"') => {
                let blank = content.and_then(string).is_none_or(|t| t.trim().is_empty());
                require(!blank, at, "no text is blank")?;
                Vec::new()
            }
            _ => {
                let blocks = content.and_then(items).unwrap_or_default();
                require(!blocks.is_empty(), at, "no message is empty")?;
                blocks
            }
        };
        let mut answers = true;
        let mut calls = Vec::new();
        let mut last = String::new();
        for block in blocks {
            let block = Fields::of(block);
            let kind = block.text("type").unwrap_or_default();
            last = kind.clone().into_owned();
            match &*kind {
                "text" => {
                    let blank = block.text("text").is_none_or(|t| t.trim().is_empty());
                    require(!blank, at, "no text is blank")?;
                }
                "tool_use" => {
                    require(assistant, at, "a tool_use is the assistant's")?;
                    let id = block.text("id").unwrap_or_default();
                    let plain = id
                        .bytes()
                        .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
                    require(plain && !id.is_empty(), at, "a tool_use has an id")?;
                    require(
                        ids.insert(id.to_string()),
                        at,
                        "no other tool_use has the id",
                    )?;
                    let name = block.text("name").unwrap_or_default();
                    require(!name.is_empty(), at, "a tool_use has a name")?;
                    let input = block.get("input").is_some_and(|i| i.get().starts_with('{'));
                    require(input, at, "the input of a tool_use is an object")?;
                    calls.push(id.to_string());
                }
                "tool_result" => {
                    require(!assistant, at, "a tool_result is the user's")?;
                    require(answers, at, "results stand before anything else")?;
                    let id = block.text("tool_use_id").unwrap_or_default();
                    let found = waiting.iter().position(|waiting| *waiting == id);
                    require(
                        found.is_some(),
                        at,
                        "a result answers a call of the message before",
                    )?;
                    waiting.retain(|waiting| *waiting != id);
                    result(&block, at)?;
                }
                "thinking" | "redacted_thinking" => {
                    require(assistant, at, "thoughts are the assistant's")?;
                }
                "image" => require(!assistant, at, "images are the user's")?,
                kind => require(!kind.is_empty(), at, "a block has a type")?,
            }
            answers &= &*kind == "tool_result";
        }
        let thought = last == "thinking" || last == "redacted_thinking";
        require(!thought, at, "no message ends with a thought")?;
        require(
            waiting.is_empty(),
            at,
            "the message answers each call of the one before",
        )?;
        waiting = calls;
    }
    let last = messages.len().saturating_sub(1);
    require(waiting.is_empty(), last, "each call is answered")
}

fn result(block: &Fields<'_>, at: usize) -> Result<(), Breach> {
    let failed = block
        .get("is_error")
        .is_some_and(|error| error.get() == "true");
    let content = block.get("content");
    let says = match content.map(RawValue::get) {
        None => false,
        Some(json) if json.starts_with('"') => json.len() > 2,
        Some(_) => {
            let blocks = content.and_then(items);
            require(
                blocks.is_some(),
                at,
                "the content of a result is text or blocks",
            )?;
            let blocks = blocks.unwrap_or_default();
            for block in &blocks {
                let block = Fields::of(block);
                let text = block.text("type").as_deref() == Some("text");
                let blank = block.text("text").is_none_or(|t| t.trim().is_empty());
                require(!(text && blank), at, "no text is blank")?;
            }
            !blocks.is_empty()
        }
    };
    require(says || !failed, at, "a result that failed says something")
}
