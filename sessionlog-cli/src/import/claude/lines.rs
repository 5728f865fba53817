//! Lines that are no messages.

use serde_json::json;
use sessionlog::transcript::{SettingsChanged, Title, TitleBy, kinds};

use super::known;
use crate::import::dialect::Mapped;
use crate::import::fields::{Fields, text};

pub(crate) fn line(record: &Fields<'_>) -> Mapped {
    let kind = record.filled("type");
    match kind.as_deref() {
        Some("system") => system(record),
        Some("progress") => progress(record),
        Some("custom-title") => titled(record, Some("customTitle"), TitleBy::Person),
        Some("ai-title") => titled(record, Some("aiTitle"), TitleBy::Derived),
        Some("mode") => mode(record, "mode"),
        Some("permission-mode") => mode(record, "permissionMode"),
        Some(kept) if known::is_kept(kept) => Mapped::record(kind),
        _ => Mapped::unknown(kind),
    }
}

/// A line whose field `name` is the title.
pub(crate) fn titled(record: &Fields<'_>, name: Option<&str>, by: TitleBy) -> Mapped {
    let mapped = Mapped::record(record.filled("type"));
    match name.and_then(|name| record.filled(name)) {
        Some(title) => mapped.means(kinds::SESSION_TITLED, &Title { title, by }),
        None => mapped,
    }
}

fn mode(record: &Fields<'_>, name: &str) -> Mapped {
    let mapped = Mapped::record(record.filled("type"));
    match record.filled(name) {
        Some(mode) => {
            let settings = SettingsChanged {
                mode: Some(mode),
                ..SettingsChanged::default()
            };
            mapped.means(kinds::SETTINGS_CHANGED, &settings)
        }
        None => mapped,
    }
}

fn system(record: &Fields<'_>) -> Mapped {
    let subtype = record.filled("subtype").unwrap_or_default();
    let mapped = Mapped::record(Some(format!("system/{subtype}")));
    match subtype.as_str() {
        "compact_boundary" => {
            let meta = record.object("compactMetadata");
            // Newer versions name the messages that stay; they are the last ones before it.
            let kept = meta.object("preservedMessages").items("uuids");
            let compaction = json!({
                "trigger": meta.text("trigger"),
                "tokens_before": meta.number("preTokens"),
                "tokens_after": meta.number("postTokens"),
                "kept_id": kept.first().and_then(|id| text(id)),
            });
            mapped.means(kinds::COMPACTION, &compaction)
        }
        "turn_duration" => {
            let ended = json!({"outcome": "complete", "ms": record.number("durationMs")});
            mapped.means(kinds::TURN_ENDED, &ended)
        }
        "api_error" => {
            let error = record.object("error");
            let text = error.filled("message").or_else(|| record.filled("content"));
            notice(
                mapped,
                text.as_deref().unwrap_or("the model could not be reached"),
            )
        }
        "local_command"
        | "away_summary"
        | "bridge_status"
        | "model_refusal_fallback"
        | "informational" => match record.filled("content") {
            Some(text) => notice(mapped, &text),
            None => mapped,
        },
        kept if known::SYSTEM.contains(&kept) => mapped,
        _ => Mapped {
            unknown: true,
            ..mapped
        },
    }
}

fn notice(mapped: Mapped, text: &str) -> Mapped {
    mapped.means(kinds::NOTICE, &json!({ "text": text }))
}

fn progress(record: &Fields<'_>) -> Mapped {
    let data = record.object("data");
    let name = data.filled("type").unwrap_or_default();
    let mapped = Mapped::record(Some(format!("progress/{name}")));
    let call = ["parentToolUseID", "toolUseID"]
        .iter()
        .find_map(|key| record.filled(key));
    match call {
        Some(call) => mapped.means(kinds::TOOL_PROGRESS, &json!({ "call": call })),
        None => mapped,
    }
}
