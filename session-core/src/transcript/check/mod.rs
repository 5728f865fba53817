//! What model APIs accept, written down by their rules and not by how replay meets them.
//!
//! Each function reads messages as they would be sent and gives the first rule that they break. An
//! empty list breaks none: there is nothing to send yet.

mod anthropic;
mod chat;
mod responses;

use std::fmt;

use serde_json::value::RawValue;

use super::Dialect;

pub use anthropic::anthropic;
pub use chat::chat;
pub use responses::responses;

/// A rule that is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// The message, from 0.
    pub message: usize,
    /// The rule, as it should be.
    pub rule: &'static str,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message {}: {}", self.message, self.rule)
    }
}

impl std::error::Error for Breach {}

/// Checks messages by the rules of a dialect.
///
/// # Errors
/// The first rule that is broken.
pub fn check(dialect: Dialect, messages: &[Box<RawValue>]) -> Result<(), Breach> {
    match dialect {
        Dialect::Anthropic => anthropic(messages),
        Dialect::Chat => chat(messages),
        Dialect::Responses => responses(messages),
    }
}

fn require(holds: bool, message: usize, rule: &'static str) -> Result<(), Breach> {
    if holds {
        Ok(())
    } else {
        Err(Breach { message, rule })
    }
}

/// Whether the JSON text can be read as characters: no half of a surrogate pair anywhere.
fn is_text(json: &RawValue) -> bool {
    let mut rest = json.get();
    let mut high = false;
    while let Some(at) = rest.find('\\') {
        if high && at > 0 {
            return false;
        }
        let escape = rest.get(at..).unwrap_or_default();
        let unit = escape.strip_prefix("\\u").and_then(|hex| hex.get(..4));
        let unit = unit.and_then(|hex| u16::from_str_radix(hex, 16).ok());
        let low = matches!(unit, Some(0xdc00..=0xdfff));
        if low != high {
            return false;
        }
        high = matches!(unit, Some(0xd800..=0xdbff));
        rest = escape
            .get(if unit.is_some() { 6 } else { 2 }..)
            .unwrap_or_default();
    }
    !high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breach(dialect: Dialect, json: &str) -> Option<Breach> {
        let messages: Vec<Box<RawValue>> = serde_json::from_str(json).unwrap();
        check(dialect, &messages).err()
    }

    #[test]
    fn the_rules_of_anthropic_messages() {
        let at = |json: &str| breach(Dialect::Anthropic, json).map(|b| b.message);
        let user = r#"{"role":"user","content":"go"}"#;
        let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}}]}"#;
        let result =
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}"#;
        assert_eq!(at("[]"), None);
        assert_eq!(at(&format!("[{user},{call},{result}]")), None);
        assert_eq!(at(&format!("[{user},{call},{result},{user},{user}]")), None);
        for (bad, message) in [
            (format!("[{call},{result}]"), 0),
            (format!("[{user},{call}]"), 1),
            (format!("[{user},{call},{user}]"), 2),
            (format!("[{user},{call},{user},{result}]"), 2),
            (format!("[{user},{result}]"), 1),
            (format!("[{user},{call},{result},{result}]"), 3),
            (format!("[{user},{call},{result},{call},{result}]"), 3),
            (r#"[{"role":"user","content":""}]"#.into(), 0),
            (r#"[{"role":"user","content":[]}]"#.into(), 0),
            (
                r#"[{"role":"user","content":[{"type":"text","text":" "}]}]"#.into(),
                0,
            ),
            (r#"[{"role":"system","content":"x"}]"#.into(), 0),
            (r#"[{"role":"user","content":"\ud800"}]"#.into(), 0),
            (
                format!(
                    r#"[{user},{{"role":"assistant","content":[{{"type":"thinking","thinking":"x"}}]}}]"#
                ),
                1,
            ),
        ] {
            assert_eq!(at(&bad), Some(message), "{bad}");
        }
    }

    #[test]
    fn the_rules_of_chat_completions() {
        let at = |json: &str| breach(Dialect::Chat, json).map(|b| b.message);
        let user = r#"{"role":"user","content":"go"}"#;
        let call = |ids: &[&str]| {
            let calls: Vec<_> = ids.iter().map(|id| format!(
                r#"{{"id":"{id}","type":"function","function":{{"name":"t","arguments":"{{}}"}}}}"#
            )).collect();
            format!(
                r#"{{"role":"assistant","content":null,"tool_calls":[{}]}}"#,
                calls.join(",")
            )
        };
        let tool = |id: &str| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"x"}}"#);
        let (ab, a, b) = (call(&["a", "b"]), tool("a"), tool("b"));
        assert_eq!(
            at(&format!("[{user},{ab},{a},{b},{ab},{a},{b},{user}]")),
            None
        );
        for (bad, message) in [
            (format!("[{user},{ab},{b},{a}]"), 2),
            (format!("[{user},{ab},{a}]"), 2),
            (format!("[{user},{ab},{a},{user},{b}]"), 3),
            (format!("[{user},{ab},{a},{b},{b}]"), 4),
            (format!("[{user},{a}]"), 1),
            (format!("[{},{a}]", call(&[])), 0),
            (format!("[{},{a},{a}]", call(&["a", "a"])), 0),
            (format!("[{},{}]", call(&[""]), tool("")), 0),
            (r#"[{"role":"assistant","content":null}]"#.into(), 0),
            (r#"[{"role":"robot","content":"x"}]"#.into(), 0),
        ] {
            assert_eq!(at(&bad), Some(message), "{bad}");
        }
    }

    #[test]
    fn the_rules_of_responses() {
        let at = |json: &str| breach(Dialect::Responses, json).map(|b| b.message);
        let call = r#"{"type":"function_call","call_id":"a","name":"t","arguments":"{}"}"#;
        let output = r#"{"type":"function_call_output","call_id":"a","output":"x"}"#;
        assert_eq!(at(&format!("[{call},{output}]")), None);
        assert_eq!(at(&format!("[{output},{call}]")), Some(0));
        assert_eq!(at(&format!("[{call}]")), Some(0));
        assert_eq!(at(&format!("[{call},{output},{output}]")), Some(2));
    }
}
