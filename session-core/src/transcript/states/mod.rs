//! What else a session is besides its conversations: small folds, each to its last state.

mod agents;
mod board;
mod files;
mod lineage;
mod notes;
mod permissions;
mod processes;
mod settings;
mod spending;
mod titles;
mod turns;

pub use agents::{Agent, AgentEnded, AgentStarted, Agents};
pub use board::{Board, Channel, ChannelSent, JobChanged, ScratchpadSet, Trigger, TriggerEvent};
pub use files::{ChangedOutside, FileState, FileTouched, Files, GitBaseline};
pub use lineage::{Forked, HandedOver, Lineage, Origins, Succeeded};
pub use notes::{Notes, Notice, Paused, Report, ReportFiled};
pub use permissions::{Audit, Audited, Pending, Permissions};
pub use processes::{ProcessExited, ProcessStarted, Processes};
pub use settings::{ProviderState, Settings};
pub use spending::{Price, Spending};
pub use titles::Titles;
pub use turns::{TurnEnded, TurnStarted, Turns};

use serde::{Deserialize, Serialize};

use super::{Message, kinds};
use crate::{Event, Result};

/// All of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct States {
    pub(super) agents: Agents,
    pub(super) board: Board,
    pub(super) files: Files,
    pub(super) lineage: Lineage,
    pub(super) notes: Notes,
    pub(super) permissions: Permissions,
    pub(super) processes: Processes,
    pub(super) settings: Settings,
    pub(super) spending: Spending,
    pub(super) titles: Titles,
    pub(super) turns: Turns,
}

impl States {
    pub(super) fn hear(&mut self, message: &Message<'_>) {
        self.spending.hear(message, self.settings.model.as_deref());
        self.titles.hear(message);
        if message.agent.is_none() {
            self.settings.hear(message);
        }
        self.notes.outdate();
    }

    /// Folds in an event that is no message; one of another kind changes nothing.
    pub(super) fn fold(&mut self, event: &Event) -> Result<()> {
        let (seq, data, kind) = (event.seq, &event.data, &event.kind);
        if *kind == kinds::TOOL_PROGRESS {
            // The bulk of many logs.
        } else if *kind == kinds::USAGE_REPORTED {
            self.spending
                .report(&data.view()?, self.settings.model.as_deref());
        } else if *kind == kinds::TURN_STARTED {
            self.turns.start(seq, data.view()?);
            self.notes.go_on();
        } else if *kind == kinds::TURN_ENDED {
            self.turns.end(&data.view()?);
        } else if *kind == kinds::PERMISSION_REQUESTED {
            self.permissions.request(seq, data.view()?);
        } else if *kind == kinds::PERMISSION_RESOLVED {
            self.permissions.resolve(&data.view()?);
        } else if *kind == kinds::FILE_READ {
            self.files.read(seq, data.view()?);
        } else if *kind == kinds::FILE_CHANGED {
            self.files.change(seq, data.view()?);
            self.notes.outdate();
        } else if *kind == kinds::GIT_BASELINE {
            self.files.begin(data.view()?);
        } else if *kind == kinds::PROCESS_STARTED {
            self.processes.start(seq, data.view()?);
        } else if *kind == kinds::PROCESS_EXITED {
            self.processes.exit(&data.view()?);
        } else if *kind == kinds::SETTINGS_CHANGED {
            self.settings.change(data.view()?);
        } else if *kind == kinds::PROVIDER_STATE {
            self.settings.keep(data.view()?);
        } else if *kind == kinds::SESSION_STARTED {
            self.settings.start(data.view()?);
        } else if *kind == kinds::SESSION_TITLED {
            self.titles.set(&data.view()?);
        } else if *kind == kinds::NOTICE {
            self.notes.note(seq, data.view()?);
        } else if *kind == kinds::REPORT_FILED {
            self.notes.file(seq, data.view()?);
        } else if *kind == kinds::AGENT_STARTED {
            self.agents.start(seq, data.view()?);
        } else if *kind == kinds::AGENT_ENDED {
            self.agents.end(seq, data.view()?);
        } else {
            return self.fold_rare(event);
        }
        Ok(())
    }

    fn fold_rare(&mut self, event: &Event) -> Result<()> {
        let (seq, data, kind) = (event.seq, &event.data, &event.kind);
        if *kind == kinds::SESSION_FORKED {
            self.lineage.forks.push(data.view()?);
        } else if *kind == kinds::SESSION_ORIGIN {
            self.lineage = Lineage {
                origin: Some(data.view()?),
                ..Lineage::default()
            };
            self.spending.inherit();
        } else if *kind == kinds::SESSION_SUCCEEDED {
            self.lineage.succeeded_by = Some(data.view::<Succeeded>()?.by);
        } else if *kind == kinds::SESSION_HANDED_OVER {
            self.lineage.handed_over = Some((seq, data.view()?));
        } else if *kind == kinds::SESSION_PAUSED {
            self.notes.pause(seq, data.view()?);
        } else if *kind == kinds::SESSION_RESUMED {
            self.notes.go_on();
        } else if *kind == kinds::CHANNEL_SENT {
            self.board.send(seq, data.view()?);
        } else if *kind == kinds::TRIGGER_SET {
            self.board.set(seq, data.view()?);
        } else if *kind == kinds::TRIGGER_FIRED {
            self.board.fire(&data.view()?);
        } else if *kind == kinds::TRIGGER_REMOVED {
            self.board.remove(&data.view()?);
        } else if *kind == kinds::SCRATCHPAD_SET {
            self.board.scribble(data.view()?);
        } else if *kind == kinds::JOB_CHANGED {
            self.board.job(seq, data.view()?);
        }
        Ok(())
    }
}
