//! Payloads of the smaller standard kinds.

use serde::{Deserialize, Serialize};

/// The payload of [`kinds::SESSION_STARTED`](super::kinds::SESSION_STARTED).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionStarted {
    /// The working directory, as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The git branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The program that drives the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harness: Option<String>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The session that this one was forked from or belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// Who chose a title.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TitleBy {
    /// A program derived it. A later derived title replaces it.
    #[default]
    Derived,
    /// A person. No derived title replaces it.
    Person,
}

/// The payload of [`kinds::SESSION_TITLED`](super::kinds::SESSION_TITLED).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Title {
    /// The title.
    pub title: String,
    /// Who chose it.
    #[serde(default)]
    pub by: TitleBy,
}

/// The payload of [`kinds::SETTINGS_CHANGED`](super::kinds::SETTINGS_CHANGED). What is absent stays
/// as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SettingsChanged {
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The effort of its reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// The mode of the harness: plan, code, ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// What connects the harness to the model: a provider, a proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connector: Option<String>,
    /// The names of the tools that are offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// An id that stays the same for the session, for the routing of caches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The git branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// The payload of [`kinds::PERMISSION_REQUESTED`](super::kinds::PERMISSION_REQUESTED).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionRequested {
    /// What the resolution will name.
    pub id: String,
    /// The tool that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What it wants to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The payload of [`kinds::PERMISSION_RESOLVED`](super::kinds::PERMISSION_RESOLVED). A resolution
/// without `allowed` is a refusal: silence is never consent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionResolved {
    /// The request.
    pub id: String,
    /// Whether leave was given.
    #[serde(default)]
    pub allowed: bool,
    /// The rule that matched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Where an imported event comes from: the field `source` of any payload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Source {
    /// The format: `claude-code`, `codex`, `kvit-coder`, `lines`.
    pub format: String,
    /// The line of the file, from 1; 0 for what was made from the whole of another `file`.
    pub line: u64,
    /// The place among several records that stand on one line, from 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub part: u32,
    /// The file that the record is from, if it is not the log of the session itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The record's own type, as the other tool names it.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The record's own id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The id of the record that it hangs under.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The id of the record that it continues although it does not hang under it: what a
    /// compaction stands for. It may be in another file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logical_parent: Option<String>,
    /// White space around the record on its line: before and behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pad: Option<(String, String)>,
    /// The file ended here, without a newline, when the record was imported.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unterminated: bool,
}

fn is_zero(part: &u32) -> bool {
    *part == 0
}
