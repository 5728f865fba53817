//! Which user messages a person wrote.

use std::collections::{BTreeSet, VecDeque};

use sessionlog::transcript::text_of;
use twox_hash::XxHash3_64;

use crate::import::fields::Fields;

/// The lines of user messages that an event `user_message` stands for.
///
/// The program also writes its instructions and the environment in the user's name; those have no
/// such event. It comes right behind the message in all versions that were seen; one in front of it
/// is understood too. Rollouts without any such event say nothing: then the words decide.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prompts {
    lines: BTreeSet<u64>,
    /// The last user messages that no event stands for.
    open: VecDeque<Open>,
    /// The last events without a message.
    early: VecDeque<u64>,
    events: bool,
    /// Lines whose words are not those of the program, while there are no events.
    guessed: BTreeSet<u64>,
}

#[derive(Clone, Debug)]
struct Open {
    line: u64,
    words: u64,
    /// Begins like something that the program wrote.
    injected: bool,
}

const WINDOW: usize = 32;
/// Beginnings of what the program writes.
const INJECTED: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<permissions instructions>",
    "# AGENTS.md instructions",
];

impl Prompts {
    pub(crate) fn item(&mut self, line: u64, payload: &Fields<'_>) {
        let user = payload.text("type").as_deref() == Some("message")
            && payload.text("role").as_deref() == Some("user");
        if !user {
            return;
        }
        let words = payload.get("content").map(text_of).unwrap_or_default();
        let hash = XxHash3_64::oneshot(words.trim().as_bytes());
        if let Some(at) = self.early.iter().position(|early| *early == hash) {
            self.early.remove(at);
            self.lines.insert(line);
            return;
        }
        let injected = INJECTED
            .iter()
            .any(|start| words.trim_start().starts_with(start));
        if !self.events && !injected {
            self.guessed.insert(line);
        }
        let words = hash;
        push(
            &mut self.open,
            Open {
                line,
                words,
                injected,
            },
        );
    }

    pub(crate) fn event(&mut self, payload: &Fields<'_>) {
        if payload.text("type").as_deref() != Some("user_message") {
            return;
        }
        self.events = true;
        self.guessed.clear();
        let words = payload.text("message").unwrap_or_default();
        let hash = XxHash3_64::oneshot(words.trim().as_bytes());
        // With images or attachments the words are not the same on both sides.
        let last = self.open.len().checked_sub(1);
        let near = last.filter(|at| self.open.get(*at).is_some_and(|open| !open.injected));
        let same = self.open.iter().rposition(|open| open.words == hash);
        match same.or(near) {
            Some(at) => {
                let line = self.open.remove(at).map(|open| open.line);
                self.lines.extend(line);
            }
            None => push(&mut self.early, hash),
        }
    }

    /// Whether a person wrote the user message on this line.
    pub(crate) fn is_prompt(&self, line: u64) -> bool {
        self.lines.contains(&line) || (!self.events && self.guessed.contains(&line))
    }
}

fn push<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() >= WINDOW {
        queue.pop_front();
    }
    queue.push_back(item);
}
