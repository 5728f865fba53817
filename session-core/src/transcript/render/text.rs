//! Text inside JSON.

/// JSON without lone surrogate escapes, which no API takes, and whether there were any.
pub(super) fn well_formed(json: String) -> (String, bool) {
    if !may_be_half(&json) {
        return (json, false);
    }
    let mut out = String::with_capacity(json.len());
    let mut changed = false;
    let mut rest = json.as_str();
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let taken = match unit(escape) {
            Some(0xd800..=0xdbff) => {
                let low = escape.get(6..).and_then(unit);
                if matches!(low, Some(0xdc00..=0xdfff)) {
                    12
                } else {
                    0
                }
            }
            Some(0xdc00..=0xdfff) => 0,
            Some(_) => 6,
            None => 2,
        };
        if taken == 0 {
            changed = true;
            out.push_str("\\ufffd");
            rest = escape.get(6..).unwrap_or_default();
        } else {
            out.push_str(escape.get(..taken).unwrap_or(escape));
            rest = escape.get(taken..).unwrap_or_default();
        }
    }
    out.push_str(rest);
    (out, changed)
}

/// Whether there are escapes of surrogates.
pub(super) fn may_be_half(json: &str) -> bool {
    json.contains("\\ud") || json.contains("\\uD")
}

/// The UTF-16 unit of an escape `\uXXXX` at the beginning.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

/// JSON strings joined to one, each as it was written.
pub(super) fn joined<'a>(strings: impl Iterator<Item = &'a str>) -> String {
    let mut out = String::from("\"");
    for string in strings {
        let inside = string.strip_prefix('"').and_then(|s| s.strip_suffix('"'));
        out.push_str(inside.unwrap_or_default());
    }
    out.push('"');
    out
}

/// A block of text of the chat and Anthropic shapes.
pub(super) fn block(string: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{string}}}")
}

/// An array of JSON values.
pub(super) fn array<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<&str> = values.collect();
    format!("[{}]", all.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_characters_are_replaced_and_whole_ones_are_not() {
        for (json, fixed) in [
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\uDE00 \\ud800 \n""#, r#""\ufffd \\ud800 \n""#),
            (r#""\ud83d\ud83d\ude00é""#, r#""\ufffd\ud83d\ude00é""#),
        ] {
            let (out, changed) = well_formed(json.to_owned());
            assert_eq!(out, fixed);
            assert_eq!(changed, json != fixed);
            assert!(serde_json::from_str::<String>(&out).is_ok());
        }
        assert_eq!(
            joined(["\"a\"", "\"\"", "\"b\\n\""].into_iter()),
            "\"ab\\n\""
        );
    }
}
