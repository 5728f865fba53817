//! What the user sees.

use serde_json::json;
use sessionlog::transcript::{Title, TitleBy, Tokens, Usage, UsageMode, kinds};

use crate::import::dialect::Mapped;
use crate::import::fields::Fields;

/// Events that are kept as records: most of them mirror the conversation.
const KEPT: &[&str] = &[
    "agent_message",
    "agent_reasoning",
    "agent_reasoning_raw_content",
    "context_compacted",
    "item_completed",
    "sub_agent_activity",
    "thread_settings_applied",
    "user_message",
];

/// An `event_msg`.
pub(crate) fn event(payload: &Fields<'_>) -> Mapped {
    let kind = payload.filled("type").unwrap_or_default();
    let mapped = Mapped::record(Some(format!("event_msg/{kind}")));
    let turn = || payload.text("turn_id");
    match kind.as_str() {
        "token_count" => tokens(mapped, payload),
        "task_started" | "turn_started" => {
            mapped.means(kinds::TURN_STARTED, &json!({ "turn": turn() }))
        }
        "task_complete" | "turn_complete" => {
            let ended = json!({"turn": turn(), "outcome": "complete"});
            mapped.means(kinds::TURN_ENDED, &ended)
        }
        "turn_aborted" => {
            let reason = payload.text("reason");
            let ended = json!({"turn": turn(), "outcome": "aborted", "reason": reason});
            mapped.means(kinds::TURN_ENDED, &ended)
        }
        "thread_name_updated" => match payload.filled("thread_name") {
            Some(title) => {
                let by = TitleBy::Derived;
                mapped.means(kinds::SESSION_TITLED, &Title { title, by })
            }
            None => mapped,
        },
        "error" | "warning" | "stream_error" => {
            mapped.means(kinds::NOTICE, &json!({ "text": payload.text("message") }))
        }
        "exec_command_begin"
        | "exec_command_end"
        | "mcp_tool_call_begin"
        | "mcp_tool_call_end"
        | "patch_apply_begin"
        | "patch_apply_end"
        | "web_search_begin"
        | "web_search_end" => mapped.means(
            kinds::TOOL_PROGRESS,
            &json!({ "call": payload.text("call_id") }),
        ),
        kept if KEPT.contains(&kept) => mapped,
        _ => Mapped {
            unknown: true,
            ..mapped
        },
    }
}

/// Totals since the session began, in the provider's words: input with what was cached, output with
/// the reasoning.
fn tokens(mapped: Mapped, payload: &Fields<'_>) -> Mapped {
    let info = payload.object("info");
    if !info.has_object("total_token_usage") {
        return mapped;
    }
    let total = info.object("total_token_usage");
    let count = |name| total.number(name).unwrap_or(0);
    let cached = count("cached_input_tokens");
    let reasoning = count("reasoning_output_tokens");
    let usage = Usage {
        mode: UsageMode::Cumulative,
        tokens: Tokens {
            input: count("input_tokens").saturating_sub(cached),
            cache_read: cached,
            cache_write: 0,
            output: count("output_tokens").saturating_sub(reasoning),
            reasoning,
        },
        ..Usage::default()
    };
    mapped.means(kinds::USAGE_REPORTED, &usage)
}
