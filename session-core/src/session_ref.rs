//! Which life of which session is meant.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Error, Result, SessionId};

/// One life of a session id: made anew with each create.
///
/// An id may be used again after its session was deleted; handles, leases and tokens of the
/// deleted life are refused by the later one (G17).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Incarnation(Uuid);

impl Incarnation {
    /// A fresh incarnation: a version 7 UUID, so that it also says when the session was created.
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }

    /// The 16 bytes, in network order.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// An incarnation from its 16 bytes, in network order.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Incarnation({})", self.0)
    }
}

impl FromStr for Incarnation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Uuid::from_str(text)
            .map(Self)
            .map_err(|e| Error::invalid(format!("not a UUID: {text:?}")).with_source(e))
    }
}

/// A session id together with the life that is meant. Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionRef {
    /// The name.
    pub id: SessionId,
    /// The life.
    pub incarnation: Incarnation,
}

impl SessionRef {
    /// A fresh life of `id`.
    pub fn fresh(id: SessionId) -> Self {
        Self {
            id,
            incarnation: Incarnation::generate(),
        }
    }

    /// The error for a handle of a life that has ended.
    pub fn gone(&self) -> Error {
        Error::not_found(format!(
            "the session was deleted since this handle was opened: {}",
            self.id
        ))
    }
}

impl fmt::Display for SessionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.id, f)
    }
}
