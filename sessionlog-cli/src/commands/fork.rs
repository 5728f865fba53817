//! `fork`: a new session from the beginning of another.

use clap::Args;
use serde::Serialize;
use sessionlog::{SeqNum, SessionId};

use crate::context::{Context, find};
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::text::plural;

/// Make a session from the first events of another one
///
/// The events keep their positions, ids, times and bytes. Both sessions say what they have to do with
/// one another, and tokens that were used before the fork count in the first one only. A fork that
/// was broken off is completed by the same command.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog fork 019ab3                          all of it, under a new id
  sessionlog fork 019ab3 --at 120 --to second-try   its first 120 events")]
pub(crate) struct Fork {
    /// The session: its id, or the beginning of it
    id: String,

    /// Only the first N events
    #[arg(long, value_name = "N")]
    at: Option<SeqNum>,

    /// The id of the new session; made up if it is not given
    #[arg(long, value_name = "ID", value_parser = SessionId::new)]
    to: Option<SessionId>,
}

#[derive(Serialize)]
struct Told<'a> {
    id: &'a str,
    from: &'a str,
    at: u64,
}

impl Fork {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let store = cx.store().await?;
        let source = store.open(&find(&store, &self.id).await?).await?;
        let at = match self.at {
            Some(at) => at,
            None => source.tail().await?,
        };
        let into = self.to.clone().unwrap_or_else(SessionId::generate);
        let fork = store.fork(&source, Some(at), into).await?;
        let (id, from) = (fork.id(), source.id());
        if cx.json() {
            cx.json_line(&Told {
                id: id.as_str(),
                from: from.as_str(),
                at: at.get(),
            })?;
        } else {
            let events = plural(at.get(), "event");
            writeln!(cx.out(), "{id}: {events} of {from}")?;
            cx.hint(&format!(
                "see what there is to go on with: sessionlog wake {id}"
            ))?;
        }
        Ok(Exit::OK)
    }
}
