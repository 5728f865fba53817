//! What sort of event an event is.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The kind of an event: dotted lower-case words, such as `message` or `permission.requested`.
///
/// 1 to 64 bytes of `a-z 0-9 _ .`; no word is empty and each starts with a letter. The standard
/// kinds are listed in `transcript`; every other kind is as good: it is kept, replayed over and
/// exported unchanged. Cloning is cheap.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Kind(Text);

#[derive(Clone)]
enum Text {
    Static(&'static str),
    Shared(Arc<str>),
}

impl Kind {
    /// The longest kind, in bytes.
    pub const MAX_LEN: usize = 64;

    /// Checks `text` and makes a kind of it.
    ///
    /// # Errors
    /// `InvalidInput` if the text is not dotted lower-case words.
    pub fn new(text: &str) -> Result<Self> {
        check(text)?;
        Ok(Self(Text::Shared(text.into())))
    }

    /// A kind known when the program is compiled.
    ///
    /// # Panics
    /// When evaluated in a constant, compilation fails if the text is not a kind.
    pub const fn from_static(text: &'static str) -> Self {
        assert!(
            is_kind(text.as_bytes()),
            "a kind is dotted lower-case words of at most 64 bytes"
        );
        Self(Text::Static(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Static(text) => text,
            Text::Shared(text) => text,
        }
    }
}

const fn is_kind(text: &[u8]) -> bool {
    if text.is_empty() || text.len() > Kind::MAX_LEN {
        return false;
    }
    let mut rest = text;
    let mut at_start = true;
    while let [byte, behind @ ..] = rest {
        match *byte {
            b'a'..=b'z' => at_start = false,
            b'0'..=b'9' | b'_' if !at_start => {}
            b'.' if !at_start => at_start = true,
            _ => return false,
        }
        rest = behind;
    }
    !at_start
}

fn check(text: &str) -> Result<()> {
    if is_kind(text.as_bytes()) {
        Ok(())
    } else {
        Err(Error::invalid(format!(
            "not a kind, which is dotted words of a-z 0-9 _ that start with a letter, \
             at most {} bytes: {text:?}",
            Kind::MAX_LEN
        )))
    }
}

/// Kinds met by one reader, so that a kind is checked and allocated once and not once an event.
#[derive(Debug, Default)]
pub struct Kinds(Vec<Kind>);

impl Kinds {
    /// The kind with this text; `None` if the text is not a kind.
    pub fn intern(&mut self, text: &[u8]) -> Option<Kind> {
        if let Some(at) = self.0.iter().position(|k| k.as_str().as_bytes() == text) {
            if at > 0 {
                self.0.swap(at, at - 1);
            }
            return self.0.get(at.saturating_sub(1)).cloned();
        }
        let kind = Kind::new(std::str::from_utf8(text).ok()?).ok()?;
        if self.0.len() < 64 {
            self.0.push(kind.clone());
        }
        Some(kind)
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Kind {}

impl PartialEq<str> for Kind {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Kind {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialOrd for Kind {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Kind {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for Kind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kind({:?})", self.as_str())
    }
}

impl FromStr for Kind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::new(text)
    }
}

impl TryFrom<String> for Kind {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        Self::new(&text)
    }
}

impl From<Kind> for String {
    fn from(kind: Kind) -> Self {
        kind.as_str().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dotted_lower_case_words_are_kinds() {
        for good in ["message", "permission.requested", "a1.b_2", &"a".repeat(64)] {
            assert!(Kind::new(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "A",
            "1a",
            "a-b",
            "a b",
            "ä",
            &"a".repeat(65),
        ] {
            assert!(Kind::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn interned_kinds_are_the_ones_asked_for() {
        let mut kinds = Kinds::default();
        for _ in 0..3 {
            for text in ["a", "b", "c", "b"] {
                assert_eq!(kinds.intern(text.as_bytes()).unwrap(), text);
            }
        }
        assert_eq!(kinds.intern(b"Not A Kind"), None);
    }
}
