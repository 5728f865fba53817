//! What was interrupted, told.

use serde::Serialize;
use sessionlog::transcript::{Interrupted, PermissionRequested, ProcessStarted};

use crate::context::Context;
use crate::failure::Outcome;
use crate::text::line;

/// What was interrupted, as JSON.
#[derive(Serialize)]
pub(crate) struct OpenFields<'a> {
    turns: Vec<Turn<'a>>,
    calls: Vec<Call<'a>>,
    permissions: Vec<Permission<'a>>,
    processes: Vec<Process<'a>>,
    agents: Vec<Agent<'a>>,
    cut: bool,
    unanswered: bool,
}

#[derive(Serialize)]
struct Turn<'a> {
    seq: u64,
    turn: Option<&'a str>,
    agent: Option<&'a str>,
}

#[derive(Serialize)]
struct Call<'a> {
    seq: u64,
    id: &'a str,
    name: &'a str,
}

#[derive(Serialize)]
struct Permission<'a> {
    seq: u64,
    #[serde(flatten)]
    request: &'a PermissionRequested,
}

#[derive(Serialize)]
struct Process<'a> {
    seq: u64,
    #[serde(flatten)]
    process: &'a ProcessStarted,
}

#[derive(Serialize)]
struct Agent<'a> {
    seq: u64,
    agent: &'a str,
}

impl<'a> OpenFields<'a> {
    pub(crate) fn of(it: &'a Interrupted) -> Self {
        let turns = it.turns.iter().map(|(seq, turn)| Turn {
            seq: seq.get(),
            turn: turn.turn.as_deref(),
            agent: turn.agent.as_deref(),
        });
        let calls = it.calls.iter().map(|call| Call {
            seq: call.seq.get(),
            id: &call.id,
            name: &call.name,
        });
        let permissions = it.permissions.iter().map(|pending| Permission {
            seq: pending.seq.get(),
            request: &pending.request,
        });
        let processes = it.processes.iter().map(|(seq, process)| Process {
            seq: seq.get(),
            process,
        });
        let agents = it.agents.iter().map(|agent| Agent {
            seq: agent.at.get(),
            agent: &agent.started.agent,
        });
        Self {
            turns: turns.collect(),
            calls: calls.collect(),
            permissions: permissions.collect(),
            processes: processes.collect(),
            agents: agents.collect(),
            cut: it.cut,
            unanswered: it.unanswered,
        }
    }
}

/// Tells what was interrupted, a line each.
pub(crate) fn print_open(it: &Interrupted, cx: &mut Context<'_, '_>) -> Outcome<()> {
    let paint = cx.paint();
    let out = cx.out();
    if it.is_empty() {
        writeln!(out, "{}", paint.good("nothing was interrupted"))?;
        return Ok(());
    }
    writeln!(out, "{}", paint.warn("interrupted:"))?;
    if it.unanswered && it.calls.is_empty() {
        writeln!(out, "  the model has not replied to the last message")?;
    }
    for (seq, turn) in &it.turns {
        let name = words(&[turn.agent.as_deref(), turn.turn.as_deref()]);
        writeln!(out, "  turn{name} did not end (#{seq})")?;
    }
    if it.cut {
        writeln!(out, "  the last reply broke off")?;
    }
    for call in &it.calls {
        let (name, id) = (line(&call.name), line(&call.id));
        writeln!(out, "  call → {name} {id} has no result (#{})", call.seq)?;
    }
    for pending in &it.permissions {
        let asked = &pending.request;
        let what = words(&[asked.tool.as_deref(), asked.detail.as_deref()]);
        writeln!(
            out,
            "  permission {} waits:{what} (#{})",
            line(&asked.id),
            pending.seq
        )?;
    }
    for (seq, process) in &it.processes {
        let command = words(&[process.command.as_deref()]);
        writeln!(
            out,
            "  process {} was running:{command} (#{seq})",
            line(&process.process)
        )?;
    }
    for agent in &it.agents {
        let name = line(&agent.started.agent);
        writeln!(out, "  agent {name} was working (#{})", agent.at)?;
    }
    Ok(())
}

/// What there is of these, each behind a space.
fn words(parts: &[Option<&str>]) -> String {
    parts
        .iter()
        .flatten()
        .map(|part| format!(" {}", line(part)))
        .collect()
}
