//! What came of one file, told.

use std::path::{Path, PathBuf};

use serde::Serialize;
use sessionlog::Error;

use crate::context::Context;
use crate::failure::{self, Problem};
use crate::import::{Outcome, Status};
use crate::text::{line, plural};

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Line<'a> {
    File(&'a Outcome),
    Failed { path: &'a str, error: &'a Problem },
}

/// Tells what came of a file that could be read.
pub(super) fn outcome(
    outcome: &Outcome,
    dry_run: bool,
    cx: &mut Context<'_, '_>,
) -> failure::Outcome<()> {
    let path = outcome.path.to_string_lossy();
    if cx.json() {
        // A path that is not UTF-8 has no place in JSON as it is.
        let told = Outcome {
            path: PathBuf::from(&*path),
            ..outcome.clone()
        };
        cx.json_line(&Line::File(&told))?;
        return Ok(cx.out().flush()?);
    }
    let path = line(&path);
    let paint = cx.paint();
    let new = plural(outcome.new_events, "event");
    let session = outcome
        .session
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    let out = cx.out();
    let would = if dry_run { "would be " } else { "" };
    match &outcome.status {
        Status::Imported => writeln!(
            out,
            "{would}{} {path}: {session}, {new}",
            paint.good("imported")
        )?,
        Status::Grown => writeln!(
            out,
            "{would}{} {path}: {session}, {new} more",
            paint.good("grown")
        )?,
        Status::Unchanged { note } => {
            let note = note
                .as_ref()
                .map(|n| format!(", {}", line(n)))
                .unwrap_or_default();
            writeln!(out, "{} {path}: {session}{note}", paint.dim("unchanged"))?;
        }
        Status::Diverged { from, line } => writeln!(
            out,
            "{would}{} {path}: {session}, {new}; differs from {from} at line {line}",
            paint.warn("imported beside")
        )?,
        Status::Skipped { reason } => {
            writeln!(out, "{} {path}: {}", paint.warn("skipped"), line(reason))?;
        }
    }
    remarks(outcome, &path, cx)?;
    Ok(cx.out().flush()?)
}

/// What is odd about the content of the file.
fn remarks(outcome: &Outcome, path: &str, cx: &mut Context<'_, '_>) -> failure::Outcome<()> {
    let paint = cx.paint();
    let out = cx.out();
    for damage in &outcome.damaged {
        let (at, reason) = (damage.line, line(&damage.reason));
        writeln!(
            out,
            "  {} {path}:{at}: {reason}",
            paint.warn("damaged, kept:")
        )?;
    }
    let untold = outcome
        .damaged_lines
        .saturating_sub(outcome.damaged.len() as u64);
    if untold > 0 {
        writeln!(out, "  and {} more", plural(untold, "damaged line"))?;
    }
    if let Some(named) = &outcome.named {
        writeln!(out, "  the file calls the session {}", line(named))?;
    }
    if !outcome.unmapped.is_empty() {
        let types = outcome
            .unmapped
            .iter()
            .map(|(name, n)| format!("{} ({n})", line(name)));
        let types = types.collect::<Vec<_>>().join(", ");
        writeln!(
            out,
            "  kept as records, of types that are not known: {types}"
        )?;
    }
    if outcome.large_lines > 0 {
        let lines = plural(outcome.large_lines, "line");
        writeln!(out, "  {lines} too large for an event, kept beside the log")?;
    }
    Ok(())
}

/// Tells why a file could not be imported.
pub(super) fn failed(path: &Path, error: &Error, cx: &mut Context<'_, '_>) -> failure::Outcome<()> {
    let path = path.to_string_lossy();
    if cx.json() {
        let (path, error) = (&*path, &Problem::of(error));
        cx.json_line(&Line::Failed { path, error })?;
    } else {
        let told = line(&failure::chain(error));
        let bad = cx.paint().bad("failed");
        writeln!(cx.out(), "{bad} {}: {told}", line(&path))?;
    }
    Ok(cx.out().flush()?)
}
