//! The counts, told.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Write;

use serde::Serialize;
use sessionlog::transcript::{Forked, Oddity, Origins, Tokens};
use sessionlog::{Kind, Timestamp};

use super::counts::OfKind;
use crate::context::Context;
use crate::failure::Outcome;
use crate::text::{bytes, dollars, line};

/// What is told of a session.
#[derive(Serialize)]
pub(super) struct Told<'a> {
    pub(super) id: &'a str,
    pub(super) events: u64,
    pub(super) bytes: u64,
    pub(super) kinds: &'a BTreeMap<Kind, OfKind>,
    pub(super) messages: &'a BTreeMap<&'static str, u64>,
    pub(super) calls: u64,
    pub(super) results: u64,
    pub(super) unanswered: u64,
    pub(super) tokens: Tokens,
    pub(super) inherited: Tokens,
    pub(super) models: BTreeMap<&'a str, Tokens>,
    pub(super) cache_hit_rate: Option<f64>,
    pub(super) cost: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cost_by_prices: Option<Option<f64>>,
    pub(super) turns: u64,
    pub(super) branches: u64,
    pub(super) agents: Vec<&'a str>,
    pub(super) forked_from: Option<&'a Origins>,
    pub(super) forks: &'a [Forked],
    pub(super) succeeded_by: Option<&'a str>,
    pub(super) oddities: &'a [Oddity],
    pub(super) first: Option<Timestamp>,
    pub(super) last: Option<Timestamp>,
}

/// Prints them.
pub(super) fn print(told: &Told<'_>, cx: &mut Context<'_, '_>) -> Outcome<()> {
    let paint = cx.paint();
    let out = cx.out();
    writeln!(out, "{}", paint.strong(told.id))?;
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
    tokens(told, out)?;
    row(out, "cost", &dollars(told.cost))?;
    if let Some(cost) = told.cost_by_prices.filter(|_| told.cost.is_none()) {
        row(out, "by prices", &dollars(cost))?;
    }
    for agent in &told.agents {
        row(out, "sub-agent", &line(agent))?;
    }
    if told.branches > 1 {
        row(out, "branches", &told.branches)?;
    }
    if let Some(from) = told.forked_from {
        let from = format!("{} at #{}", line(&from.from), from.at);
        row(out, "forked from", &from)?;
    }
    for fork in told.forks {
        row(
            out,
            "forked into",
            &format_args!("{} at #{}", line(&fork.into), fork.at),
        )?;
    }
    if let Some(next) = told.succeeded_by {
        row(out, "goes on in", &line(next))?;
    }
    for odd in told.oddities {
        let told = format_args!(
            "{} of {}: {} (#{}…#{})",
            odd.count, odd.kind, odd.odd, odd.first, odd.last
        );
        row(out, "odd", &told)?;
    }
    Ok(())
}

fn row(out: &mut dyn Write, name: &str, value: &dyn Display) -> std::io::Result<()> {
    writeln!(out, "{name:<13} {value}")
}

/// The tokens by class, then by model, and how much of the input a cache had.
fn tokens(told: &Told<'_>, out: &mut dyn Write) -> std::io::Result<()> {
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
    let inherited = told.inherited.total();
    if inherited > 0 {
        writeln!(out, "  {:<24} {inherited:>8}", "used before the fork")?;
    }
    if told.models.len() > 1 {
        for (model, tokens) in &told.models {
            let model = if model.is_empty() {
                "(no model)"
            } else {
                model
            };
            writeln!(out, "  {:<24} {:>8}", line(model), tokens.total())?;
        }
    } else if let Some(model) = told.models.keys().find(|model| !model.is_empty()) {
        row(out, "model", &line(model))?;
    }
    let rate = told.cache_hit_rate;
    let rate = rate.map_or("n/a".to_owned(), |rate| format!("{:.1} %", rate * 100.0));
    row(out, "cache hits", &rate)
}
