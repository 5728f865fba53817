//! A payload in a few words.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use sessionlog::Data;

/// Payloads that are longer are not looked into.
const SMALL: usize = 64 << 10;

/// The beginning of a payload, at most `room` characters of it.
///
/// Of an imported event, where it comes from and the record that it was made of are left out, if
/// there is anything else.
pub(crate) fn brief(data: &Data, room: usize) -> String {
    let own = (data.len() <= SMALL).then(|| own_fields(data)).flatten();
    let text = own.as_deref().unwrap_or(data.as_bytes());
    // A payload of megabytes is not looked at beyond what can be shown.
    let head = String::from_utf8_lossy(text.get(..room * 4).unwrap_or(text));
    let mut chars = head.chars();
    let mut shown: String = chars.by_ref().take(room).collect();
    if chars.next().is_some() || text.len() > room * 4 {
        shown.push('…');
    }
    shown
}

/// The payload without `source` and `record`; `None` if they are all that it has, or if it has
/// neither.
fn own_fields(data: &Data) -> Option<Vec<u8>> {
    let mut fields = serde_json::Deserializer::from_slice(data.as_bytes());
    fields.deserialize_map(Own).ok().flatten()
}

struct Own;

impl<'de> Visitor<'de> for Own {
    type Value = Option<Vec<u8>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut own = vec![b'{'];
        let mut imported = false;
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if matches!(&*key, "source" | "record") {
                map.next_value::<IgnoredAny>()?;
                imported = true;
                continue;
            }
            let value = map.next_value::<&'de RawValue>()?;
            if own.len() > 1 {
                own.push(b',');
            }
            own.extend_from_slice(serde_json::to_string(&key).unwrap_or_default().as_bytes());
            own.push(b':');
            own.extend_from_slice(value.get().as_bytes());
        }
        own.push(b'}');
        Ok((imported && own.len() > 2).then_some(own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        brief(&Data::from_json(text.to_owned()).unwrap(), 20)
    }

    #[test]
    fn what_an_import_adds_is_left_out() {
        assert_eq!(
            of(r#"{"source":{"line":1},"b":1, "a" : [2],"record":{}}"#),
            r#"{"b":1,"a":[2]}"#
        );
        assert_eq!(of(r#"{"record":{"a":1}}"#), r#"{"record":{"a":1}}"#);
        assert_eq!(of(r#"{ "a": 1 }"#), r#"{ "a": 1 }"#);
        assert_eq!(of("17"), "17");
        assert_eq!(of(r#"{"a":"\ud800","source":1}"#), r#"{"a":"\ud800"}"#);
    }

    #[test]
    fn long_payloads_are_cut_at_a_character() {
        assert_eq!(
            of(&format!("\"{}\"", "漢".repeat(19))),
            format!("\"{}…", "漢".repeat(19))
        );
        assert_eq!(
            of(&format!("\"{}\"", "漢".repeat(18))),
            format!("\"{}\"", "漢".repeat(18))
        );
        assert_eq!(
            of(&format!("\"{}\"", "x".repeat(100_000))).chars().count(),
            21
        );
    }
}
