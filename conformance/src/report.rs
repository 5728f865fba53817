//! What came out, as text and as JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use serde::Serialize;

use crate::Level;

/// How a law came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds, as far as the budget went.
    Passed,
    /// It is broken: what was expected and what was observed.
    Failed(String),
    /// The backend does not promise it, for this reason.
    Skipped(String),
    /// It could not be measured here, for this reason. Not a pass.
    NotMeasured(String),
    /// The suite itself is broken.
    HarnessBroken(String),
}

impl Verdict {
    /// Whether nothing is wrong: passed, or not promised.
    pub fn is_green(&self) -> bool {
        matches!(self, Self::Passed | Self::Skipped(_))
    }

    /// The verdict in a word.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "FAILED",
            Self::Skipped(_) => "skipped",
            Self::NotMeasured(_) => "NOT MEASURED",
            Self::HarnessBroken(_) => "HARNESS BROKEN",
        }
    }

    /// The reason, for all but a pass.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Passed => None,
            Self::Failed(why)
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
    /// How it came out.
    pub verdict: Verdict,
    /// What was done, for a failure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trail: Vec<String>,
    /// The command that runs it again, for a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
    /// How often happened what must happen sometimes, or the run shows nothing.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sometimes: BTreeMap<&'static str, u64>,
}

impl fmt::Display for Outcome {
    /// A failure in full; anything else in a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<14} {} {}", self.verdict.name(), self.level, self.law)?;
        if !matches!(self.verdict, Verdict::Failed(_) | Verdict::HarnessBroken(_)) {
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
        match &self.replay {
            Some(replay) => write!(f, "  again    {replay}"),
            None => Ok(()),
        }
    }
}

/// Every law on one subject.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The subject's name.
    pub subject: &'static str,
    /// The outcomes, in the order of the laws.
    pub outcomes: Vec<Outcome>,
}

impl Report {
    /// Whether nothing failed, and nothing went unmeasured.
    pub fn is_green(&self) -> bool {
        !self.outcomes.is_empty() && self.outcomes.iter().all(|o| o.verdict.is_green())
    }

    /// The ids of the laws that failed.
    pub fn failed(&self) -> Vec<&'static str> {
        let failed = |o: &&Outcome| matches!(o.verdict, Verdict::Failed(_));
        self.outcomes.iter().filter(failed).map(|o| o.law).collect()
    }

    /// The report as JSON, one object.
    pub fn to_json(&self) -> String {
        // Strings, numbers and lists alone: nothing that serde_json could refuse.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Verdicts by guarantee and level: the matrix.
    fn matrix(&self) -> String {
        let mut rows: BTreeMap<(String, u32), BTreeMap<Level, Cell>> = BTreeMap::new();
        for outcome in &self.outcomes {
            let cell = rows
                .entry(order(&outcome.guarantee))
                .or_default()
                .entry(outcome.level)
                .or_default();
            match &outcome.verdict {
                Verdict::Passed => cell.passed += 1,
                Verdict::Skipped(_) => cell.skipped += 1,
                _ => cell.red += 1,
            }
        }
        let levels: BTreeSet<Level> = self.outcomes.iter().map(|o| o.level).collect();
        let mut out = String::new();
        // Writing to a string can't fail.
        let _ = write!(out, "{:<5}", "");
        for level in &levels {
            let _ = write!(out, "{level:>20}");
        }
        for ((letter, number), row) in rows {
            let _ = write!(out, "\n{:<5}", format!("{letter}{number}"));
            for level in &levels {
                let cell = row.get(level).map_or(String::new(), Cell::to_string);
                let _ = write!(out, "{cell:>20}");
            }
        }
        out
    }
}

#[derive(Default)]
struct Cell {
    passed: u32,
    skipped: u32,
    red: u32,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        if self.passed > 0 {
            words.push(format!("{} ok", self.passed));
        }
        if self.skipped > 0 {
            words.push(format!("{} skipped", self.skipped));
        }
        if self.red > 0 {
            words.push(format!("{} RED", self.red));
        }
        f.pad(&words.join(", "))
    }
}

/// `G10` behind `G9`.
fn order(guarantee: &str) -> (String, u32) {
    let (letter, number) = guarantee.split_at(guarantee.len().min(1));
    (letter.to_owned(), number.parse().unwrap_or(0))
}

impl fmt::Display for Report {
    /// The matrix, then every outcome that is not a pass.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |name: &str| {
            let same = |o: &&Outcome| o.verdict.name() == name;
            self.outcomes.iter().filter(same).count()
        };
        writeln!(f, "conformance of {}\n\n{}\n", self.subject, self.matrix())?;
        for outcome in &self.outcomes {
            if outcome.verdict != Verdict::Passed {
                writeln!(f, "{outcome}")?;
            }
        }
        write!(
            f,
            "{} laws: {} passed, {} failed, {} skipped, {} not measured, {} harness broken",
            self.outcomes.len(),
            count("passed"),
            count("FAILED"),
            count("skipped"),
            count("NOT MEASURED"),
            count("HARNESS BROKEN"),
        )
    }
}
