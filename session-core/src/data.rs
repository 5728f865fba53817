//! The payload of an event: JSON text that is checked once and never rewritten.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Error, Result};

/// JSON text, carried as bytes: what comes out is byte-equal to what went in (G4).
///
/// It is checked once, when it is made: one JSON value as of RFC 8259, in UTF-8, with any
/// white space, any nesting, numbers of any size, duplicate keys and lone surrogate escapes.
/// `NaN`, a byte order mark and control characters inside strings are not JSON. Nothing is ever
/// parsed to be stored, read, sliced or copied. Cloning is cheap.
///
/// ```
/// use sessionlog_core::Data;
///
/// let data = Data::from_json(r#"{ "n": 1e400 }"#)?;
/// assert_eq!(data.as_bytes(), br#"{ "n": 1e400 }"#);
/// let error = Data::from_json("{\"a\": NaN}").unwrap_err();
/// assert!(error.to_string().contains("line 1 column 7"));
/// # Ok::<(), sessionlog_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Data(Bytes);

impl Data {
    /// Checks JSON text and takes it as it is. Cost: one pass over the text.
    ///
    /// # Errors
    /// `InvalidInput` with line and column if it is not one JSON value in UTF-8.
    pub fn from_json(text: impl Into<Bytes>) -> Result<Self> {
        let text = text.into();
        check(&text)?;
        Ok(Self(text))
    }

    /// Writes a value as compact JSON.
    ///
    /// # Errors
    /// `InvalidInput` if the value can't be written as JSON (a map with keys that are not
    /// strings, say).
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let text = serde_json::to_vec(value)
            .map_err(|e| Error::invalid("the value can't be written as JSON").with_source(e))?;
        Ok(Self(text.into()))
    }

    /// Takes text from storage without a check.
    ///
    /// For backends alone: the text was checked before it was stored, and the checksum of the
    /// event, which the core verifies on every read, says whether it still is that text.
    pub fn from_stored(text: Bytes) -> Self {
        Self(text)
    }

    /// The text as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text as shared bytes.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// The text. Borrowed, but for a log forged with text that is not UTF-8.
    pub fn as_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Never true for data that was checked.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Parses the text into a type.
    ///
    /// # Errors
    /// `InvalidInput` if the text does not fit the type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.0).map_err(|e| {
            Error::invalid("the payload does not fit the type that was asked for").with_source(e)
        })
    }

    /// Parses the text into a type that borrows from it.
    ///
    /// # Errors
    /// `InvalidInput` if the text does not fit the type.
    pub fn view<'a, T: Deserialize<'a>>(&'a self) -> Result<T> {
        serde_json::from_slice(&self.0).map_err(|e| {
            Error::invalid("the payload does not fit the type that was asked for").with_source(e)
        })
    }
}

fn check(text: &[u8]) -> Result<()> {
    let utf8 = std::str::from_utf8(text).map_err(|e| {
        let before = text.get(..e.valid_up_to()).unwrap_or_default();
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|b| **b != b'\n').count() + 1;
        Error::invalid(format!(
            "not JSON: invalid UTF-8 at line {line} column {column}"
        ))
    })?;
    serde_json::from_str::<&RawValue>(utf8)
        .map(drop)
        .map_err(|e| Error::invalid(format!("not JSON: {e}")))
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.as_text();
        match text.char_indices().nth(200) {
            Some((cut, _)) => {
                write!(
                    f,
                    "{}… ({} bytes)",
                    text.get(..cut).unwrap_or_default(),
                    text.len()
                )
            }
            None => f.write_str(&text),
        }
    }
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.as_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_json_round_trips_byte_for_byte() {
        let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
        for text in [
            "null",
            " 1 ",
            "{}",
            "-0",
            "1e400",
            "9007199254740993",
            "18446744073709551615",
            r#""\ud800""#,
            r#""\u0000""#,
            "\"\u{2028}\u{e000}\"",
            r#"{"a":1,"a":2}"#,
            "{\n  \"a\": [1,\r\n\t2]\n}",
            &deep,
        ] {
            assert_eq!(
                Data::from_json(text.to_owned()).unwrap().as_bytes(),
                text.as_bytes()
            );
        }
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_place() {
        for (text, place) in [
            (&b""[..], "line 1 column 0"),
            (b"\xef\xbb\xbf{}", "line 1 column 1"),
            (b"{\"a\":\n NaN}", "line 2 column 2"),
            (b"[Infinity]", "line 1 column 2"),
            (b"{}{}", "line 1 column 3"),
            (b"\"\x01\"", "line 1 column 1"),
            (b"\"a\xff\"", "line 1 column 3"),
            (b"[1,]", "line 1 column 4"),
        ] {
            let error = Data::from_json(text).unwrap_err();
            assert!(error.to_string().contains(place), "{error} / {place}");
        }
    }
}
