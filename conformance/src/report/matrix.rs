//! Verdicts by guarantee and level.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use super::{Outcome, Verdict};
use crate::Level;

/// Verdicts by guarantee and level, counted.
pub(super) struct Matrix {
    levels: BTreeSet<Level>,
    rows: BTreeMap<(String, u32), BTreeMap<Level, Cell>>,
}

impl Matrix {
    pub(super) fn of(outcomes: &[Outcome]) -> Self {
        let mut rows: BTreeMap<_, BTreeMap<Level, Cell>> = BTreeMap::new();
        for outcome in outcomes {
            let row = rows.entry(order(&outcome.guarantee)).or_default();
            row.entry(outcome.level)
                .or_default()
                .count(&outcome.verdict);
        }
        Self {
            levels: outcomes.iter().map(|o| o.level).collect(),
            rows,
        }
    }

    /// A table of Markdown.
    pub(super) fn to_markdown(&self) -> String {
        let mut out = String::from("| |");
        for level in &self.levels {
            // Writing to a string can't fail.
            let _ = write!(out, " {level} |");
        }
        out.push_str("\n|---|");
        out.push_str(&"---|".repeat(self.levels.len()));
        for ((letter, number), row) in &self.rows {
            let _ = write!(out, "\n| {letter}{number} |");
            for level in &self.levels {
                let cell = row.get(level).map_or(String::new(), Cell::to_string);
                let _ = write!(out, " {cell} |");
            }
        }
        out
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<5}", "")?;
        for level in &self.levels {
            write!(f, "{level:>20}")?;
        }
        for ((letter, number), row) in &self.rows {
            write!(f, "\n{:<5}", format!("{letter}{number}"))?;
            for level in &self.levels {
                let cell = row.get(level).map_or(String::new(), Cell::to_string);
                write!(f, "{cell:>20}")?;
            }
        }
        Ok(())
    }
}

/// Verdicts of one guarantee on one level, or of a whole level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    passed: u32,
    known: u32,
    skipped: u32,
    red: u32,
}

impl Cell {
    pub(super) fn count(&mut self, verdict: &Verdict) {
        let counted = match verdict {
            Verdict::Passed => &mut self.passed,
            Verdict::Known(_) => &mut self.known,
            Verdict::Skipped(_) => &mut self.skipped,
            Verdict::Failed(_) | Verdict::NotMeasured(_) | Verdict::HarnessBroken(_) => {
                &mut self.red
            }
        };
        *counted += 1;
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [
            (self.passed, "ok"),
            (self.known, "known"),
            (self.skipped, "skipped"),
            (self.red, "RED"),
        ];
        let words = words.iter().filter(|(count, _)| *count > 0);
        let words: Vec<_> = words
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        f.pad(&words.join(", "))
    }
}

/// `G10` behind `G9`.
fn order(guarantee: &str) -> (String, u32) {
    let (letter, number) = guarantee.split_at(guarantee.len().min(1));
    (letter.to_owned(), number.parse().unwrap_or(0))
}
