//! `ls`: the sessions of the store, the newest first.

mod directory;
mod entry;
mod table;

use std::path::{Path, PathBuf};

use clap::Args;
use futures_util::{StreamExt, stream};
use sessionlog::{Listed, Liveness, Result, Session, Store};

use self::directory::Directory;
use self::entry::Entry;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::text::{Short, line, plural};

/// List the sessions of the store, the newest first
///
/// A session that can't be read is listed with what is wrong with it. With `--limit`, those of object
/// storage are the ones that were made last: no other is looked at.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog ls                         all sessions
  sessionlog ls --limit 10              the ten newest
  sessionlog ls --dir .                 those of this directory
  sessionlog ls --json | jq -r .title   one JSON object a line")]
pub(crate) struct Ls {
    /// Only sessions of this working directory
    ///
    /// A session's directory is compared as it was recorded and with `.`, `..` and trailing
    /// slashes resolved; on this machine symbolic links are followed as well.
    #[arg(long, value_name = "PATH")]
    dir: Option<PathBuf>,

    /// At most N sessions
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
}

/// Sessions that are looked at at once.
const AT_ONCE: usize = 16;

/// A session in the list.
struct Row {
    listed: Listed,
    live: Result<Liveness>,
}

impl Ls {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let store = cx.store().await?;
        let (all, short) = self.found(&store).await?;
        let total = all.len();
        let wanted = self.dir.as_deref().map(Directory::new).transpose()?;
        let kept = all
            .into_iter()
            .filter(|listed| wanted.as_ref().is_none_or(|d| d.holds(listed)));
        let rows = kept.take(self.limit.unwrap_or(usize::MAX)).map(|listed| {
            let store = &store;
            async move {
                let live = live(store, &listed).await;
                Row { listed, live }
            }
        });
        let rows: Vec<Row> = stream::iter(rows).buffered(AT_ONCE).collect().await;
        if cx.json() {
            for row in &rows {
                cx.json_line(&Entry::of(row))?;
            }
        } else if rows.is_empty() {
            empty(total, self.dir.as_deref(), cx)?;
        } else {
            table::print(&rows, &short, cx)?;
        }
        Ok(Exit::OK)
    }
}

impl Ls {
    /// The sessions of which some are listed, and how their names are cut.
    async fn found(&self, store: &Store) -> Result<(Vec<Listed>, Short)> {
        if let (Some(limit), None) = (self.limit, &self.dir) {
            // Whether there is an index costs nothing to know.
            if store.backend().newest(0).await?.is_some() {
                // Of the others not even the names are known, so none is cut.
                return Ok((store.newest(limit).await?, Short::whole()));
            }
        }
        let all = store.cards().await?;
        let short = Short::of(all.iter().map(|listed| listed.id.clone()).collect());
        Ok((all, short))
    }
}

async fn live(store: &Store, listed: &Listed) -> Result<Liveness> {
    let session: Session = store.open(&listed.id).await?;
    session.holder().await
}

fn empty(total: usize, dir: Option<&Path>, cx: &mut Context<'_, '_>) -> Outcome<()> {
    match dir {
        Some(dir) if total > 0 => cx.hint(&format!(
            "none of {} has the working directory {}",
            plural(total as u64, "session"),
            line(&dir.to_string_lossy())
        )),
        _ if total > 0 => Ok(()),
        _ => {
            let url = cx.url().unwrap_or_default();
            cx.hint(&format!(
                "no sessions yet in {}: bring some with sessionlog import PATH, or see sessionlog demo",
                line(sessionlog::shown(&url))
            ))
        }
    }
}
