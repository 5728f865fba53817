//! `rollback`: the last messages taken out of the conversation.

use clap::Args;
use serde::Serialize;
use sessionlog::NewEvent;
use sessionlog::transcript::{Rollback as Payload, kinds};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::moves::{Brief, Move};
use crate::text::plural;

/// Take the last messages out of the conversation
///
/// Nothing is deleted: the messages stay in the log, in a branch that `head` selects again. Counted
/// is what `show` shows: a reply is one message, the result of a tool another. Of more than there
/// are, all go, up to the beginning or the last compaction. The lease is taken and given back.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog rollback 019ab3 2 --dry-run      what would go
  sessionlog rollback 019ab3 2
  sessionlog rollback 019ab3 1 --agent a1     of a sub-agent's conversation")]
pub(crate) struct Rollback {
    /// The session: its id, or the beginning of it
    id: String,

    /// How many messages
    #[arg(value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    n: u64,

    /// The sub-agent whose conversation this is
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Only say what would go
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize)]
struct Told<'a> {
    id: &'a str,
    agent: Option<&'a str>,
    dropped: u64,
    hidden: &'a [Brief],
    from: Option<u64>,
    head: Option<u64>,
    seq: Option<u64>,
    dry_run: bool,
}

impl Rollback {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let session = cx.session(&self.id).await?;
        let payload = Payload {
            dropped: self.n,
            agent: self.agent.clone(),
        };
        let new = NewEvent::value(kinds::ROLLBACK, &payload)?;
        let agent = self.agent.as_deref();
        let done = Move::make(&session, new, agent, self.dry_run).await?;
        let id = session.id();
        if cx.json() {
            cx.json_line(&Told {
                id: id.as_str(),
                agent,
                dropped: self.n,
                hidden: &done.hidden,
                from: done.from.map(sessionlog::SeqNum::get),
                head: done.to.map(sessionlog::SeqNum::get),
                seq: done.seq.map(sessionlog::SeqNum::get),
                dry_run: self.dry_run,
            })?;
            return Ok(Exit::OK);
        }
        if done.hidden.is_empty() {
            writeln!(cx.out(), "{id}: there is no message to take back")?;
            return Ok(Exit::OK);
        }
        let goes = match (self.dry_run, done.hidden.len()) {
            (true, _) => "would no longer be",
            (false, 1) => "is no longer",
            (false, _) => "are no longer",
        };
        let n = plural(done.hidden.len() as u64, "message");
        writeln!(cx.out(), "{id}: {n} {goes} part of the conversation")?;
        done.hidden.iter().try_for_each(|brief| brief.print(cx))?;
        if let Some(from) = done.from.filter(|_| !self.dry_run) {
            let agent = agent.map(|a| format!(" --agent {a}")).unwrap_or_default();
            cx.hint(&format!(
                "take it back with sessionlog head {id} {from}{agent}"
            ))?;
        }
        Ok(Exit::OK)
    }
}
