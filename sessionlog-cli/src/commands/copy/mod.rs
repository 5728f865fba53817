//! `copy`: sessions into another store.

mod progress;
mod tell;

use clap::Args;
use sessionlog::{Copied, CopyOptions, Error, Owner, SessionId, Store};

use self::progress::Progress;
use self::tell::Tally;
use crate::context::{Context, find};
use crate::failure::Outcome;

/// Copy sessions from one store into another: everything in them, ids and bytes kept
///
/// Stores are given as scheme:place; the option --store is not looked at. Without an id all sessions
/// are copied. Each copy is read back and compared by its checksum. What the destination has already
/// is not copied again, so a copy that was stopped, or of sessions that have grown, goes on where it
/// ended. A session that differs at the destination, or that somebody drives there, is left as it
/// is. The source is never written. Only the boundaries of batches are not kept.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog copy jsonl:sessions sqlite:sessions.db
  sessionlog copy --dry-run jsonl:sessions redb:sessions.redb
  sessionlog copy sqlite:sessions.db jsonl:one 019ab3")]
pub(crate) struct Copy {
    /// The store to copy from, as scheme:place
    #[arg(value_name = "SRC")]
    from: String,

    /// The store to copy into; made if it is not there
    #[arg(value_name = "DST")]
    to: String,

    /// The sessions: their ids, or the beginnings of them
    id: Vec<String>,

    /// Write nothing, and say what would be written
    #[arg(long)]
    dry_run: bool,

    /// Leave out snapshots: a cache, which is made anew when it is missing
    #[arg(long)]
    no_snapshots: bool,
}

impl Copy {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        if self.to.starts_with("memory:") {
            let message = "a copy in memory is gone when the program ends, name a place: memory:";
            return Err(Error::invalid(message).into());
        }
        let from = cx.open(&self.from).await?;
        let to = cx.open(&self.to).await?;
        let ids = self.ids(&from).await?;
        let options = self.options()?;
        let mut tally = Tally::new(self.dry_run);
        let mut progress = Progress::new(cx);
        for id in &ids {
            progress.expect(&from, id).await;
        }
        for id in &ids {
            let copied = copy(&from, &to, id, &options, &progress).await;
            progress.done(id);
            match copied {
                // Of a whole store: deleted since it was listed.
                Err(error) if self.id.is_empty() && error.is_not_found() => continue,
                copied => progress.aside(|| tally.add(id, &copied, cx))?,
            }
        }
        progress.finish();
        tally.tell(cx)?;
        Ok(tally.exit())
    }

    /// All names are looked up before anything is copied.
    async fn ids(&self, from: &Store) -> sessionlog::Result<Vec<SessionId>> {
        if self.id.is_empty() {
            return from.ids().await;
        }
        let mut ids = Vec::new();
        for prefix in &self.id {
            let id = find(from, prefix).await?;
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Ok(ids)
    }

    fn options(&self) -> sessionlog::Result<CopyOptions> {
        let owner = format!("sessionlog copy, process {}", std::process::id());
        let mut options = CopyOptions::new(Owner::new(owner)?);
        if self.no_snapshots {
            options = options.without_snapshots();
        }
        if self.dry_run {
            options = options.dry_run();
        }
        Ok(options)
    }
}

async fn copy(
    from: &Store,
    to: &Store,
    id: &SessionId,
    options: &CopyOptions,
    progress: &Progress,
) -> sessionlog::Result<Copied> {
    from.copy_to(id, to, options, |copied| progress.at(copied))
        .await
}
