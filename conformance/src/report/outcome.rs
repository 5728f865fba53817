//! One law on one subject, and the page that a failure is told on.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::Level;

/// How a law came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", content = "reason", rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds, as far as the budget went.
    Passed,
    /// It is broken: what was expected and what was observed.
    Failed(String),
    /// It is broken, and the subject says that this is known, for this reason.
    Known(String),
    /// The backend does not promise it, for this reason; or it was not measured, which was allowed.
    Skipped(String),
    /// It could not be measured here, for this reason. Not a pass.
    NotMeasured(String),
    /// The suite itself is broken.
    HarnessBroken(String),
}

impl Verdict {
    pub(super) const NAMES: [&'static str; 6] = [
        "passed",
        "FAILED",
        "known",
        "skipped",
        "NOT MEASURED",
        "HARNESS BROKEN",
    ];

    /// Whether nothing is wrong that nobody knows: passed, known, or not promised.
    pub fn is_green(&self) -> bool {
        matches!(self, Self::Passed | Self::Known(_) | Self::Skipped(_))
    }

    /// The verdict in a word or two.
    pub fn name(&self) -> &'static str {
        let [passed, failed, known, skipped, not_measured, broken] = Self::NAMES;
        match self {
            Self::Passed => passed,
            Self::Failed(_) => failed,
            Self::Known(_) => known,
            Self::Skipped(_) => skipped,
            Self::NotMeasured(_) => not_measured,
            Self::HarnessBroken(_) => broken,
        }
    }

    /// The reason, for all but a pass.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Passed => None,
            Self::Failed(why)
            | Self::Known(why)
            | Self::Skipped(why)
            | Self::NotMeasured(why)
            | Self::HarnessBroken(why) => Some(why),
        }
    }
}

/// One law on one subject.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The law's id.
    pub law: &'static str,
    /// The guarantee or feature that it belongs to.
    pub guarantee: String,
    /// The level.
    pub level: Level,
    /// What must hold.
    pub statement: &'static str,
    /// How it came out; in JSON the two fields `verdict` and `reason`.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// What was done, for a failure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trail: Vec<String>,
    /// The file that the failure was saved in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artefact: Option<String>,
    /// The command that runs it again, for a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
    /// How often happened what must happen sometimes, or the run shows nothing.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sometimes: BTreeMap<&'static str, u64>,
    /// What was seen beside, and the author may want to know: it changes no verdict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// The seconds that were spent on folders that a power loss left; no verdict rests on them.
    #[serde(skip_serializing_if = "is_zero")]
    pub looked: f64,
}

fn is_zero(seconds: &f64) -> bool {
    *seconds == 0.0
}

impl Outcome {
    /// Whether it is told on a page of its own, and not in a line.
    pub(crate) fn is_a_page(&self) -> bool {
        matches!(self.verdict, Verdict::Failed(_) | Verdict::HarnessBroken(_))
    }
}

impl fmt::Display for Outcome {
    /// A failure as a page; anything else in a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<14} {} {}", self.verdict.name(), self.level, self.law)?;
        if !self.is_a_page() {
            return match self.verdict.reason() {
                Some(reason) => write!(f, ": {reason}"),
                None => Ok(()),
            };
        }
        writeln!(f, "\n  law      {}", self.statement)?;
        for line in self.verdict.reason().unwrap_or_default().lines() {
            writeln!(f, "  {line}")?;
        }
        if !self.trail.is_empty() {
            writeln!(f, "  what was done:")?;
        }
        for (n, line) in self.trail.iter().enumerate() {
            writeln!(f, "  {:>3}  {line}", n + 1)?;
        }
        if let Some(artefact) = &self.artefact {
            writeln!(f, "  saved    {artefact}")?;
        }
        match &self.replay {
            Some(replay) => write!(f, "  again    {replay}"),
            None => Ok(()),
        }
    }
}
