//! Lines of the conversation.

use std::collections::HashMap;

use serde_json::value::RawValue;
use sessionlog::transcript::{Call, CallResult, Message, Role, Tokens, Usage, kinds};

use crate::import::dialect::Mapped;
use crate::import::fields::{Fields, text};

/// What is carried from one message to the next.
#[derive(Debug, Default)]
pub(crate) struct State {
    directory: Option<String>,
    branch: Option<String>,
    started: bool,
    /// The caveat stood here: the commands that follow never reach the model.
    local: bool,
    chains: Chains,
}

/// Side chains in line that have no id: each begins with a line that has no parent.
#[derive(Debug, Default)]
struct Chains {
    /// By the hash of a line's id the number of its chain.
    lines: HashMap<u64, u64>,
    count: u64,
}

impl State {
    /// The name of the sub-agent that a line of the main file belongs to; none for the main agent.
    pub(super) fn agent(&mut self, record: &Fields<'_>) -> Option<String> {
        if !record.is_true("isSidechain") {
            return None;
        }
        if let Some(id) = record.filled("agentId") {
            return Some(id);
        }
        let parent = record.text("parentUuid");
        let known = parent.and_then(|id| self.chains.lines.get(&super::hash(&id)).copied());
        let chain = known.unwrap_or_else(|| {
            self.chains.count += 1;
            self.chains.count
        });
        if let Some(id) = record.text("uuid") {
            self.chains.lines.insert(super::hash(&id), chain);
        }
        Some(format!("sidechain-{chain}"))
    }
}

/// Beginnings of texts that the program writes in the name of the user.
const INJECTED: &[&str] = &[
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<system-reminder>",
    "<task-notification>",
    "[Request interrupted",
    "Caveat: The messages below",
];
const CAVEATS: &[&str] = &["<local-command-caveat>", "Caveat: The messages below"];
const COMMANDS: &[&str] = &["<command-name>", "<command-message>"];

/// A line of type `user` or `assistant`. In the file of a sub-agent its own conversation is the
/// main one.
pub(crate) fn message(state: &mut State, record: &Fields<'_>, own_file: bool) -> Mapped {
    let native = record.object("message");
    let role = match native.text("role").as_deref() {
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        _ if record.text("type").as_deref() == Some("assistant") => Role::Assistant,
        _ => Role::User,
    };
    let mut message = Message {
        role,
        body: Some("message".to_owned()),
        ..Message::default()
    };
    if !own_file {
        message.agent = state.agent(record);
    }
    for block in native.items("content") {
        content(&mut message, block);
    }
    match role {
        Role::Assistant => reply(&mut message, &native),
        _ => message.injected = injected(state, record, &native),
    }
    if message.agent.is_none() {
        place(state, &mut message, record);
    }
    Mapped::record(record.filled("type")).means(kinds::MESSAGE, &message)
}

fn content(message: &mut Message<'_>, block: &RawValue) {
    let block = Fields::of(block);
    match block.text("type").as_deref() {
        Some("tool_use") => message.calls.push(Call {
            id: block.filled("id").unwrap_or_default(),
            name: block.filled("name").unwrap_or_default(),
        }),
        Some("tool_result") => message.results.push(CallResult {
            id: block.filled("tool_use_id").unwrap_or_default(),
            error: block.is_true("is_error"),
        }),
        _ => {}
    }
}

fn reply(message: &mut Message<'_>, native: &Fields<'_>) {
    message.response = native.filled("id");
    message.model = native
        .filled("model")
        .filter(|model| model != "<synthetic>");
    // A reply that the program made up has a usage of nothing.
    if message.model.is_some() && native.has_object("usage") {
        let usage = native.object("usage");
        let count = |name| usage.number(name).unwrap_or(0);
        message.usage = Some(Usage {
            key: message.response.clone(),
            tokens: Tokens {
                input: count("input_tokens"),
                cache_read: count("cache_read_input_tokens"),
                cache_write: count("cache_creation_input_tokens"),
                output: count("output_tokens"),
                reasoning: 0,
            },
            ..Usage::default()
        });
    }
}

/// Whether no person wrote this.
fn injected(state: &mut State, record: &Fields<'_>, native: &Fields<'_>) -> bool {
    let words = beginning(native);
    let begins = |with: &[&str]| with.iter().any(|with| words.starts_with(with));
    if begins(CAVEATS) {
        state.local = true;
    } else if state.local && !begins(COMMANDS) && !begins(INJECTED) {
        state.local = false;
    }
    ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"]
        .iter()
        .any(|flag| record.is_true(flag))
        || begins(INJECTED)
        || (state.local && begins(COMMANDS))
}

/// The first words of a message.
fn beginning(native: &Fields<'_>) -> String {
    let Some(content) = native.get("content") else {
        return String::new();
    };
    if let Some(words) = text(content) {
        return words.trim_start().chars().take(40).collect();
    }
    let first = native
        .items("content")
        .first()
        .map(|block| Fields::of(block));
    let words = first
        .and_then(|block| block.filled("text"))
        .unwrap_or_default();
    words.trim_start().chars().take(40).collect()
}

/// Where the work is done stands on each line; it is told where it changes.
fn place(state: &mut State, message: &mut Message<'_>, record: &Fields<'_>) {
    message.directory = changed(&mut state.directory, record.filled("cwd"));
    message.branch = changed(&mut state.branch, record.filled("gitBranch"));
    if !state.started {
        state.started = true;
        message.harness = Some("claude-code".to_owned());
    }
}

fn changed(last: &mut Option<String>, now: Option<String>) -> Option<String> {
    if now.is_none() || *last == now {
        return None;
    }
    last.clone_from(&now);
    now
}
