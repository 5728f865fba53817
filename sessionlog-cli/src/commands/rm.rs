//! `rm`: sessions deleted with everything that belongs to them.

use clap::Args;
use serde::Serialize;
use sessionlog::{Error, SessionId, Store};

use crate::context::{Context, find};
use crate::exit::Exit;
use crate::failure::{Failure, Outcome};
use crate::text::{line, plural};

/// Delete sessions with everything that belongs to them
///
/// A session that somebody drives is not deleted. All names are looked up before anything is
/// deleted.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog rm 019ab3
  sessionlog rm --yes 019ab3 019ab4
  sessionlog rm --damaged 019ab3")]
pub(crate) struct Rm {
    /// The sessions: their ids, or the beginnings of them
    #[arg(required = true)]
    id: Vec<String>,

    /// Delete damaged sessions too: each is repaired first
    #[arg(long)]
    damaged: bool,

    /// Delete without a question
    #[arg(long, short)]
    yes: bool,
}

#[derive(Serialize)]
struct Deleted<'a> {
    id: &'a str,
    deleted: bool,
}

impl Rm {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let store = cx.store().await?;
        let mut ids: Vec<SessionId> = Vec::new();
        for prefix in &self.id {
            let id = find(&store, prefix).await?;
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        if !self.yes && !agreed(&store, &ids, cx).await? {
            writeln!(cx.err(), "nothing was deleted")?;
            return Ok(Exit::OK);
        }
        for id in &ids {
            if self.damaged {
                store.delete_damaged(id).await?;
            } else {
                store.delete(id).await?;
            }
            if cx.json() {
                let id = id.as_str();
                cx.json_line(&Deleted { id, deleted: true })?;
            } else {
                writeln!(cx.out(), "deleted {id}")?;
            }
        }
        Ok(Exit::OK)
    }
}

async fn agreed(store: &Store, ids: &[SessionId], cx: &mut Context<'_, '_>) -> Outcome<bool> {
    if !cx.terminal().input {
        return Err(Failure::hinted(
            Error::invalid("deleting needs a yes, and there is no terminal to ask on"),
            "give --yes to delete without a question",
        ));
    }
    for id in ids {
        let title = title(store, id).await;
        writeln!(cx.err(), "{id}  {}", line(&title))?;
    }
    let what = plural(ids.len() as u64, "session");
    write!(cx.err(), "Delete {what} for good? [y/N] ")?;
    cx.err().flush()?;
    let mut answer = String::new();
    cx.input().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "Yes"))
}

/// What the person is about to lose; a session that can't be read can be deleted as well.
async fn title(store: &Store, id: &SessionId) -> String {
    let card = async { store.open(id).await?.project::<sessionlog::Card>().await }.await;
    match card {
        Ok(card) => card.state.title.unwrap_or_else(|| "-".to_owned()),
        Err(error) => error.to_string(),
    }
}
