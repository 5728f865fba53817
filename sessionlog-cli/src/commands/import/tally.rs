//! What came of all files.

use std::collections::BTreeMap;

use serde::Serialize;
use sessionlog::Error;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure;
use crate::import::{Outcome, Status};
use crate::text::{line, plural};

/// Files of a reason that are told by their paths.
const SHOWN: usize = 3;

/// Counts, and how the program ends.
#[derive(Default, Serialize)]
pub(super) struct Tally {
    r#type: &'static str,
    dry_run: bool,
    files: u64,
    imported: u64,
    grown: u64,
    unchanged: u64,
    diverged: u64,
    skipped: u64,
    failed: u64,
    ignored: u64,
    new_events: u64,
    damaged_lines: u64,
    /// Files in folders that were skipped, by the reason: the first few, and how many.
    #[serde(skip)]
    passed: BTreeMap<String, (Vec<String>, u64)>,
    #[serde(skip)]
    exit: Option<Exit>,
}

impl Tally {
    pub(super) fn new(dry_run: bool, ignored: u64) -> Self {
        Self {
            r#type: "summary",
            dry_run,
            ignored,
            ..Self::default()
        }
    }

    /// Counts a file, and gives whether it is to be told by itself. One that was meant and is
    /// skipped could not be imported; others that are skipped are told together, and those that
    /// are as before are only counted.
    pub(super) fn add(&mut self, outcome: &Outcome, meant: bool) -> bool {
        self.files += 1;
        self.new_events += outcome.new_events;
        self.damaged_lines += outcome.damaged_lines;
        match &outcome.status {
            Status::Imported => self.imported += 1,
            Status::Grown => self.grown += 1,
            Status::Unchanged { note } => {
                self.unchanged += 1;
                return meant || note.is_some();
            }
            Status::Diverged { .. } => self.diverged += 1,
            Status::Skipped { reason } => {
                self.skipped += 1;
                if meant {
                    self.exit.get_or_insert(Exit::INPUT);
                } else {
                    self.pass(outcome, reason);
                    return false;
                }
            }
        }
        true
    }

    fn pass(&mut self, outcome: &Outcome, reason: &str) {
        let (paths, n) = self.passed.entry(reason.to_owned()).or_default();
        *n += 1;
        if paths.len() < SHOWN {
            paths.push(line(&outcome.path.to_string_lossy()));
        }
    }

    /// Counts a file that could not be imported.
    pub(super) fn failed(&mut self, error: &Error) {
        self.files += 1;
        self.failed += 1;
        self.exit.get_or_insert(Exit::of(error.kind()));
    }

    /// The exit for the first file that could not be imported.
    pub(super) fn exit(&self) -> Option<Exit> {
        self.exit
    }

    pub(super) fn tell(&self, cx: &mut Context<'_, '_>) -> failure::Outcome<()> {
        if cx.json() {
            return cx.json_line(self);
        }
        let paint = cx.paint();
        let would = if self.dry_run {
            "dry run, nothing was written: "
        } else {
            ""
        };
        let mut parts = Vec::new();
        for (n, what) in [
            (self.imported, "imported"),
            (self.grown, "grown"),
            (self.diverged, "imported beside"),
            (self.unchanged, "unchanged"),
            (self.skipped, "skipped"),
            (self.failed, "failed"),
        ] {
            if n > 0 {
                parts.push(format!("{n} {what}"));
            }
        }
        let (files, parts) = (plural(self.files, "file"), parts.join(", "));
        let events = plural(self.new_events, "new event");
        let out = cx.out();
        for (reason, (paths, n)) in &self.passed {
            let (skipped, files) = (paint.warn("skipped"), plural(*n, "file"));
            writeln!(out, "{skipped} {files}: {}", line(reason))?;
            paths
                .iter()
                .try_for_each(|path| writeln!(out, "  {path}"))?;
            let more = n.saturating_sub(paths.len() as u64);
            if more > 0 {
                writeln!(out, "  and {more} more")?;
            }
        }
        if self.files == 0 {
            writeln!(out, "no sessions were found")?;
        } else {
            writeln!(out, "{would}{files}: {parts}; {events}")?;
        }
        if self.damaged_lines > 0 {
            let lines = plural(self.damaged_lines, "damaged line");
            writeln!(
                out,
                "{}",
                paint.warn(format_args!("{lines} kept as they are"))
            )?;
        }
        if self.ignored > 0 {
            let ignored = plural(self.ignored, "other file");
            writeln!(out, "{}", paint.dim(format_args!("{ignored} passed over")))?;
        }
        if self.new_events > 0 && !self.dry_run {
            cx.hint("look at them: sessionlog ls")?;
        }
        Ok(())
    }
}
