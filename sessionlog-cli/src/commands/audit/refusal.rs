//! What results of other tools' calls say of leave that was not given.

use serde::Deserialize;
use serde_json::value::RawValue;
use sessionlog::transcript::{Message, text_of};

/// Leave that was not given.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) by: Option<String>,
    pub(super) rule: Option<String>,
    /// What the person said to it, or the rule's own words.
    pub(super) words: Option<String>,
}

/// Beginnings of results, as programs write them, and who refused.
const BEGINNINGS: &[(&str, Option<&str>)] = &[
    (
        "The user doesn't want to proceed with this tool use",
        Some("person"),
    ),
    (
        "The user doesn't want to take this action right now",
        Some("person"),
    ),
    ("exec command rejected by user", Some("person")),
    ("patch rejected by user", Some("person")),
    ("user rejected MCP tool call", Some("person")),
    ("rejected by user approval settings", Some("rule")),
    ("Permission to use", Some("rule")),
    ("Claude requested permissions to", None),
];
/// Behind this stands what the person said.
const SAID: &str = "the user said:";

#[derive(Deserialize)]
struct Record {
    #[serde(rename = "toolDenialKind", default)]
    denial: Option<String>,
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    output: Option<&'a RawValue>,
    #[serde(default)]
    tool_use_id: Option<String>,
}

/// The refusal that is the result of a call, if it is one.
pub(super) fn refusal(message: &Message<'_>, call: &str) -> Option<Refusal> {
    let text = result_text(message.native()?, call)?;
    let text = text.trim_start();
    let found = BEGINNINGS
        .iter()
        .find(|(begins, _)| text.starts_with(begins));
    let record = message.record.map(RawValue::get);
    let denial = record.and_then(|json| serde_json::from_str::<Record>(json).ok());
    let denial = denial.and_then(|record| record.denial);
    if found.is_none() && denial.is_none() {
        return None;
    }
    let by = match denial.as_deref() {
        Some(kind) if kind.starts_with("user") => Some("person"),
        Some(_) => Some("rule"),
        None => found.and_then(|(_, by)| *by),
    };
    let rule = denial.filter(|kind| !kind.starts_with("user"));
    let said = text.split_once(SAID).map(|(_, said)| said);
    let told = said.or_else(|| (by == Some("rule")).then_some(text));
    let words = told.and_then(|told| told.trim().lines().next());
    Some(Refusal {
        by: by.map(ToOwned::to_owned),
        rule,
        words: words.map(ToOwned::to_owned),
    })
}

/// The words of the result of a call.
fn result_text(native: &RawValue, call: &str) -> Option<String> {
    let body: Body<'_> = serde_json::from_str(native.get()).ok()?;
    if let Some(output) = body.output {
        return Some(text_of(output));
    }
    let content = body.content?;
    let Ok(blocks) = serde_json::from_str::<Vec<&RawValue>>(content.get()) else {
        return Some(text_of(content));
    };
    let mut blocks = blocks.into_iter();
    blocks.find_map(|block| {
        let block: Body<'_> = serde_json::from_str(block.get()).ok()?;
        let own = block.tool_use_id.as_deref() == Some(call);
        block.content.filter(|_| own).map(text_of)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> Option<Refusal> {
        refusal(&serde_json::from_str(json).unwrap(), "c")
    }

    fn result(text: &str, more: &str) -> String {
        let text = serde_json::Value::from(text);
        format!(
            r#"{{"role":"user","body":"message","record":{{{more}"message":{{"content":[{{"type":"tool_result","tool_use_id":"c","content":{text}}}]}}}}}}"#
        )
    }

    fn told(by: Option<&str>, rule: Option<&str>, words: Option<&str>) -> Option<Refusal> {
        let own = |text: Option<&str>| text.map(ToOwned::to_owned);
        let (by, rule, words) = (own(by), own(rule), own(words));
        Some(Refusal { by, rule, words })
    }

    #[test]
    fn who_refused_is_told_by_the_words_of_the_program() {
        let no = "The user doesn't want to proceed with this tool use. The tool use was rejected";
        assert_eq!(of(&result(no, "")), told(Some("person"), None, None));
        let said = format!("{no}. To tell you how to proceed, the user said:\nuse git mv\n");
        assert_eq!(
            of(&result(&said, r#""toolDenialKind":"user-rejected","#)),
            told(Some("person"), None, Some("use git mv"))
        );
        assert_eq!(
            of(&result("no", r#""toolDenialKind":"automode-unavailable","#)),
            told(Some("rule"), Some("automode-unavailable"), Some("no"))
        );
        let output = r#"{"role":"tool","body":"payload","record":{"payload":{"type":"function_call_output","call_id":"c","output":"exec command rejected by user"}}}"#;
        assert_eq!(of(output), told(Some("person"), None, None));
        // What a file says is no refusal.
        assert_eq!(
            of(&result("grep: The user doesn't want to proceed", "")),
            None
        );
    }
}
