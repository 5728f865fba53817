//! What came out, as text, as Markdown and as JSON.

mod matrix;
mod outcome;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use serde::Serialize;

use self::matrix::{Cell, Matrix};
pub use self::outcome::{Outcome, Verdict};
use crate::power::IMAGES;
use crate::{Budget, Level};

/// Every law on one subject.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The version of the JSON: fields are only ever added to one.
    pub format: u32,
    /// The subject's name.
    pub subject: &'static str,
    /// How much was tried.
    pub budget: Budget,
    /// The outcomes, in the order of the laws.
    pub outcomes: Vec<Outcome>,
}

impl Report {
    pub(crate) fn new(subject: &'static str, budget: Budget, outcomes: Vec<Outcome>) -> Self {
        Self {
            format: 1,
            subject,
            budget,
            outcomes,
        }
    }

    /// Whether nothing failed, and nothing went unmeasured.
    pub fn is_green(&self) -> bool {
        !self.outcomes.is_empty() && self.outcomes.iter().all(|o| o.verdict.is_green())
    }

    /// The ids of the laws that failed.
    pub fn failed(&self) -> Vec<&'static str> {
        let failed = |o: &&Outcome| matches!(o.verdict, Verdict::Failed(_));
        self.outcomes.iter().filter(failed).map(|o| o.law).collect()
    }

    /// How many laws came out so, by [`Verdict::name`].
    pub fn count(&self, verdict: &str) -> usize {
        let same = |o: &&Outcome| o.verdict.name() == verdict;
        self.outcomes.iter().filter(same).count()
    }

    /// The report as JSON, one object; the README of this crate has its fields.
    pub fn to_json(&self) -> String {
        // Strings, numbers and lists alone: nothing that serde_json could refuse.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The report as Markdown: the matrix as a table, and a section for each outcome that is not a
    /// pass.
    pub fn to_markdown(&self) -> String {
        let matrix = Matrix::of(&self.outcomes).to_markdown();
        let mut out = format!("## {}\n\n{matrix}\n\n{}\n", self.subject, self.summary());
        for outcome in self
            .outcomes
            .iter()
            .filter(|o| o.verdict != Verdict::Passed)
        {
            // Writing to a string can't fail.
            let _ = match outcome.is_a_page() {
                true => write!(out, "\n### {}\n\n```text\n{outcome}\n```\n", outcome.law),
                false => write!(out, "\n- {}", outcome.to_string().trim_start()),
            };
        }
        out
    }

    /// How many laws of each level came out how: a row of a table of several subjects.
    pub fn by_level(&self) -> Vec<(Level, String)> {
        let mut cells: BTreeMap<Level, Cell> = BTreeMap::new();
        for outcome in &self.outcomes {
            cells
                .entry(outcome.level)
                .or_default()
                .count(&outcome.verdict);
        }
        let cells = cells.into_iter();
        cells
            .map(|(level, cell)| (level, cell.to_string()))
            .collect()
    }

    /// How many power losses were looked at, and how fast, in a line.
    fn speed(&self) -> Option<String> {
        let looked = self.outcomes.iter().filter(|o| o.looked > 0.0);
        let images = |o: &Outcome| o.sometimes.get(IMAGES).copied().unwrap_or(0);
        let (images, seconds) = looked.fold((0, 0.0), |(n, s), o| (n + images(o), s + o.looked));
        let many = f64::from(u32::try_from(images).ok()?);
        (many > 0.0).then(|| {
            let rate = many / seconds;
            format!("{images} power losses were looked at, {rate:.0} a second")
        })
    }

    /// How many laws came out how, in a line.
    pub fn summary(&self) -> String {
        let mut words = vec![format!("{} laws:", self.outcomes.len())];
        let all =
            Verdict::NAMES.map(|name| format!("{} {}", self.count(name), name.to_lowercase()));
        words.push(all.join(", "));
        words.join(" ")
    }
}

impl fmt::Display for Report {
    /// The matrix, then every outcome that is not a pass.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let matrix = Matrix::of(&self.outcomes);
        writeln!(f, "conformance of {}\n\n{matrix}\n", self.subject)?;
        for outcome in &self.outcomes {
            if outcome.verdict != Verdict::Passed {
                writeln!(f, "{outcome}")?;
            }
        }
        for outcome in &self.outcomes {
            for hint in &outcome.hints {
                writeln!(
                    f,
                    "hint           {} {}: {hint}",
                    outcome.level, outcome.law
                )?;
            }
        }
        if let Some(speed) = self.speed() {
            writeln!(f, "{speed}")?;
        }
        write!(f, "{}", self.summary())
    }
}
