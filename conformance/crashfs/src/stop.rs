//! Where and how a process is to end itself.

use std::{
    env,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use crate::Watch;

const ROOT: &str = "CRASHFS_ROOT";
const STOP_AT: &str = "CRASHFS_STOP_AT";
const MOMENT: &str = "CRASHFS_MOMENT";

/// At which moment of the n-th call the process ends itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Moment {
    /// Before the call: nothing of it is carried out.
    Before = 0,
    /// A write stops after the first half of its bytes (rounded down). Any
    /// other call is not carried out, as with [`Moment::Before`].
    Half = 1,
    /// After the call was carried out, before its caller learns of it.
    After = 2,
}

impl Moment {
    /// Every moment.
    pub const ALL: [Moment; 3] = [Moment::Before, Moment::Half, Moment::After];

    /// The moment's name in the environment: `before`, `half` or `after`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Moment::Before => "before",
            Moment::Half => "half",
            Moment::After => "after",
        }
    }
}

/// A plan for a child process: which folder to watch and where to stop.
///
/// The parent hands it over in the environment, the child takes it up with
/// [`arm_from_env`]. Nothing reads the environment by itself.
///
/// ```no_run
/// use sessionlog_crashfs::{Moment, Plan};
/// # fn main() -> std::io::Result<()> {
/// let plan = Plan::new("/tmp/store").stop_at(7, Moment::Half);
/// let status = std::process::Command::new(std::env::current_exe()?)
///     .args(["--exact", "child::writes_until_it_is_killed", "--nocapture"])
///     .envs(plan.to_env())
///     .status()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    root: PathBuf,
    at: u64,
    moment: Moment,
}

impl Plan {
    /// Watches `root`, and stops at nothing.
    pub fn new(root: impl Into<PathBuf>) -> Plan {
        Plan {
            root: root.into(),
            at: 0,
            moment: Moment::Before,
        }
    }

    /// Stops at the `n`-th numbered call, counted from 1; 0 stops at nothing.
    #[must_use]
    pub fn stop_at(mut self, n: u64, moment: Moment) -> Plan {
        self.at = n;
        self.moment = moment;
        self
    }

    /// The folder that the child watches.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The variables for [`Command::envs`](std::process::Command::envs).
    #[must_use]
    pub fn to_env(&self) -> [(&'static str, OsString); 3] {
        [
            (ROOT, self.root.clone().into_os_string()),
            (STOP_AT, self.at.to_string().into()),
            (MOMENT, self.moment.name().into()),
        ]
    }

    /// The plan in this process's environment, if there is one.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if there is a root, but
    /// the number or the moment is missing or not understood.
    pub fn from_env() -> io::Result<Option<Plan>> {
        let Some(root) = env::var_os(ROOT) else {
            return Ok(None);
        };
        let at = env::var(STOP_AT).ok().and_then(|n| n.parse().ok());
        let moment = env::var(MOMENT)
            .ok()
            .and_then(|name| Moment::ALL.into_iter().find(|m| m.name() == name));
        match (at, moment) {
            (Some(at), Some(moment)) => Ok(Some(Plan {
                root: root.into(),
                at,
                moment,
            })),
            (None, _) => Err(invalid(STOP_AT)),
            (_, None) => Err(invalid(MOMENT)),
        }
    }
}

/// Takes up the [`Plan`] in the environment: watches its root, and sets its
/// stop. `None` without a plan. The stop stays only as long as the watch:
/// keep it for the child's whole work.
///
/// # Errors
///
/// Those of [`Plan::from_env`] and [`Watch::new`].
pub fn arm_from_env() -> io::Result<Option<Watch>> {
    let Some(plan) = Plan::from_env()? else {
        return Ok(None);
    };
    let watch = Watch::new(&plan.root)?;
    watch.stop_at(plan.at, plan.moment);
    Ok(Some(watch))
}

fn invalid(name: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{ROOT} is set, but {name} is missing or not understood"),
    )
}
