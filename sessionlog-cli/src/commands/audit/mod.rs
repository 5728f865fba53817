//! `audit`: what was asked, which rule matched, who granted.

mod refusal;
mod trail;

use clap::Args;
use serde::Serialize;
use sessionlog::SeqNum;

use self::trail::{Row, State, Trail};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::text::{line, plural};

/// Tell what was asked, which rule matched, who granted, and what still waits
///
/// Requests and their answers are matched by id, never by place, and silence is no consent. Sessions
/// of other tools do not record what was asked: of those, the calls are told that the result says
/// were refused.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog audit 019ab3
  sessionlog audit 019ab3 --pending                      only what waits
  sessionlog audit 019ab3 --json | jq 'select(.state == \"refused\")'")]
pub(crate) struct Audit {
    /// The session: its id, or the beginning of it
    id: String,

    /// Only what nobody has decided
    #[arg(long)]
    pending: bool,
}

#[derive(Serialize)]
struct Told<'a> {
    id: &'a str,
    state: State,
    tool: Option<&'a str>,
    detail: Option<&'a str>,
    rule: Option<&'a str>,
    by: Option<&'a str>,
    asked: Option<u64>,
    resolved: Option<u64>,
    source: &'static str,
}

impl Audit {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let session = cx.session(&self.id).await?;
        let mut trail = Trail::default();
        let mut events = session.read(SeqNum::all());
        while let Some(chunk) = events.next_chunk().await {
            chunk?.iter().for_each(|event| trail.add(event));
        }
        let rows = trail.rows();
        let wanted = |row: &&Row| !self.pending || row.state == State::Pending;
        if cx.json() {
            for row in rows.iter().filter(wanted) {
                cx.json_line(&row.told())?;
            }
            return Ok(Exit::OK);
        }
        let id = session.id();
        let n = |state| rows.iter().filter(|row| row.state == state).count() as u64;
        let (granted, refused, pending) = (n(State::Granted), n(State::Refused), n(State::Pending));
        let actions = plural(rows.len() as u64, "action");
        writeln!(
            cx.out(),
            "{id}: {actions}, {granted} granted, {refused} refused, {pending} pending"
        )?;
        for row in rows.iter().filter(wanted) {
            row.print(cx)?;
        }
        Ok(Exit::OK)
    }
}

impl Row {
    fn told(&self) -> Told<'_> {
        Told {
            id: &self.id,
            state: self.state,
            tool: self.tool.as_deref(),
            detail: self.detail.as_deref(),
            rule: self.rule.as_deref(),
            by: self.by.as_deref(),
            asked: self.asked.map(SeqNum::get),
            resolved: self.resolved.map(SeqNum::get),
            source: self.source,
        }
    }

    fn print(&self, cx: &mut Context<'_, '_>) -> Outcome<()> {
        let paint = cx.paint();
        let state = match self.state {
            State::Granted => paint.good("granted").to_string(),
            State::Refused => paint.bad("refused").to_string(),
            State::Pending => paint.warn("pending").to_string(),
        };
        let mut what = line(self.tool.as_deref().unwrap_or_default());
        for detail in self.detail.iter().filter(|detail| !detail.is_empty()) {
            if !what.is_empty() {
                what.push(' ');
            }
            what.push_str(&line(detail));
        }
        let mut how = Vec::new();
        how.push(line(&self.id));
        how.extend(
            self.rule
                .as_deref()
                .map(|rule| format!("rule {}", line(rule))),
        );
        how.extend(self.by.as_deref().map(|by| format!("by {}", line(by))));
        how.extend(self.asked.map(|seq| format!("asked #{seq}")));
        how.extend(self.resolved.map(|seq| format!("decided #{seq}")));
        if self.asked.is_none() && self.source == "permission" {
            how.push("nobody was asked".to_owned());
        }
        let how: String = how.iter().map(|part| format!(" · {part}")).collect();
        writeln!(cx.out(), "  {state} {what}{}", paint.dim(how))?;
        Ok(())
    }
}
