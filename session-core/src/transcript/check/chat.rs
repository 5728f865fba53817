//! The rules of `OpenAI` chat completions.

use std::collections::HashSet;

use serde_json::value::RawValue;

use super::{Breach, is_text, require};
use crate::transcript::fields::{Fields, items};

/// Checks messages by the rules of the `OpenAI` chat completions API.
///
/// 1. The role is `system`, `developer`, `user`, `assistant` or `tool`.
/// 2. A message has content, a string or a list that is not empty; only an assistant that calls
///    tools needs none.
/// 3. `tool_calls` is the assistant's and not empty; each call has an id that no other of the message
///    has, the name of its function, and arguments as a string.
/// 4. Directly behind a message with calls stand its `tool` messages: one for each call, in order.
///    There is no other `tool` message.
/// 5. All of it is text: no half of a surrogate pair.
///
/// # Errors
/// The first rule that is broken.
pub fn chat(messages: &[Box<RawValue>]) -> Result<(), Breach> {
    let mut waiting: std::collections::VecDeque<String> = std::collections::VecDeque::new();
    for (at, message) in messages.iter().enumerate() {
        require(is_text(message), at, "all of it is text")?;
        let fields = Fields::of(message);
        let role = fields.text("role").unwrap_or_default();
        if &*role == "tool" {
            let id = fields.text("tool_call_id").unwrap_or_default();
            let next = waiting.pop_front();
            let rule = "a tool message answers the next call of the message before";
            require(next.as_deref() == Some(&*id), at, rule)?;
            require(has_content(&fields), at, "a message has content")?;
            continue;
        }
        require(
            waiting.is_empty(),
            at,
            "each call is answered directly behind it",
        )?;
        let known = ["system", "developer", "user", "assistant"].contains(&&*role);
        require(known, at, "the role is one that is known")?;
        let calls = fields
            .get("tool_calls")
            .filter(|calls| calls.get() != "null");
        require(
            calls.is_none() || &*role == "assistant",
            at,
            "calls are the assistant's",
        )?;
        let mut ids = HashSet::new();
        for call in calls.and_then(items).unwrap_or_default() {
            let call = Fields::of(call);
            let id = call.text("id").unwrap_or_default().into_owned();
            require(!id.is_empty(), at, "a call has an id")?;
            require(
                ids.insert(id.clone()),
                at,
                "no other call of the message has the id",
            )?;
            if call.get("custom").is_none() {
                let of = call.get("function").map(Fields::of).unwrap_or_default();
                let name = of.text("name").is_some_and(|name| !name.is_empty());
                require(name, at, "a call has the name of its function")?;
                let string = of
                    .get("arguments")
                    .is_some_and(|a| a.get().starts_with('"'));
                require(string, at, "arguments are a string")?;
            }
            waiting.push_back(id);
        }
        require(
            calls.is_none() || !waiting.is_empty(),
            at,
            "tool_calls is not empty",
        )?;
        let says = has_content(&fields);
        require(says || !waiting.is_empty(), at, "a message has content")?;
    }
    let last = messages.len().saturating_sub(1);
    require(
        waiting.is_empty(),
        last,
        "each call is answered directly behind it",
    )
}

fn has_content(fields: &Fields<'_>) -> bool {
    let content = fields.get("content");
    content.is_some_and(|content| {
        let json = content.get();
        json.starts_with('"')
            || items(content).is_some_and(|parts| {
                !parts.is_empty() && parts.iter().all(|part| part.get().starts_with('{'))
            })
    })
}
