//! Positions.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The position of an event in its session: dense, from 0, given by the store (G1).
///
/// Ranges of positions are half-open, `a..b`. The *tail* of a session is the position that its
/// next event will get; a tail of 0 means that nothing was written yet.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct SeqNum(u64);

impl SeqNum {
    /// The first position.
    pub const ZERO: Self = Self(0);
    /// Behind every position: `SeqNum::ZERO..SeqNum::MAX` is a whole log.
    pub const MAX: Self = Self(u64::MAX);

    /// Position `n`.
    pub const fn new(n: u64) -> Self {
        Self(n)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The position `n` behind this one; stays at [`MAX`](Self::MAX).
    #[must_use]
    pub const fn plus(self, n: u64) -> Self {
        Self(self.0.saturating_add(n))
    }

    /// The position `n` before this one; stays at [`ZERO`](Self::ZERO).
    #[must_use]
    pub const fn minus(self, n: u64) -> Self {
        Self(self.0.saturating_sub(n))
    }

    /// A whole log.
    pub const fn all() -> Range<Self> {
        Self::ZERO..Self::MAX
    }
}

/// How many positions a range holds; 0 for one that is empty or upside down.
pub fn span(range: &Range<SeqNum>) -> u64 {
    range.end.0.saturating_sub(range.start.0)
}

impl fmt::Display for SeqNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl From<u64> for SeqNum {
    fn from(n: u64) -> Self {
        Self(n)
    }
}

impl FromStr for SeqNum {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let n = text.parse().map_err(|e| {
            Error::invalid(format!("not a position, a whole number from 0: {text:?}"))
                .with_source(e)
        })?;
        Ok(Self(n))
    }
}
