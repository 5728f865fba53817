//! `stats`: what a session consists of.

use std::collections::BTreeMap;
use std::io::Write;

use clap::Args;
use serde::Serialize;
use sessionlog::transcript::{Message, Meter, Tokens, Usage, kinds};
use sessionlog::{Event, Kind, SeqNum, Timestamp};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::text::{bytes, dollars};
use crate::unanswered::Unanswered;

/// Count what a session consists of: events by kind, messages, calls, tokens, cost
///
/// Tokens are as the provider reported them, each response once; a cost is shown only if one was
/// recorded.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog stats 019ab3
  sessionlog stats 019ab3 --json | jq .tokens")]
pub(crate) struct Stats {
    /// The session: its id, or the beginning of it
    id: String,
}

/// The counts. The log is read once, in bounded memory.
#[derive(Default)]
struct Counts {
    events: u64,
    bytes: u64,
    kinds: BTreeMap<Kind, OfKind>,
    messages: BTreeMap<&'static str, u64>,
    calls: u64,
    results: u64,
    open: Unanswered,
    meter: Meter,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

#[derive(Default, Serialize)]
struct OfKind {
    events: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct Told<'a> {
    id: &'a str,
    events: u64,
    bytes: u64,
    kinds: &'a BTreeMap<Kind, OfKind>,
    messages: &'a BTreeMap<&'static str, u64>,
    calls: u64,
    results: u64,
    unanswered: u64,
    tokens: Tokens,
    cost: Option<f64>,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

impl Counts {
    fn add(&mut self, event: &Event) {
        let size = event.data.len() as u64;
        self.events += 1;
        self.bytes += size;
        // Looked up first: a kind is cloned once, not once an event.
        match self.kinds.get_mut(&event.kind) {
            Some(kind) => kind.add(size),
            None => self.kinds.entry(event.kind.clone()).or_default().add(size),
        }
        // When a session was imported says nothing about when it was.
        if event.kind != kinds::IMPORT_STARTED && event.kind != kinds::IMPORT_FINISHED {
            self.first = Some(self.first.map_or(event.at, |at| at.min(event.at)));
            self.last = Some(self.last.map_or(event.at, |at| at.max(event.at)));
        }
        if event.kind == kinds::MESSAGE {
            if let Ok(message) = event.data.view::<Message<'_>>() {
                *self.messages.entry(message.role.as_str()).or_default() += 1;
                self.calls += message.calls.len() as u64;
                self.results += message.results.len() as u64;
                self.open.add(&message);
                if let Some(usage) = message.counted() {
                    self.meter.add(&usage);
                }
            }
        } else if event.kind == kinds::USAGE_REPORTED
            && let Ok(usage) = event.data.view::<Usage>()
        {
            self.meter.add(&usage);
        }
    }

    fn told<'a>(&'a self, id: &'a str) -> Told<'a> {
        Told {
            id,
            events: self.events,
            bytes: self.bytes,
            kinds: &self.kinds,
            messages: &self.messages,
            calls: self.calls,
            results: self.results,
            unanswered: self.open.count(),
            tokens: self.meter.tokens(),
            cost: self.meter.cost(),
            first: self.first,
            last: self.last,
        }
    }
}

impl OfKind {
    fn add(&mut self, bytes: u64) {
        self.events += 1;
        self.bytes += bytes;
    }
}

impl Stats {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let session = cx.session(&self.id).await?;
        let mut counts = Counts::default();
        let mut events = session.read(SeqNum::all());
        while let Some(chunk) = events.next_chunk().await {
            chunk?.iter().for_each(|event| counts.add(event));
        }
        let told = counts.told(session.id().as_str());
        if cx.json() {
            cx.json_line(&told)?;
        } else {
            print(&told, cx)?;
        }
        Ok(Exit::OK)
    }
}

fn print(told: &Told<'_>, cx: &mut Context<'_, '_>) -> Outcome<()> {
    let paint = cx.paint();
    let out = cx.out();
    writeln!(out, "{}", paint.strong(told.id))?;
    let row = |out: &mut dyn Write, name: &str, value: &dyn std::fmt::Display| {
        writeln!(out, "{name:<13} {value}")
    };
    if let (Some(first), Some(last)) = (told.first, told.last) {
        row(out, "first", &first)?;
        row(out, "last", &last)?;
    }
    row(
        out,
        "events",
        &format_args!("{} ({})", told.events, bytes(told.bytes)),
    )?;
    for (kind, of) in told.kinds {
        writeln!(
            out,
            "  {kind:<24} {:>8}  {:>11}",
            of.events,
            bytes(of.bytes)
        )?;
    }
    let messages: u64 = told.messages.values().sum();
    row(out, "messages", &messages)?;
    for (role, n) in told.messages {
        writeln!(out, "  {role:<24} {n:>8}")?;
    }
    row(
        out,
        "tool calls",
        &format_args!(
            "{} ({} results, {} unanswered)",
            told.calls, told.results, told.unanswered
        ),
    )?;
    let tokens = told.tokens;
    row(out, "tokens", &tokens.total())?;
    for (class, n) in [
        ("input", tokens.input),
        ("cache read", tokens.cache_read),
        ("cache write", tokens.cache_write),
        ("output", tokens.output),
        ("reasoning", tokens.reasoning),
    ] {
        writeln!(out, "  {class:<24} {n:>8}")?;
    }
    row(out, "cost", &dollars(told.cost))?;
    Ok(())
}
