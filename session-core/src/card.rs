//! What a list shows of a session.

use serde::{Deserialize, Serialize};

use crate::transcript::{
    Message, Meter, PermissionRequested, PermissionResolved, Role, SessionStarted, SettingsChanged,
    Succeeded, Title, TitleBy, Tokens, Usage, kinds,
};
use crate::{Event, Projection, Timestamp};

/// The standard projection for lists: what a session is, never what was said in it.
///
/// It is kept as a snapshot, so that a list is one scan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Card {
    /// The title: the one that a person chose, else the last derived one, else the beginning of the
    /// first request.
    pub title: Option<String>,
    titled_by: Option<TitleBy>,
    /// The working directory, as it is; the last one, if it changed.
    pub directory: Option<String>,
    /// The git branch.
    pub branch: Option<String>,
    /// The program that drives or drove it.
    pub harness: Option<String>,
    /// The model of the last reply.
    pub model: Option<String>,
    /// The effort of the model's reasoning.
    pub effort: Option<String>,
    /// The mode of the harness.
    pub mode: Option<String>,
    /// The earliest time of any event, imports themselves not counted.
    pub created: Option<Timestamp>,
    /// The latest time of any event, imports themselves not counted.
    pub updated: Option<Timestamp>,
    /// Events in the log.
    pub events: u64,
    /// Messages that a person wrote.
    pub prompts: u64,
    /// Replies of the model, each once.
    pub replies: u64,
    /// Tool calls.
    pub calls: u64,
    last_reply: Option<String>,
    meter: Meter,
    inherited: Tokens,
    /// The session in which this one goes on.
    pub succeeded_by: Option<String>,
    /// Permissions that were asked for and not resolved: their ids, at most 16 of them.
    pub blocked_on: Vec<String>,
}

/// Titles are cut at a character, after at most so many bytes.
const TITLE: usize = 120;
/// Other fields too: a card can't carry a transcript.
const FIELD: usize = 512;
const BLOCKED: usize = 16;

impl Card {
    /// All tokens so far, with those of the session that this one was forked from.
    pub fn tokens(&self) -> Tokens {
        self.meter.tokens()
    }

    /// The tokens that were used in this session itself: what sums over sessions add up.
    pub fn own_tokens(&self) -> Tokens {
        self.meter.tokens().without(&self.inherited)
    }

    /// The recorded cost in US dollars; `None` if none was recorded.
    pub fn cost(&self) -> Option<f64> {
        self.meter.cost()
    }

    fn message(&mut self, message: &Message<'_>) {
        if let Some(usage) = message.counted() {
            self.meter.add(&usage);
        }
        self.calls = self.calls.saturating_add(message.calls.len() as u64);
        if message.agent.is_some() {
            return;
        }
        set(&mut self.model, message.model.as_deref());
        set(&mut self.directory, message.directory.as_deref());
        set(&mut self.branch, message.branch.as_deref());
        set(&mut self.harness, message.harness.as_deref());
        match message.role {
            Role::Assistant => {
                let part = message.response.is_some() && message.response == self.last_reply;
                self.replies += u64::from(!part);
                self.last_reply.clone_from(&message.response);
            }
            Role::User if !message.injected && message.results.is_empty() => {
                self.prompts += 1;
                if self.title.is_none() {
                    self.derive_title(&message.text());
                }
            }
            _ => {}
        }
    }

    fn derive_title(&mut self, text: &str) {
        let title = derived_title(text);
        if !title.is_empty() {
            self.title = Some(title);
        }
    }

    fn settings(&mut self, settings: &SettingsChanged) {
        set(&mut self.model, settings.model.as_deref());
        set(&mut self.effort, settings.effort.as_deref());
        set(&mut self.mode, settings.mode.as_deref());
        set(&mut self.directory, settings.directory.as_deref());
        set(&mut self.branch, settings.branch.as_deref());
    }

    fn started(&mut self, started: &SessionStarted) {
        set(&mut self.model, started.model.as_deref());
        set(&mut self.directory, started.directory.as_deref());
        set(&mut self.branch, started.branch.as_deref());
        set(&mut self.harness, started.harness.as_deref());
    }

    fn titled(&mut self, title: &Title) {
        if self.titled_by.is_none_or(|by| title.by >= by) && !title.title.trim().is_empty() {
            self.title = Some(chosen_title(&title.title));
            self.titled_by = Some(title.by);
        }
    }
}

/// Harnesses wrap what a person types in tags of their own, such as `<command-name>`: they are no
/// part of a title.
fn without_tags(text: &str) -> String {
    let is_tag = |tag: &str| {
        let name = tag.strip_prefix('/').unwrap_or(tag);
        name.starts_with(|c: char| c.is_ascii_lowercase())
            && name
                .chars()
                .all(|c| c.is_ascii_lowercase() || matches!(c, '0'..='9' | '-' | '_'))
    };
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('<') {
        out.push_str(before);
        rest = match behind.split_once('>').filter(|(tag, _)| is_tag(tag)) {
            Some((_, after)) => {
                out.push(' ');
                after
            }
            None => {
                out.push('<');
                behind
            }
        };
    }
    out + rest
}

fn set(field: &mut Option<String>, value: Option<&str>) {
    if let Some(value) = value.filter(|v| field.as_deref() != Some(v)) {
        *field = Some(cut(value, FIELD));
    }
}

/// The beginning of a request as a title: one line, cut at a character.
pub(crate) fn derived_title(text: &str) -> String {
    let bare = without_tags(text);
    let words: Vec<&str> = bare.split_whitespace().take(40).collect();
    cut(&words.join(" "), TITLE)
}

/// A title that somebody chose.
pub(crate) fn chosen_title(text: &str) -> String {
    cut(text.trim(), TITLE)
}

fn cut(text: &str, most: usize) -> String {
    let end = (0..=most.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or(0)).unwrap_or_default().to_owned()
}

impl Projection for Card {
    const NAME: &'static str = "card";
    const VERSION: u32 = 2;

    fn apply(&mut self, event: &Event) {
        self.events += 1;
        // When a session was imported says nothing about when it was.
        if event.kind != kinds::IMPORT_STARTED && event.kind != kinds::IMPORT_FINISHED {
            self.created = Some(self.created.map_or(event.at, |at| at.min(event.at)));
            self.updated = Some(self.updated.map_or(event.at, |at| at.max(event.at)));
        }
        // A payload that does not fit its kind is passed over.
        if event.kind == kinds::MESSAGE {
            let _ = event.data.view().map(|m: Message<'_>| self.message(&m));
        } else if event.kind == kinds::USAGE_REPORTED {
            let _ = event.data.view().map(|u: Usage| self.meter.add(&u));
        } else if event.kind == kinds::SETTINGS_CHANGED {
            let _ = event
                .data
                .view()
                .map(|s: SettingsChanged| self.settings(&s));
        } else if event.kind == kinds::SESSION_STARTED {
            let _ = event.data.view().map(|s: SessionStarted| self.started(&s));
        } else if event.kind == kinds::SESSION_TITLED {
            let _ = event.data.view().map(|t: Title| self.titled(&t));
        } else if event.kind == kinds::PERMISSION_REQUESTED {
            if let Ok(asked) = event.data.view::<PermissionRequested>()
                && self.blocked_on.len() < BLOCKED
                && !self.blocked_on.contains(&asked.id)
            {
                self.blocked_on.push(cut(&asked.id, FIELD));
            }
        } else if event.kind == kinds::SESSION_SUCCEEDED {
            let _ = event
                .data
                .view()
                .map(|s: Succeeded| set(&mut self.succeeded_by, Some(&s.by)));
        } else if event.kind == kinds::SESSION_ORIGIN {
            // What came before was used, and succeeded, elsewhere.
            self.inherited = self.meter.tokens();
            self.succeeded_by = None;
        } else if event.kind == kinds::PERMISSION_RESOLVED
            && let Ok(resolved) = event.data.view::<PermissionResolved>()
        {
            self.blocked_on.retain(|id| *id != resolved.id);
        }
    }
}
