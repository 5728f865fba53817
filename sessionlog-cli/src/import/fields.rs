//! A JSON object as its fields, each still as it was written.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use sessionlog::Timestamp;

/// The fields of a JSON object. Of several with one name the last counts.
///
/// A record is read one level at a time, and only where something is wanted, so that odd values
/// anywhere else do no harm.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// The fields of an object; none for any other value.
    pub(crate) fn of(value: &'a RawValue) -> Self {
        serde_json::from_str(value.get()).unwrap_or_default()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        let found = self.0.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| *value)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Whether there is an object of this name.
    pub(crate) fn has_object(&self, name: &str) -> bool {
        self.get(name).is_some_and(|v| v.get().starts_with('{'))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| &**key)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields of an object inside; none if it is no object.
    pub(crate) fn object(&self, name: &str) -> Fields<'a> {
        self.get(name).map(Self::of).unwrap_or_default()
    }

    /// The items of an array inside; none if it is no array.
    pub(crate) fn items(&self, name: &str) -> Vec<&'a RawValue> {
        self.get(name)
            .and_then(|value| serde_json::from_str(value.get()).ok())
            .unwrap_or_default()
    }

    pub(crate) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        text(self.get(name)?)
    }

    /// A text that says something.
    pub(crate) fn filled(&self, name: &str) -> Option<String> {
        let text = self.text(name)?;
        (!text.is_empty()).then(|| text.into_owned())
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    pub(crate) fn float(&self, name: &str) -> Option<f64> {
        let number: f64 = serde_json::from_str(self.get(name)?.get()).ok()?;
        number.is_finite().then_some(number)
    }

    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.get() == "true")
    }

    /// A time as RFC 3339 text, or as a number of seconds, milliseconds, … since 1970.
    pub(crate) fn time(&self, name: &str) -> Option<Timestamp> {
        match self.text(name) {
            Some(text) => text.parse().ok(),
            None => epoch(self.float(name)?),
        }
    }
}

/// The text of a JSON string.
pub(crate) fn text(value: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    if !value.get().starts_with('"') {
        return None;
    }
    serde_json::from_str::<Text<'_>>(value.get())
        .ok()
        .map(|text| text.0)
}

/// The unit is told by the size: a number of seconds stays below 10^11 until the year 5138.
fn epoch(number: f64) -> Option<Timestamp> {
    let micros = match number.abs() {
        n if n < 1e11 => number * 1e6,
        n if n < 1e14 => number * 1e3,
        n if n < 1e17 => number,
        _ => number / 1e3,
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float outside the range saturates, and is then no time"
    )]
    Timestamp::from_micros(micros as i64)
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Gather;

        impl<'de> Visitor<'de> for Gather {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                #[derive(Deserialize)]
                struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
                let mut all = Vec::with_capacity(16);
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

    fn fields(text: &str) -> Fields<'_> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_last_of_two_fields_counts_and_odd_values_do_no_harm() {
        let it = fields(r#"{"a":1,"b":{"c":"x\ny"},"a":2,"d":1e400,"e":"\ud800"}"#);
        assert_eq!(it.number("a"), Some(2));
        assert_eq!(it.object("b").text("c").unwrap(), "x\ny");
        assert_eq!(it.float("d"), None);
        assert_eq!(it.text("e"), None);
        assert!(it.has_object("b") && !it.has_object("a"));
        assert!(serde_json::from_str::<Fields<'_>>("[1]").is_err());
    }

    #[test]
    fn times_come_in_all_units() {
        let it = fields(
            r#"{"a":"2026-05-04T08:00:00.1Z","s":1777881600.1,"ms":1777881600100,
                "us":1777881600100000,"no":"yesterday"}"#,
        );
        let at = it.time("a").unwrap();
        for unit in ["s", "ms", "us"] {
            assert_eq!(it.time(unit), Some(at), "{unit}");
        }
        assert_eq!(it.time("no"), None);
        assert_eq!(it.time("none"), None);
    }
}
