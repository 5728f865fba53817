//! What came of each session and of all, told.

use serde::Serialize;
use sessionlog::{Copied, Error, SessionId};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{self, Problem};
use crate::text::{bytes, line, plural};

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Line<'a> {
    Session {
        id: &'a str,
        status: &'static str,
        already: u64,
        events: u64,
        bytes: u64,
        blobs: u64,
        blob_bytes: u64,
        snapshots: u64,
        tail: u64,
        sum: String,
    },
    Failed {
        id: &'a str,
        error: &'a Problem,
    },
    Summary(&'a Tally),
}

/// Counts, and how the program ends.
#[derive(Serialize)]
pub(super) struct Tally {
    dry_run: bool,
    sessions: u64,
    copied: u64,
    continued: u64,
    already: u64,
    failed: u64,
    events: u64,
    bytes: u64,
    blobs: u64,
    blob_bytes: u64,
    #[serde(skip)]
    exit: Exit,
}

impl Tally {
    pub(super) fn new(dry_run: bool) -> Self {
        Self {
            dry_run,
            sessions: 0,
            copied: 0,
            continued: 0,
            already: 0,
            failed: 0,
            events: 0,
            bytes: 0,
            blobs: 0,
            blob_bytes: 0,
            exit: Exit::OK,
        }
    }

    /// The worst exit of any session.
    pub(super) fn exit(&self) -> Exit {
        self.exit
    }

    /// Counts and tells what came of a session.
    pub(super) fn add(
        &mut self,
        id: &SessionId,
        outcome: &sessionlog::Result<Copied>,
        cx: &mut Context<'_, '_>,
    ) -> failure::Outcome<()> {
        self.sessions += 1;
        match outcome {
            Ok(copied) => self.copied(id, copied, cx)?,
            Err(error) => self.failed(id, error, cx)?,
        }
        Ok(cx.out().flush()?)
    }

    fn copied(
        &mut self,
        id: &SessionId,
        copied: &Copied,
        cx: &mut Context<'_, '_>,
    ) -> failure::Outcome<()> {
        let (status, count) = if copied.already == 0 && copied.events > 0 {
            ("copied", &mut self.copied)
        } else if copied.is_nothing() && copied.already == copied.head.tail.get() {
            ("already", &mut self.already)
        } else {
            ("continued", &mut self.continued)
        };
        *count += 1;
        self.events += copied.events;
        self.bytes += copied.bytes;
        self.blobs += copied.blobs;
        self.blob_bytes += copied.blob_bytes;
        if cx.json() {
            return cx.json_line(&Line::Session {
                id: id.as_str(),
                status,
                already: copied.already,
                events: copied.events,
                bytes: copied.bytes,
                blobs: copied.blobs,
                blob_bytes: copied.blob_bytes,
                snapshots: copied.snapshots,
                tail: copied.head.tail.get(),
                sum: copied.head.sum.to_string(),
            });
        }
        let paint = cx.paint();
        let would = if self.dry_run { "would be " } else { "" };
        let mut parts = vec![format!(
            "{} ({})",
            plural(copied.events, "event"),
            bytes(copied.bytes)
        )];
        if copied.blobs > 0 {
            let (n, size) = (plural(copied.blobs, "blob"), bytes(copied.blob_bytes));
            parts.push(format!("{n} ({size})"));
        }
        let parts = parts.join(", ");
        let out = cx.out();
        match status {
            "copied" => writeln!(out, "{would}{} {id}: {parts}", paint.good("copied"))?,
            "continued" => {
                let good = paint.good("continued");
                writeln!(out, "{would}{good} {id}: {parts} more")?;
            }
            _ => writeln!(out, "{} {id}", paint.dim("already there"))?,
        }
        Ok(())
    }

    fn failed(
        &mut self,
        id: &SessionId,
        error: &Error,
        cx: &mut Context<'_, '_>,
    ) -> failure::Outcome<()> {
        self.failed += 1;
        self.exit = self.exit.worse(Exit::of(error.kind()));
        if cx.json() {
            let error = &Problem::of(error);
            let id = id.as_str();
            return cx.json_line(&Line::Failed { id, error });
        }
        let told = line(&failure::chain(error));
        let bad = cx.paint().bad("failed");
        Ok(writeln!(cx.out(), "{bad} {id}: {told}")?)
    }

    pub(super) fn tell(&self, cx: &mut Context<'_, '_>) -> failure::Outcome<()> {
        if cx.json() {
            return cx.json_line(&Line::Summary(self));
        }
        let mut parts = Vec::new();
        for (n, what) in [
            (self.copied, "copied"),
            (self.continued, "continued"),
            (self.already, "already there"),
            (self.failed, "failed"),
        ] {
            if n > 0 {
                parts.push(format!("{n} {what}"));
            }
        }
        let sessions = plural(self.sessions, "session");
        let (events, size) = (plural(self.events, "event"), bytes(self.bytes));
        let would = if self.dry_run {
            "dry run, nothing was written: "
        } else {
            ""
        };
        let out = cx.out();
        if self.sessions == 0 {
            writeln!(out, "{would}the source has no sessions")?;
        } else {
            let parts = parts.join(", ");
            writeln!(out, "{would}{sessions}: {parts}; {events} ({size})")?;
        }
        if self.failed > 0 {
            cx.hint("mend what failed; the same copy again goes on where this one ended")?;
        }
        Ok(())
    }
}
