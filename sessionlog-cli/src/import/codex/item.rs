//! What the model gets and gives.

use sessionlog::transcript::{Call, CallResult, Message, Role, kinds};

use crate::import::dialect::Mapped;
use crate::import::fields::Fields;

/// Which reply of the model is being written.
#[derive(Debug, Default)]
pub(crate) struct State {
    reply: Option<u64>,
}

impl State {
    /// What the model says next is another reply.
    pub(crate) fn end_reply(&mut self) {
        self.reply = None;
    }

    /// The items of a reply carry no id of it: they are named by the line of the first.
    fn reply(&mut self, line: u64) -> String {
        format!("line-{}", self.reply.get_or_insert(line))
    }
}

/// A `response_item`; `typed` if a person wrote it.
pub(crate) fn item(state: &mut State, line: u64, payload: &Fields<'_>, typed: bool) -> Mapped {
    let kind = payload.filled("type").unwrap_or_default();
    let mapped = Mapped::record(Some(format!("response_item/{kind}")));
    let mut message = Message {
        role: Role::Assistant,
        body: Some("payload".to_owned()),
        ..Message::default()
    };
    match kind.as_str() {
        "message" => {
            message.role = role(payload);
            message.injected = message.role == Role::User && !typed;
        }
        // A search on the provider's side has no result of its own, and so is no open call.
        "reasoning" | "web_search_call" | "image_generation_call" => {}
        "function_call" | "custom_tool_call" | "local_shell_call" | "tool_search_call" => {
            let name = payload.filled("name");
            message.calls.push(Call {
                id: id(payload),
                name: name.unwrap_or_else(|| kind.trim_end_matches("_call").to_owned()),
            });
        }
        "function_call_output"
        | "custom_tool_call_output"
        | "local_shell_call_output"
        | "tool_search_output" => {
            message.role = Role::Tool;
            message.results.push(CallResult {
                id: id(payload),
                error: failed(payload),
            });
        }
        _ => {
            return Mapped {
                unknown: true,
                ..mapped
            };
        }
    }
    if message.role == Role::Assistant {
        message.response = Some(state.reply(line));
    } else {
        state.end_reply();
    }
    mapped.means(kinds::MESSAGE, &message)
}

fn role(payload: &Fields<'_>) -> Role {
    match payload.text("role").as_deref() {
        Some("assistant") => Role::Assistant,
        Some("developer") => Role::Developer,
        Some("system") => Role::System,
        _ => Role::User,
    }
}

fn id(payload: &Fields<'_>) -> String {
    let id = payload.filled("call_id").or_else(|| payload.filled("id"));
    id.unwrap_or_default()
}

/// Whether a tool failed. What it says of itself differs by version: a field, JSON inside the text,
/// or a head of lines in front of the text.
fn failed(payload: &Fields<'_>) -> bool {
    if payload.text("status").as_deref() == Some("failed") {
        return true;
    }
    let Some(output) = payload.text("output") else {
        let output = payload.object("output");
        return output.get("success").is_some_and(|s| s.get() == "false");
    };
    if let Ok(inside) = serde_json::from_str::<Fields<'_>>(&output) {
        return inside
            .object("metadata")
            .float("exit_code")
            .is_some_and(|code| code != 0.0);
    }
    output
        .lines()
        .take(5)
        .find_map(|line| {
            line.strip_prefix("Exit code: ")
                .or_else(|| line.strip_prefix("Process exited with code "))
        })
        .is_some_and(|code| code.trim() != "0")
}
