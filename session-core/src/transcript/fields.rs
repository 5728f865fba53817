//! JSON read one level at a time, each value still as it was written.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The fields of a JSON object, in order. Of several with one name the last counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields<'a>(pub(super) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// The fields of an object; none for any other value.
    pub(super) fn of(value: &'a RawValue) -> Self {
        serde_json::from_str(value.get()).unwrap_or_default()
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        let found = self.0.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| *value)
    }

    /// The text of a field; `None` if there is none, or one that is half a character.
    pub(super) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        string(self.get(name)?)
    }

    /// The items of a field that is an array.
    pub(super) fn items(&self, name: &str) -> Vec<&'a RawValue> {
        self.get(name).and_then(items).unwrap_or_default()
    }

    /// Whether every field has one of these names.
    pub(super) fn only(&self, names: &[&str]) -> bool {
        self.0.iter().all(|(key, _)| names.contains(&&**key))
    }

    /// The object as it was, but for one field.
    pub(super) fn with(&self, name: &str, value: &str) -> String {
        let mut out = String::from("{");
        for (key, old) in &self.0 {
            let new = if key == name { value } else { old.get() };
            push_field(&mut out, key, new);
        }
        if self.get(name).is_none() {
            push_field(&mut out, name, value);
        }
        out.push('}');
        out
    }
}

/// Writes a field behind those that are there.
pub(super) fn push_field(out: &mut String, key: &str, json: &str) {
    if !out.ends_with('{') {
        out.push(',');
    }
    out.push_str(&quote(key));
    out.push(':');
    out.push_str(json);
}

/// A text as a JSON string.
pub(super) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The text of a JSON string.
pub(super) fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    if !value.get().starts_with('"') {
        return None;
    }
    let text: Text<'_> = serde_json::from_str(value.get()).ok()?;
    Some(text.0)
}

/// The items of a JSON array.
pub(super) fn items(value: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(value.get()).ok()
}

/// The value of one field of an object, found without keeping the others.
pub(super) fn find<'a>(value: &'a RawValue, key: &str) -> Option<&'a RawValue> {
    struct One<'k>(&'k str);

    impl<'de> Visitor<'de> for One<'_> {
        type Value = Option<&'de RawValue>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = None;
            while let Some(Key(key)) = map.next_key()? {
                if key == self.0 {
                    found = Some(map.next_value()?);
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(found)
        }
    }

    let mut json = serde_json::Deserializer::from_str(value.get());
    json.deserialize_map(One(key)).ok().flatten()
}

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Gather;

        impl<'de> Visitor<'de> for Gather {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::with_capacity(8);
                while let Some(Key(key)) = map.next_key()? {
                    all.push((key, map.next_value()?));
                }
                Ok(all)
            }
        }

        deserializer.deserialize_map(Gather).map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> &RawValue {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn fields_keep_their_bytes() {
        let it = Fields::of(raw(r#"{"a": 1e400,"b":{"c":"x"},"a":"\ud800"}"#));
        assert_eq!(it.get("a").unwrap().get(), r#""\ud800""#);
        assert_eq!(it.text("a"), None);
        assert_eq!(it.with("b", "2"), r#"{"a":1e400,"b":2,"a":"\ud800"}"#);
        assert!(it.only(&["a", "b"]) && !it.only(&["a"]));
        assert!(Fields::of(raw("[1]")).0.is_empty());
        assert_eq!(find(raw(r#"{"a":1,"b":[2]}"#), "b").unwrap().get(), "[2]");
        assert!(find(raw("[]"), "b").is_none());
    }
}
