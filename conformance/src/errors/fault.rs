//! When a disk fails, in words and as a part of a saved failure.

use std::fmt;

use serde::{Deserialize, Serialize};
use sessionlog_crashfs::{Fault, FaultKind};

use crate::breach::{End, Held};

/// When a disk fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FaultAt {
    /// How: the name of a kind.
    pub(crate) kind: String,
    /// At which of the calls that can fail so, from 1.
    pub(crate) at: u64,
    /// Whether every later one fails as well.
    pub(crate) lasting: bool,
    /// The end of the process before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) behind: Option<Kill>,
}

/// A process that was killed in the middle of the same steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kill {
    /// How many of its calls were made.
    pub(crate) call: usize,
    /// Whether the next one sends again what was under way, or looks whether it was done.
    pub(crate) again: bool,
}

impl FaultAt {
    pub(super) fn new(kind: FaultKind, at: u64, lasting: bool) -> Self {
        let kind = format!("{kind:?}");
        Self {
            kind,
            at,
            lasting,
            behind: None,
        }
    }

    pub(super) fn behind(self, kill: Kill) -> Self {
        let behind = Some(kill);
        Self { behind, ..self }
    }

    pub(super) fn fault(&self) -> Held<Fault> {
        let known = FaultKind::ALL.into_iter();
        let kind = known.into_iter().find(|k| format!("{k:?}") == self.kind);
        let kind = kind.ok_or_else(|| End::Broken("no such fault to replay".into()))?;
        Ok(Fault {
            kind,
            at: self.at,
            lasting: self.lasting,
        })
    }
}

impl fmt::Display for FaultAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lasting = if self.lasting {
            " and all later ones"
        } else {
            ""
        };
        write!(f, "{} at call {}{lasting}", self.kind, self.at)?;
        let Some(Kill { call, again }) = self.behind else {
            return Ok(());
        };
        let then = if again {
            "sends again what was under way"
        } else {
            "looks what was done"
        };
        write!(
            f,
            ", of a process that {then} behind one that was killed after {call} calls"
        )
    }
}
