//! What a law is.

use std::fmt;
use std::str::FromStr;

use futures_util::future::LocalBoxFuture;
use serde::Serialize;

use crate::bench::Bench;
use crate::breach::Held;
use crate::options::UnknownName;

/// One thing that every backend must do, or must never do.
///
/// Ids are stable: they are the names of tests, and reports of different versions can be compared
/// by them.
#[derive(Clone, Copy)]
pub struct Law {
    /// The stable name, which starts with the guarantee's number.
    pub id: &'static str,
    /// How it is tested.
    pub level: Level,
    /// What must hold, in a sentence.
    pub statement: &'static str,
    pub(crate) needs: &'static [Need],
    pub(crate) run: Run,
}

pub(crate) type Run = for<'a> fn(&'a Bench) -> LocalBoxFuture<'a, Held>;

impl Law {
    /// The guarantee or feature that it belongs to: `G8`, or `A1` or `Y8` of the feature list.
    pub fn guarantee(&self) -> String {
        let digits = self.id.get(1..3).unwrap_or_default();
        let letter = self.id.get(..1).unwrap_or_default().to_uppercase();
        format!("{letter}{}", digits.trim_start_matches('0'))
    }
}

impl fmt::Debug for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Law({}: {})", self.id, self.statement)
    }
}

/// How a law is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Level {
    /// L0: the suite can measure here at all.
    #[serde(rename = "L0")]
    Harness,
    /// L1: one named law per guarantee and sub-clause.
    #[serde(rename = "L1")]
    Contract,
    /// L2: random commands, compared with a model.
    #[serde(rename = "L2")]
    Model,
    /// L3: another process, killed.
    #[serde(rename = "L3")]
    Kill,
    /// L4: power loss, at every prefix of the file calls and with every choice of what was lost.
    #[serde(rename = "L4")]
    Power,
    /// L5: I/O errors at every file call.
    #[serde(rename = "L5")]
    Errors,
    /// L6: damaged files.
    #[serde(rename = "L6")]
    Damage,
    /// L7: tasks, threads and processes at once.
    #[serde(rename = "L7")]
    Race,
    /// L8: an object store that loses, delays and repeats answers.
    #[serde(rename = "L8")]
    Objects,
}

impl Level {
    /// Every level.
    pub const ALL: [Self; 9] = [
        Self::Harness,
        Self::Contract,
        Self::Model,
        Self::Kill,
        Self::Power,
        Self::Errors,
        Self::Damage,
        Self::Race,
        Self::Objects,
    ];
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Harness => "L0",
            Self::Contract => "L1",
            Self::Model => "L2",
            Self::Kill => "L3",
            Self::Power => "L4",
            Self::Errors => "L5",
            Self::Damage => "L6",
            Self::Race => "L7",
            Self::Objects => "L8",
        })
    }
}

impl FromStr for Level {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let all = Self::ALL.map(|level| level.to_string());
        let found = Self::ALL.into_iter().zip(&all).find(|(_, n)| *n == name);
        found.map(|(level, _)| level).ok_or_else(|| {
            UnknownName(format!(
                "a level is one of {}, not {name:?}",
                all.join(", ")
            ))
        })
    }
}

/// What a law asks of the subject or the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The medium is a folder.
    Folder,
    /// The medium outlives the process.
    Durable,
    /// File calls are counted.
    Calls,
    /// Another process can be started.
    Child,
    /// The medium is an object store of the suite.
    Objects,
    SeveralHandles,
    SeveralProcesses,
    ForcedLeases,
    PromptLeases,
    LiveNotification,
    GroupCommit,
    OneWriteOneFlush,
    SilentOpen,
    ErasesBytes,
    PrivateFiles,
    RefusesUnfitStores,
    Salvages,
    PosixNames,
}

/// An entry of a table of laws.
macro_rules! law {
    ($level:ident, $run:ident, $statement:literal $(, $need:ident)*) => {
        $crate::Law {
            id: stringify!($run),
            level: $crate::Level::$level,
            statement: $statement,
            needs: &[$($crate::law::Need::$need),*],
            run: |bench| Box::pin($run(bench)),
        }
    };
    ($run:ident, $statement:literal $(, $need:ident)*) => {
        law!(Contract, $run, $statement $(, $need)*)
    };
}

pub(crate) use law;
