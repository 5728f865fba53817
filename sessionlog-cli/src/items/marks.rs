//! What stands for a message that has no words.

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Native<'a> {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    reasoning_content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type", default)]
    kind: String,
}

/// What a message without words holds.
pub(crate) fn mark<'a>(natives: impl IntoIterator<Item = &'a RawValue>) -> &'static str {
    let marks = natives.into_iter().map(of).collect::<Vec<_>>();
    let known = ["(image)", "(thinking)"];
    let found = known.into_iter().find(|known| marks.contains(known));
    found.unwrap_or("(no words)")
}

fn of(native: &RawValue) -> &'static str {
    let Ok(native) = serde_json::from_str::<Native<'_>>(native.get()) else {
        return "";
    };
    let blocks = native.content.map(RawValue::get);
    let blocks = blocks.and_then(|json| serde_json::from_str::<Vec<Block>>(json).ok());
    let kinds = blocks.iter().flatten().map(|block| block.kind.as_str());
    let kinds: Vec<_> = kinds.chain(native.kind.as_deref()).collect();
    let any = |of: &[&str]| kinds.iter().any(|kind| of.contains(kind));
    if any(&["image", "image_url", "input_image"]) {
        "(image)"
    } else if any(&["thinking", "redacted_thinking", "reasoning"])
        || native.reasoning_content.is_some()
    {
        "(thinking)"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wordless_messages_are_named_by_what_they_hold() {
        for (json, told) in [
            (
                r#"{"content":[{"type":"thinking","thinking":"x"}]}"#,
                "(thinking)",
            ),
            (r#"{"type":"reasoning","summary":[]}"#, "(thinking)"),
            (
                r#"{"role":"assistant","reasoning_content":"x"}"#,
                "(thinking)",
            ),
            (r#"{"content":[{"type":"image","source":{}}]}"#, "(image)"),
            (r#"{"content":[]}"#, "(no words)"),
            ("17", "(no words)"),
        ] {
            let native: &RawValue = serde_json::from_str(json).unwrap();
            assert_eq!(mark([native]), told, "{json}");
        }
    }
}
