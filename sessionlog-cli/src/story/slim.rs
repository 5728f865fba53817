//! Messages without the bulk of their words.

use sessionlog::{Data, Event};

/// Payloads up to this size stay as they are.
const SMALL: usize = 1 << 10;
/// Strings up to this length stay.
const SHORT: usize = 256;

/// The event with each long string of its payload replaced: who says something, calls and answers
/// stay, so that it has the same place in the conversation.
pub(crate) fn slim(event: &Event) -> Event {
    let mut event = event.clone();
    if event.data.len() > SMALL
        && let Ok(data) = Data::from_json(shortened(event.data.as_bytes()))
    {
        event.data = data;
    }
    event
}

fn shortened(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(SMALL);
    let mut rest = json;
    while let Some(at) = memchr::memchr(b'"', rest) {
        let (before, string) = rest.split_at(at);
        out.extend_from_slice(before);
        let (string, behind) = string.split_at(length(string));
        if string.len() > SHORT {
            out.extend_from_slice("\"…\"".as_bytes());
        } else {
            out.extend_from_slice(string);
        }
        rest = behind;
    }
    out.extend_from_slice(rest);
    out
}

/// The length of the string that a text begins with, quotes included.
fn length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(rest) = text.get(at..)
        && let Some(found) = memchr::memchr2(b'"', b'\\', rest)
    {
        if rest.get(found) == Some(&b'"') {
            return at + found + 1;
        }
        at += found + 2;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> String {
        String::from_utf8(shortened(json.as_bytes())).unwrap()
    }

    #[test]
    fn only_long_strings_are_shortened() {
        let long = "x".repeat(300);
        for (json, slim) in [
            (
                format!(r#"{{"a":"{long}","b":[1,"c"]}}"#),
                r#"{"a":"…","b":[1,"c"]}"#,
            ),
            (format!(r#"["{long}\"\\",2]"#), r#"["…",2]"#),
            (
                r#"{"a":"b\"\\","c":"\\"}"#.to_owned(),
                r#"{"a":"b\"\\","c":"\\"}"#,
            ),
            ("17".to_owned(), "17"),
        ] {
            assert_eq!(of(&json), slim);
        }
    }
}
