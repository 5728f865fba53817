//! `append`: events from standard input.

mod lines;

use clap::Args;
use serde::Serialize;
use sessionlog::{Error, Kind, NewEvent, Result, SeqNum, Session, SessionId, Store};

use self::lines::Lines;

use crate::context::{Context, find};
use crate::exit::Exit;
use crate::failure::{Failure, Outcome};
use crate::text::plural;

/// Append events from standard input: each line is the JSON payload of one
///
/// The input is appended whole or not at all, up to 10,000 events or 64 MiB. A larger one is
/// appended in batches of that size, each whole or not at all; if a later line is wrong, what was
/// appended before it is said. Empty lines are passed over. Any process may append to a session at
/// any time, also while somebody drives it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  echo '{\"text\":\"stop after this\"}' | sessionlog append 019ab3 --kind notice
  sessionlog append --create notes --kind note < notes.jsonl")]
pub(crate) struct Append {
    /// The session: its id, or the beginning of it; with --create the whole id
    id: String,

    /// The kind of the events: dotted lower-case words
    #[arg(long, value_name = "KIND", default_value = "message", value_parser = Kind::new)]
    kind: Kind,

    /// Make the session if there is none of that name
    #[arg(long)]
    create: bool,
}

#[derive(Serialize)]
struct Appended<'a> {
    id: &'a str,
    start: u64,
    end: u64,
    events: u64,
}

impl Append {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let store = cx.store().await?;
        let mut target = self.target(&store).await?;
        if cx.terminal().input {
            cx.hint("type one JSON value a line, and end with Ctrl-D (Ctrl-Z on Windows)")?;
        }
        let mut lines = Lines::new(cx.input(), &self.kind);
        let (mut start, mut end, mut events, mut done) = (None, SeqNum::ZERO, 0, 0);
        loop {
            let appended = match lines.batch() {
                Ok(batch) if batch.is_empty() => break,
                Ok(batch) => target.append(batch).await,
                Err(error) => Err(error),
            };
            let range = appended.map_err(|error| told(error, done))?;
            start.get_or_insert(range.start);
            end = range.end;
            events += sessionlog::span(&range);
            done = lines.number();
        }
        let session = target.session().await?;
        if events > 0 {
            // A card is derived: what was appended is durable without it.
            drop(session.save_card().await);
        }
        let id = session.id().as_str();
        let start = match start {
            Some(start) => start,
            None => {
                end = session.tail().await?;
                end
            }
        };
        if cx.json() {
            let (start, end) = (start.get(), end.get());
            cx.json_line(&Appended {
                id,
                start,
                end,
                events,
            })?;
        } else {
            writeln!(
                cx.out(),
                "{id}: {} appended, {start}..{end}",
                plural(events, "event")
            )?;
        }
        Ok(Exit::OK)
    }

    async fn target(&self, store: &Store) -> Result<Target> {
        if self.create {
            // It is made with the first batch, so that wrong input leaves no empty session behind.
            return Ok(Target::Named(store.clone(), SessionId::new(&self.id)?));
        }
        Ok(Target::Open(
            store.open(&find(store, &self.id).await?).await?,
        ))
    }
}

fn told(error: Error, lines: u64) -> Failure {
    if lines == 0 {
        Failure::hinted(error, "nothing was appended")
    } else {
        Failure::hinted(
            error,
            format!("lines 1 to {lines} were appended, and nothing behind them"),
        )
    }
}

/// The session, made when it is first needed.
enum Target {
    Named(Store, SessionId),
    Open(Session),
}

impl Target {
    async fn session(&mut self) -> Result<&Session> {
        if let Self::Named(store, id) = self {
            *self = Self::Open(store.open_or_create(id.clone()).await?);
        }
        match self {
            Self::Open(session) => Ok(session),
            Self::Named(..) => Err(Error::internal("the session was not opened")),
        }
    }

    async fn append(&mut self, batch: Vec<NewEvent>) -> Result<std::ops::Range<SeqNum>> {
        self.session().await?.append(batch).await
    }
}
