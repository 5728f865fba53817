//! `wake`: what was interrupted, and the conversation to go on with.

mod open;

use clap::Args;
use serde::Serialize;
use sessionlog::transcript::{Conversation, Woken};
use sessionlog::{LeaseRequest, Owner};

pub(crate) use self::open::{OpenFields, print_open};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::items::print_all;
use crate::text::{line, plural};

/// Take over a session: say what its last driver left open, then show the conversation
///
/// The conversation is the one to go on with: what was rolled back, or lies in other branches or
/// behind a compaction, is not in it, and a call without a result has one that replay made. The
/// lease is taken and given back, so that no driver from before can write any more. Nothing is
/// appended. A session that somebody drives is not woken.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog wake 019ab3
  sessionlog wake 019ab3 --latest       the session in which it goes on
  sessionlog wake 019ab3 --json | jq 'select(.type == \"wake\") | .interrupted'")]
pub(crate) struct Wake {
    /// The session: its id, or the beginning of it
    id: String,

    /// The session in which it goes on, if it does
    #[arg(long)]
    latest: bool,
}

#[derive(Serialize)]
struct Told<'a> {
    r#type: &'static str,
    id: &'a str,
    token: u64,
    tail: u64,
    succeeded_by: Option<&'a str>,
    interrupted: OpenFields<'a>,
    set_aside: Vec<Aside<'a>>,
}

/// A result that is not part of the conversation.
#[derive(Serialize)]
struct Aside<'a> {
    seq: u64,
    id: &'a str,
    why: String,
}

impl Wake {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let session = cx.session_or_latest(&self.id, self.latest).await?;
        let woken = session.wake(LeaseRequest::new(owner()?)).await?;
        let told = tell(&woken, cx);
        let released = woken.release().await;
        told?;
        released?;
        Ok(Exit::OK)
    }
}

fn tell(woken: &Woken, cx: &mut Context<'_, '_>) -> Outcome<()> {
    let conversation = woken.transcript().conversation(None)?;
    let id = woken.writer().session().id();
    let token = woken.writer().token().get();
    let tail = woken.projected().head.tail.get();
    let succeeded_by = woken.transcript().lineage().succeeded_by.as_deref();
    if let Some(next) = succeeded_by {
        cx.hint(&format!("it goes on in {}: --latest", line(next)))?;
    }
    if cx.json() {
        cx.json_line(&Told {
            r#type: "wake",
            id: id.as_str(),
            token,
            tail,
            succeeded_by,
            interrupted: OpenFields::of(woken.interrupted()),
            set_aside: asides(&conversation),
        })?;
    } else {
        let (head, events) = (cx.paint().strong(id).to_string(), plural(tail, "event"));
        writeln!(cx.out(), "{head}: {events}, lease {token}")?;
        print_open(woken.interrupted(), cx)?;
        for aside in asides(&conversation) {
            let (id, Aside { seq, why, .. }) = (line(aside.id), &aside);
            writeln!(cx.out(), "  set aside: result ← {id}, {why} (#{seq})")?;
        }
        writeln!(cx.out())?;
    }
    print_all(&conversation, cx)
}

fn asides<'a>(conversation: &'a Conversation<'_>) -> Vec<Aside<'a>> {
    let aside = conversation.set_aside().iter();
    let aside = aside.map(|it| Aside {
        seq: it.seq.get(),
        id: &it.id,
        why: it.why.to_string(),
    });
    aside.collect()
}

/// Who takes the lease: this program, in this process.
pub(crate) fn owner() -> sessionlog::Result<Owner> {
    Owner::new(format!("sessionlog, process {}", std::process::id()))
}
