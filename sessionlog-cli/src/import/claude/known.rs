//! The types of lines that are known.

/// Types whose lines are kept as records, since no standard kind fits them.
const KEPT: &[&str] = &[
    "agent-name",
    "attachment",
    "bridge-session",
    "file-history-delta",
    "file-history-snapshot",
    "frame-link",
    "last-prompt",
    "pr-link",
    "queue-operation",
    "summary",
];

/// Types that have a meaning of their own.
const MAPPED: &[&str] = &[
    "ai-title",
    "assistant",
    "custom-title",
    "mode",
    "permission-mode",
    "progress",
    "system",
    "user",
];

/// Subtypes of `system` that are kept as records.
pub(crate) const SYSTEM: &[&str] = &["microcompact_boundary", "stop_hook_summary"];

pub(crate) fn is_kept(kind: &str) -> bool {
    KEPT.contains(&kind)
}

pub(crate) fn is_known(kind: &str) -> bool {
    is_kept(kind) || MAPPED.contains(&kind)
}
