//! `wake`: what was interrupted, and the conversation to go on with.

use clap::Args;
use serde::Serialize;
use sessionlog::transcript::kinds;
use sessionlog::{Kind, LeaseRequest, Owner, SeqNum, Session, Writer};

use super::show::print;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::interrupted::{Interrupted, Open};
use crate::text::{line, plural};

/// Take over a session: say what its last driver left open, then show the conversation
///
/// The lease is taken and given back, so that no driver from before can write any more. Nothing is
/// appended. A session that somebody drives is not woken.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog wake 019ab3
  sessionlog wake 019ab3 --json | jq 'select(.type == \"wake\") | .interrupted'")]
pub(crate) struct Wake {
    /// The session: its id, or the beginning of it
    id: String,
}

#[derive(Serialize)]
struct Woken<'a> {
    r#type: &'static str,
    id: &'a str,
    token: u64,
    tail: u64,
    interrupted: &'a Open,
}

/// What belongs to the conversation.
pub(crate) const CONVERSATION: &[Kind] = &[
    kinds::MESSAGE,
    kinds::ROLLBACK,
    kinds::HEAD,
    kinds::COMPACTION,
];

impl Wake {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let session = cx.session(&self.id).await?;
        let writer = session.acquire(LeaseRequest::new(owner()?)).await?;
        let told = self.tell(&writer, cx).await;
        let released = writer.release().await;
        told?;
        released?;
        Ok(Exit::OK)
    }

    async fn tell(&self, writer: &Writer, cx: &mut Context<'_, '_>) -> Outcome<()> {
        let session = writer.session();
        let tail = writer.tail_at_grant();
        let open = interrupted(session, tail).await?;
        if cx.json() {
            cx.json_line(&Woken {
                r#type: "wake",
                id: session.id().as_str(),
                token: writer.token().get(),
                tail: tail.get(),
                interrupted: &open,
            })?;
        } else {
            let id = session.id().as_str();
            let events = plural(tail.get(), "event");
            let head = cx.paint().strong(id).to_string();
            writeln!(cx.out(), "{head}: {events}, lease {}", writer.token())?;
            print_open(&open, cx)?;
            writeln!(cx.out())?;
        }
        print(session.read(SeqNum::ZERO..tail), CONVERSATION, cx).await?;
        Ok(())
    }
}

/// Who takes the lease: this program, in this process.
pub(crate) fn owner() -> sessionlog::Result<Owner> {
    Owner::new(format!("sessionlog, process {}", std::process::id()))
}

/// What is open at a position. Reads the log up to there.
pub(crate) async fn interrupted(session: &Session, tail: SeqNum) -> sessionlog::Result<Open> {
    let mut fold = Interrupted::default();
    let mut events = session.read(SeqNum::ZERO..tail);
    while let Some(chunk) = events.next_chunk().await {
        chunk?.iter().for_each(|event| fold.apply(event));
    }
    Ok(fold.into_open())
}

/// Tells what was interrupted, a line each.
pub(crate) fn print_open(open: &Open, cx: &mut Context<'_, '_>) -> Outcome<()> {
    let paint = cx.paint();
    let out = cx.out();
    if open.is_empty() {
        writeln!(out, "{}", paint.good("nothing was interrupted"))?;
        return Ok(());
    }
    writeln!(out, "{}", paint.warn("interrupted:"))?;
    if let Some(turn) = &open.turn {
        let name = line(turn.turn.as_deref().unwrap_or_default());
        writeln!(out, "  turn {name} did not end (#{})", turn.seq)?;
    }
    for call in &open.calls {
        let (name, id) = (line(&call.name), line(&call.id));
        writeln!(out, "  call → {name} {id} has no result (#{})", call.seq)?;
    }
    for permission in &open.permissions {
        let asked = &permission.asked;
        let (id, tool) = (
            line(&asked.id),
            line(asked.tool.as_deref().unwrap_or_default()),
        );
        let detail = line(asked.detail.as_deref().unwrap_or_default());
        writeln!(
            out,
            "  permission {id} waits: {tool} {detail} (#{})",
            permission.seq
        )?;
    }
    for process in &open.processes {
        let name = line(&process.process.process);
        let command = line(process.process.command.as_deref().unwrap_or_default());
        writeln!(
            out,
            "  process {name} was running: {command} (#{})",
            process.seq
        )?;
    }
    Ok(())
}
