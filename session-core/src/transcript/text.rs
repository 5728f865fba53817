//! The words of a provider's message.

use serde::Deserialize;
use serde_json::value::RawValue;

/// The words in a message of the chat, responses or Anthropic messages shape, or in a
/// list of such content: strings and text blocks, joined by newlines. Anything else gives nothing.
pub fn text_of(message: &RawValue) -> String {
    let mut out = String::new();
    gather(message, DEPTH, &mut out);
    out
}

/// Words lie no deeper than this: a message, its blocks, their content, and what is in that.
const DEPTH: usize = 8;

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default, borrow)]
    text: Option<&'a RawValue>,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
}

fn gather(value: &RawValue, depth: usize, out: &mut String) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    let json = value.get();
    match json.as_bytes().first() {
        Some(b'"') => {
            if let Ok(text) = serde_json::from_str::<String>(json) {
                if !out.is_empty() && !text.is_empty() {
                    out.push('\n');
                }
                out.push_str(&text);
            }
        }
        Some(b'[') => {
            if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(json) {
                items.iter().for_each(|item| gather(item, depth, out));
            }
        }
        Some(b'{') => {
            let Ok(block) = serde_json::from_str::<Block<'_>>(json) else {
                return;
            };
            let words = matches!(
                block.kind.as_deref(),
                None | Some("text" | "input_text" | "output_text" | "summary_text" | "message")
            );
            if words {
                block
                    .text
                    .into_iter()
                    .chain(block.content)
                    .for_each(|part| gather(part, depth, out));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_words_in_each_shape() {
        for (json, words) in [
            (r#"{"role":"user","content":"a b"}"#, "a b"),
            (
                r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"image"}]}"#,
                "a",
            ),
            (
                r#"{"type":"message","content":[{"type":"input_text","text":"x"}]}"#,
                "x",
            ),
            (
                r#"{"content":[{"type":"thinking","thinking":"no"},{"type":"text","text":"yes"}]}"#,
                "yes",
            ),
            (r#"{"content":[{"type":"tool_result","content":"no"}]}"#, ""),
            (r#"{"content":null}"#, ""),
            ("17", ""),
        ] {
            let raw: &RawValue = serde_json::from_str(json).unwrap();
            assert_eq!(text_of(raw), words, "{json}");
        }
    }
}
