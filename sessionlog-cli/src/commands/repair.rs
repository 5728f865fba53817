//! `repair`: what can be saved of a damaged session.

use clap::Args;
use serde::Serialize;
use sessionlog::SessionId;

use crate::context::{Context, find};
use crate::exit::Exit;
use crate::failure::{Failure, Outcome};
use crate::text::{line, plural};

/// Mend a damaged session: say what would be done, and with --apply do it
///
/// All that is whole can be read again, each event at its position. What is cut out is kept beside
/// the log. A position whose event is lost holds an event of kind `repair.lost`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog repair 019ab3            changes nothing
  sessionlog repair 019ab3 --apply")]
pub(crate) struct Repair {
    /// The session: its id, or the beginning of it
    id: String,

    /// Do it
    #[arg(long)]
    apply: bool,
}

#[derive(Serialize)]
struct Repaired<'a> {
    id: &'a str,
    applied: bool,
    steps: &'a [String],
    kept: &'a [String],
    events: u64,
    lost: u64,
}

impl Repair {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        self.mend(cx).await.map_err(beyond)
    }

    async fn mend(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let store = cx.store().await?;
        let id = match find(&store, &self.id).await {
            // What can't be listed may be mended all the same: the name is taken as it is.
            Err(error) if error.is_corrupt() => SessionId::new(&self.id)?,
            found => found?,
        };
        let repair = store.repair(&id, self.apply).await?;
        if cx.json() {
            cx.json_line(&Repaired {
                id: id.as_str(),
                applied: self.apply,
                steps: &repair.steps,
                kept: &repair.kept,
                events: repair.events,
                lost: repair.lost,
            })?;
            return Ok(Exit::OK);
        }
        let out = cx.out();
        if repair.steps.is_empty() {
            let events = plural(repair.events, "event");
            writeln!(out, "{id}: nothing to repair, {events} whole")?;
            return Ok(Exit::OK);
        }
        for step in &repair.steps {
            writeln!(out, "- {}", line(step))?;
        }
        for kept in &repair.kept {
            writeln!(out, "kept {}", line(kept))?;
        }
        let (whole, lost) = (plural(repair.events, "event"), repair.lost);
        if self.apply {
            writeln!(out, "{id}: repaired, {whole} whole, {lost} lost")?;
        } else {
            writeln!(
                out,
                "{id}: would have {whole} whole, {lost} lost; nothing was changed"
            )?;
            cx.hint(&format!("do it: sessionlog repair {id} --apply"))?;
        }
        Ok(Exit::OK)
    }
}

/// What no repair mends is not to be repaired once more.
fn beyond(failure: Failure) -> Failure {
    match failure {
        Failure::Error(error, None) if error.is_corrupt() => Failure::hinted(
            error,
            "no repair can mend this: bring back a copy of the store, and keep this one beside it",
        ),
        other => other,
    }
}
