//! A wrapper that keeps what was asked of a backend and what it answered, for failures.

mod blob;
mod lease;
mod log;
mod snapshot;
mod upkeep;

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sessionlog_core::{
    AppendCondition, Backend, ErrorKind, FencingToken, NewEvent, Result, SessionRef,
};

use crate::make;

/// What was done in a law, one short line a step.
#[derive(Clone, Default)]
pub(crate) struct Trail(Arc<Mutex<Lines>>);

#[derive(Default)]
struct Lines {
    first: Vec<String>,
    last: VecDeque<String>,
    dropped: usize,
}

impl Trail {
    const FIRST: usize = 20;
    const LAST: usize = 40;

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn line(&self, line: String) {
        let mut lines = self.lock();
        if lines.first.len() < Self::FIRST {
            lines.first.push(line);
            return;
        }
        lines.last.push_back(line);
        if lines.last.len() > Self::LAST {
            lines.last.pop_front();
            lines.dropped += 1;
        }
    }

    /// Forgets what was done so far.
    pub(crate) fn clear(&self) {
        *self.lock() = Lines::default();
    }

    /// All lines, or the first and last of many.
    pub(crate) fn lines(&self) -> Vec<String> {
        let lines = self.lock();
        let mut all = lines.first.clone();
        if lines.dropped > 0 {
            all.push(format!("… {} more …", lines.dropped));
        }
        all.extend(lines.last.iter().cloned());
        all
    }
}

/// A backend whose calls leave a trail.
pub(crate) struct Traced {
    pub(crate) inner: Arc<dyn Backend>,
    /// Which handle it is: `a`, `b`, …
    pub(crate) handle: char,
    pub(crate) trail: Trail,
    /// Whether it has no snapshots, whatever the store has.
    pub(crate) forgets: bool,
}

impl Traced {
    fn note<T>(&self, call: &str, result: &Result<T>, show: impl FnOnce(&T) -> String) {
        let outcome = match result {
            Ok(value) => show(value),
            Err(error) => kind(error.kind()),
        };
        self.call(&format!("{call} -> {outcome}"));
    }

    fn call(&self, call: &str) {
        self.trail.line(format!("{} {call}", self.handle));
    }
}

fn done(_: &()) -> String {
    "ok".to_owned()
}

/// An error kind in a few words.
pub(crate) fn kind(kind: &ErrorKind) -> String {
    match kind {
        ErrorKind::Conflict { tail } => format!("conflict, tail {tail}"),
        ErrorKind::Fenced { token } => format!("fenced, newest {token}"),
        ErrorKind::LeaseHeld { holder, .. } => format!("held by {}", holder.owner),
        ErrorKind::Corrupt { place } => format!("corrupt, {place}"),
        other => other.name().to_owned(),
    }
}

fn under(token: Option<FencingToken>) -> String {
    token.map_or(String::new(), |t| format!(" token {t}"))
}

fn condition(condition: AppendCondition) -> String {
    let tail = condition
        .tail
        .map_or(String::new(), |t| format!(" if tail {t}"));
    format!("{tail}{}", under(condition.token))
}

fn life(session: &SessionRef) -> String {
    let text = session.incarnation.to_string();
    let end = text.get(text.len().saturating_sub(4)..).unwrap_or_default();
    format!("{}~{end}", session.id)
}

fn batch(events: &[NewEvent]) -> String {
    let mut out = String::from("[");
    for (i, event) in events.iter().take(4).enumerate() {
        if i > 0 {
            out.push(' ');
        }
        // Writing to a string can't fail.
        let _ = match make::number_of(event.id) {
            Some(n) => write!(out, "#{n}"),
            None => write!(out, "{}", event.id),
        };
    }
    if events.len() > 4 {
        let _ = write!(out, " … {} events", events.len());
    }
    out.push(']');
    out
}
