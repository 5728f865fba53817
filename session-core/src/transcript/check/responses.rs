//! The rules of `OpenAI` responses.

use serde_json::value::RawValue;

use super::{Breach, is_text, require};
use crate::transcript::fields::Fields;

/// Checks items by the rules of the `OpenAI` responses API.
///
/// 1. An item is an object with a role or a type.
/// 2. A call has an id that no other call has, and exactly one output of its own kind, behind it.
/// 3. There is no other output.
/// 4. All of it is text: no half of a surrogate pair.
///
/// # Errors
/// The first rule that is broken.
pub fn responses(items: &[Box<RawValue>]) -> Result<(), Breach> {
    let mut waiting: Vec<(String, usize)> = Vec::new();
    let mut ids = std::collections::HashSet::new();
    for (at, item) in items.iter().enumerate() {
        require(is_text(item), at, "all of it is text")?;
        let fields = Fields::of(item);
        let kind = fields.text("type").unwrap_or_default();
        let role = fields.get("role").is_some();
        require(role || !kind.is_empty(), at, "an item has a role or a type")?;
        let id = || fields.text("call_id").unwrap_or_default().into_owned();
        let named = !id().is_empty();
        match &*kind {
            "function_call_output" | "custom_tool_call_output" => {
                require(fields.get("output").is_some(), at, "an output has content")?;
                answered(&mut waiting, &id(), at)?;
            }
            kind if named && kind.ends_with("_output") => answered(&mut waiting, &id(), at)?,
            kind if kind == "function_call"
                || kind == "custom_tool_call"
                || (named && kind.ends_with("_call")) =>
            {
                require(!id().is_empty(), at, "a call has an id")?;
                require(ids.insert(id()), at, "no other call has the id")?;
                waiting.push((id(), at));
            }
            _ => {}
        }
    }
    let open = waiting.first().map(|(_, at)| *at);
    require(open.is_none(), open.unwrap_or(0), "each call is answered")
}

fn answered(waiting: &mut Vec<(String, usize)>, id: &str, at: usize) -> Result<(), Breach> {
    let found = waiting.iter().any(|(waiting, _)| waiting == id);
    require(found, at, "an output answers a call before it")?;
    waiting.retain(|(waiting, _)| waiting != id);
    Ok(())
}
