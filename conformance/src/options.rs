//! How much is tried, and what is done with failures.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{env, fmt};

use serde::Serialize;

use crate::place::Ground;

/// How much is tried. Budgets count cases and states, never seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Budget {
    /// The least that can fail.
    Smoke,
    /// What runs with every `cargo test`.
    Default,
    /// What runs overnight.
    Deep,
}

impl Budget {
    /// The number for this budget.
    pub(crate) const fn of(self, smoke: u64, default: u64, deep: u64) -> u64 {
        match self {
            Self::Smoke => smoke,
            Self::Default => default,
            Self::Deep => deep,
        }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Smoke => "smoke",
            Self::Default => "default",
            Self::Deep => "deep",
        })
    }
}

impl FromStr for Budget {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        match name {
            "smoke" => Ok(Self::Smoke),
            "default" => Ok(Self::Default),
            "deep" => Ok(Self::Deep),
            _ => Err(UnknownName(format!(
                "a budget is one of smoke, default, deep, not {name:?}"
            ))),
        }
    }
}

/// A name that nothing has; it says what there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName(pub(crate) String);

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnknownName {}

/// How a child process is started that runs [`child`](crate::child): this program again, with
/// these arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildCommand {
    pub(crate) args: Vec<String>,
}

impl ChildCommand {
    /// The present executable with other arguments.
    pub fn new(args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            args: args.into_iter().map(Into::into).collect(),
        }
    }

    /// The test of that name in the present test binary.
    pub fn test(name: &str) -> Self {
        Self::new([name, "--exact", "--nocapture", "--test-threads=1"])
    }
}

/// How the suite runs.
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) budget: Budget,
    pub(crate) child: Option<ChildCommand>,
    pub(crate) artefacts: Option<PathBuf>,
    pub(crate) replay: Option<PathBuf>,
    pub(crate) rerun: String,
    pub(crate) patience: u32,
    pub(crate) ground: Ground,
    pub(crate) allowed: Vec<String>,
}

impl Options {
    /// A budget, no child processes, no files written.
    pub fn new(budget: Budget) -> Self {
        Self {
            budget,
            child: None,
            artefacts: None,
            replay: None,
            rerun: String::new(),
            patience: 12_000,
            ground: Ground::default(),
            allowed: Vec::new(),
        }
    }

    /// The smallest budget.
    pub fn smoke() -> Self {
        Self::new(Budget::Smoke)
    }

    /// What the environment says: `SESSIONLOG_CONFORMANCE_BUDGET` (`smoke`, `default`, `deep`),
    /// `SESSIONLOG_CONFORMANCE_REPLAY` (a file that a failure left) and `SESSIONLOG_CONFORMANCE_ALLOW`
    /// (ids of laws that need not be measured here, parted by commas). Failures are written to
    /// `conformance-failures` beside the `Cargo.toml` of the crate under test.
    ///
    /// # Panics
    /// If the budget has another name, so that no run is taken for a deeper one than it is.
    #[expect(clippy::panic, reason = "a test that can't run as asked must fail")]
    pub fn from_env() -> Self {
        let budget = match env::var("SESSIONLOG_CONFORMANCE_BUDGET") {
            Ok(name) => name
                .parse()
                .unwrap_or_else(|e| panic!("SESSIONLOG_CONFORMANCE_BUDGET: {e}")),
            Err(_) => Budget::Default,
        };
        let allowed = env::var("SESSIONLOG_CONFORMANCE_ALLOW").unwrap_or_default();
        let allowed = allowed.split(',').map(str::trim);
        let allowed = allowed.filter(|id| !id.is_empty()).map(str::to_owned);
        let folder = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        Self {
            artefacts: folder.map(|f| f.join("conformance-failures")),
            replay: env::var_os("SESSIONLOG_CONFORMANCE_REPLAY").map(PathBuf::from),
            allowed: allowed.collect(),
            ..Self::new(budget)
        }
    }

    /// The same options, with laws that need not be measured here: `NotMeasured` is red for all
    /// others.
    #[must_use]
    pub fn allow_unmeasured(mut self, laws: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allowed.extend(laws.into_iter().map(Into::into));
        self
    }

    /// The same options, with the command that failures name to run a law again: `{law}` in it stands
    /// for the law's id.
    #[must_use]
    pub fn with_rerun(mut self, command: impl Into<String>) -> Self {
        self.rerun = command.into();
        self
    }

    /// The same options, with a way to start child processes: levels that need them are not
    /// measured without.
    #[must_use]
    pub fn with_child(mut self, child: ChildCommand) -> Self {
        self.child = Some(child);
        self
    }

    /// The same options, with the folder that places are made in, instead of the system's temporary
    /// one: laws then speak of the disk that it lies on. It must exist.
    #[must_use]
    pub fn with_place_root(mut self, folder: impl AsRef<Path>) -> Self {
        self.ground.root = Some(folder.as_ref().into());
        self
    }

    /// The same options, with what [`Place::base`](crate::Place::base) tells the subject, here and in
    /// child processes: the URL of a bucket, the address of a server.
    #[must_use]
    pub fn with_base(mut self, base: impl AsRef<str>) -> Self {
        self.ground.base = Some(base.as_ref().into());
        self
    }

    /// The same options, with a folder for the commands of failures.
    #[must_use]
    pub fn with_artefacts(mut self, folder: impl AsRef<Path>) -> Self {
        self.artefacts = Some(folder.as_ref().to_owned());
        self
    }

    /// The same options, with the commands of an earlier failure instead of random ones.
    #[must_use]
    pub fn with_replay(mut self, file: impl AsRef<Path>) -> Self {
        self.replay = Some(file.as_ref().to_owned());
        self
    }

    /// The same options, giving up earlier on what nobody wakes: after so many ticks of 5
    /// milliseconds in a row. 12,000 by default.
    #[must_use]
    pub fn with_patience(mut self, ticks: u32) -> Self {
        self.patience = ticks;
        self
    }
}
