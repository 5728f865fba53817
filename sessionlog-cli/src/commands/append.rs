//! `append`: events from standard input.

use std::io::{self, BufRead, Read};

use clap::Args;
use serde::Serialize;
use sessionlog::{Data, Error, Kind, Limits, NewEvent, Result, SeqNum, Session, SessionId, Store};

use crate::context::{Context, find};
use crate::exit::Exit;
use crate::failure::{Failure, Outcome, os_error};
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
            done = lines.number;
        }
        let session = target.session().await?;
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

/// Payloads, a line each.
struct Lines<'a> {
    input: &'a mut dyn BufRead,
    kind: &'a Kind,
    limits: Limits,
    /// The last line that was read.
    number: u64,
    /// A line that did not fit into the last batch.
    left: Option<NewEvent>,
    /// The end was seen: a terminal would go on behind it.
    ended: bool,
}

impl<'a> Lines<'a> {
    fn new(input: &'a mut dyn BufRead, kind: &'a Kind) -> Self {
        let limits = Limits::default();
        Self {
            input,
            kind,
            limits,
            number: 0,
            left: None,
            ended: false,
        }
    }

    /// The next events, as many as may be appended at once; none at the end.
    fn batch(&mut self) -> Result<Vec<NewEvent>> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < self.limits.batch_events {
            let Some(event) = self.next()? else { break };
            bytes += event.data.len();
            if bytes > self.limits.batch_bytes {
                self.left = Some(event);
                break;
            }
            batch.push(event);
        }
        Ok(batch)
    }

    fn next(&mut self) -> Result<Option<NewEvent>> {
        if let Some(event) = self.left.take() {
            return Ok(Some(event));
        }
        while !self.ended {
            let mut text = Vec::new();
            let most = self.limits.event_bytes;
            let room = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(3);
            let read = self.read_line(room, &mut text);
            let read = read.map_err(|e| os_error("standard input can't be read", e))?;
            if read == 0 {
                self.ended = true;
                break;
            }
            self.number += 1;
            while let Some(b'\n' | b'\r') = text.last() {
                text.pop();
            }
            if text.len() > most {
                return Err(Error::invalid(format!(
                    "line {} is too long for an event, of at most {most} bytes",
                    self.number
                )));
            }
            if !text.trim_ascii().is_empty() {
                let data = Data::from_json(text).map_err(|e| self.placed(&e))?;
                return Ok(Some(NewEvent::new(self.kind.clone(), data)));
            }
        }
        Ok(None)
    }

    fn read_line(&mut self, room: u64, text: &mut Vec<u8>) -> io::Result<usize> {
        Read::take(&mut *self.input, room).read_until(b'\n', text)
    }

    /// The error of one line, told with the number that the line has in the input.
    fn placed(&self, error: &Error) -> Error {
        let message = error.message();
        Error::invalid(match message.rsplit_once(" at line 1 column ") {
            Some((what, column)) => {
                format!("{what} at line {} column {column}", self.number)
            }
            None => format!("line {}: {message}", self.number),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &str) -> Result<Vec<Vec<String>>> {
        let mut input = input.as_bytes();
        let kind = Kind::from_static("note");
        let mut lines = Lines::new(&mut input, &kind);
        lines.limits = Limits {
            event_bytes: 8,
            batch_events: 2,
            batch_bytes: 10,
        };
        let mut all = Vec::new();
        loop {
            let batch = lines.batch()?;
            if batch.is_empty() {
                return Ok(all);
            }
            all.push(
                batch
                    .iter()
                    .map(|e| e.data.as_text().into_owned())
                    .collect(),
            );
        }
    }

    #[test]
    fn batches_keep_to_the_limits_and_lose_nothing() {
        let all = lines("1\r\n\n 2 \n3\n\"456789\"\n\"abc\"").unwrap();
        assert_eq!(
            all,
            [vec!["1", " 2 "], vec!["3", "\"456789\""], vec!["\"abc\""]]
        );
    }

    /// A terminal: it has lines behind each end.
    struct Keyboard(Vec<&'static [u8]>);

    impl Read for Keyboard {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let typed = self.0.remove(0);
            out[..typed.len()].copy_from_slice(typed);
            Ok(typed.len())
        }
    }

    #[test]
    fn one_end_of_a_terminal_is_enough() {
        let mut input = io::BufReader::new(Keyboard(vec![b"1\n", b"", b"2\n"]));
        let kind = Kind::from_static("note");
        let mut lines = Lines::new(&mut input, &kind);
        assert_eq!(lines.batch().unwrap().len(), 1);
        assert_eq!(lines.batch().unwrap().len(), 0);
    }

    #[test]
    fn a_wrong_line_is_told_with_its_place() {
        let told = |input| lines(input).unwrap_err().to_string();
        assert!(
            told("1\n\n{\"a\" 1}").ends_with("at line 3 column 6"),
            "{}",
            told("1\n\n{\"a\" 1}")
        );
        assert!(told("1\n[").ends_with("at line 2 column 1"));
        assert!(told("123456789").contains("line 1 is too long"));
    }
}
