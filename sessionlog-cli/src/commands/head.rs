//! `head`: the conversation goes on behind another message.

use clap::Args;
use serde::Serialize;
use sessionlog::transcript::{HeadMoved, kinds};
use sessionlog::{Error, NewEvent, SeqNum};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, Outcome};
use crate::moves::{Brief, Move};

/// Select a branch: the conversation goes on behind another message
///
/// The message may be in any branch, rolled back, or behind a compaction. What it leaves stays in the
/// log, as a branch of its own. The lease is taken and given back.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog branches 019ab3            the branches, and the positions that select them
  sessionlog head 019ab3 42             go on behind message #42
  sessionlog head 019ab3 start          go on with nothing
  sessionlog head 019ab3 42 --dry-run   what would come and go")]
pub(crate) struct Head {
    /// The session: its id, or the beginning of it
    id: String,

    /// The position of the message, or start for before the first one
    #[arg(value_name = "SEQ", value_parser = to)]
    to: To,

    /// The sub-agent whose conversation this is
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Only say what would change
    #[arg(long)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug)]
struct To(Option<SeqNum>);

fn to(text: &str) -> sessionlog::Result<To> {
    match text {
        "start" => Ok(To(None)),
        seq => seq.trim_start_matches('#').parse().map(Some).map(To),
    }
}

#[derive(Serialize)]
struct Told<'a> {
    id: &'a str,
    agent: Option<&'a str>,
    hidden: &'a [Brief],
    back: &'a [Brief],
    from: Option<u64>,
    head: Option<u64>,
    seq: Option<u64>,
    dry_run: bool,
}

impl Head {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let session = cx.session(&self.id).await?;
        let agent = self.agent.as_deref();
        let payload = HeadMoved {
            to: self.to.0,
            agent: self.agent.clone(),
        };
        let new = NewEvent::value(kinds::HEAD, &payload)?;
        let done = Move::make(&session, new, agent, self.dry_run).await?;
        let id = session.id();
        if done.refused {
            let seq = self.to.0.unwrap_or_default();
            let told = format!("there is no message of the conversation at this position: {seq}");
            let hint = format!("see where it can go: sessionlog branches {id}");
            return Err(Failure::hinted(Error::invalid(told), hint));
        }
        if cx.json() {
            cx.json_line(&Told {
                id: id.as_str(),
                agent,
                hidden: &done.hidden,
                back: &done.back,
                from: done.from.map(SeqNum::get),
                head: done.to.map(SeqNum::get),
                seq: done.seq.map(SeqNum::get),
                dry_run: self.dry_run,
            })?;
            return Ok(Exit::OK);
        }
        let would = if self.dry_run { "would go" } else { "goes" };
        match done.to {
            Some(to) => writeln!(cx.out(), "{id}: the conversation {would} on behind #{to}")?,
            None => writeln!(cx.out(), "{id}: the conversation {would} on with nothing")?,
        }
        for (briefs, what) in [
            (&done.hidden, "no longer part of it:"),
            (&done.back, "part of it again:"),
        ] {
            if !briefs.is_empty() {
                writeln!(cx.out(), "{what}")?;
                briefs.iter().try_for_each(|brief| brief.print(cx))?;
            }
        }
        Ok(Exit::OK)
    }
}
