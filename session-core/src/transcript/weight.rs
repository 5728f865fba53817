//! How much was folded since the last snapshot.

use serde::{Deserialize, Serialize};

/// Bytes of payload that were folded in, in all and before the snapshot that the state is from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub(super) struct Weight {
    all: u64,
    saved: u64,
}

impl From<u64> for Weight {
    fn from(all: u64) -> Self {
        Self { all, saved: all }
    }
}

impl From<Weight> for u64 {
    fn from(weight: Weight) -> Self {
        weight.all
    }
}

impl Weight {
    pub(super) fn add(&mut self, bytes: usize) {
        self.all = self.all.saturating_add(bytes as u64);
    }

    /// Bytes behind the last snapshot.
    pub(super) fn behind(self) -> u64 {
        self.all - self.saved
    }

    /// A snapshot was made of all of it.
    pub(super) fn saved(&mut self) {
        self.saved = self.all;
    }
}
