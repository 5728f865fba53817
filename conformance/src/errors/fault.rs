//! When a disk fails, in words and as a part of a saved failure.

use std::fmt;

use serde::{Deserialize, Serialize};
use sessionlog_crashfs::{Fault, FaultKind, Recorder};

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
    /// At which of the calls behind it a second one fails, with an I/O error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) then: Option<u64>,
    /// The end of the process before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) behind: Option<Kill>,
    /// Whether it is that process whose call fails, and not the one behind it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) before: bool,
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
            then: None,
            behind: None,
            before: false,
        }
    }

    pub(super) fn then(self, then: u64) -> Self {
        let then = Some(then);
        Self { then, ..self }
    }

    pub(super) fn behind(self, kill: Kill) -> Self {
        let behind = Some(kill);
        Self { behind, ..self }
    }

    pub(super) fn before(self, kill: Kill) -> Self {
        let before = true;
        Self {
            before,
            ..self.behind(kill)
        }
    }

    /// Has a recorder deliver it.
    pub(super) fn inject(&self, recorder: &Recorder) -> Held {
        let known = FaultKind::ALL.into_iter();
        let kind = known.into_iter().find(|k| format!("{k:?}") == self.kind);
        let kind = kind.ok_or_else(|| End::Broken("no such fault to replay".into()))?;
        recorder.inject(Fault {
            kind,
            at: self.at,
            lasting: self.lasting,
        });
        if let Some(at) = self.then {
            recorder.inject_then(Fault {
                kind: FaultKind::Eio,
                at,
                lasting: false,
            });
        }
        Ok(())
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
        match self.then {
            None => {}
            Some(1) => write!(f, ", and Eio at the next call")?,
            Some(then) => write!(f, ", and Eio {then} calls behind it")?,
        }
        let Some(Kill { call, again }) = self.behind else {
            return Ok(());
        };
        let then = if again {
            "sends again what was under way"
        } else {
            "looks what was done"
        };
        match self.before {
            true => write!(
                f,
                ", of a process that is killed after {call} calls; the next one {then}"
            ),
            false => write!(
                f,
                ", of a process that {then} behind one that was killed after {call} calls"
            ),
        }
    }
}
