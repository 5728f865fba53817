//! Names of sessions.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The name of a session: 1 to 128 bytes of `A-Z a-z 0-9 . _ -`, not starting with a dot or a
/// dash.
///
/// Such a name is safe in a file name, an object key and a URL. Names that differ by case are
/// different sessions, on file systems that ignore case as well: backends map them without
/// collision. Cloning is cheap.
///
/// ```
/// use sessionlog_core::SessionId;
///
/// let id: SessionId = "2026-05-04-ab12cd".parse()?;
/// assert_eq!(id.as_str(), "2026-05-04-ab12cd");
/// assert!("../escape".parse::<SessionId>().is_err());
/// # Ok::<(), sessionlog_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// The longest name, in bytes.
    pub const MAX_LEN: usize = 128;

    /// Checks `name` and makes an id of it.
    ///
    /// # Errors
    /// `InvalidInput` with the first thing that is wrong with the name.
    pub fn new(name: &str) -> Result<Self> {
        let refuse = |why: String| Err(Error::invalid(format!("session id {why}: {name:?}")));
        match name.as_bytes() {
            [] => refuse("is empty".into()),
            bytes if bytes.len() > Self::MAX_LEN => refuse(format!(
                "has {} bytes, at most {} are allowed",
                bytes.len(),
                Self::MAX_LEN
            )),
            [b'.' | b'-', ..] => refuse("starts with a dot or a dash".into()),
            bytes => match bytes.iter().position(|b| !allowed(*b)) {
                Some(at) => refuse(format!(
                    "has a character at byte {at} that is not one of A-Z a-z 0-9 . _ -"
                )),
                None => Ok(Self(name.into())),
            },
        }
    }

    /// A fresh id: a version 7 UUID, so that ids sort by the time of their making.
    pub fn generate() -> Self {
        Self(uuid::Uuid::now_v7().to_string().into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({:?})", &*self.0)
    }
}

impl FromStr for SessionId {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::new(name)
    }
}

impl TryFrom<String> for SessionId {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        Self::new(&name)
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.as_str().to_owned()
    }
}

impl Borrow<str> for SessionId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for SessionId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_the_store_are_refused() {
        for bad in [
            "", ".", "..", "../x", "a/b", "a\\b", "-rf", "ä", "a b", "a\0", "a:b", "a%2f",
        ] {
            assert!(SessionId::new(bad).is_err(), "{bad:?}");
        }
        assert!(SessionId::new(&"x".repeat(129)).is_err());
        for good in ["x", "con", "A.b_c-9", &"x".repeat(128)] {
            assert_eq!(SessionId::new(good).unwrap().as_str(), good);
        }
    }
}
