//! What a transcript knows besides its conversations.

use super::Transcript;
use super::states::{
    Agents, Board, Files, Lineage, Notes, Permissions, Processes, Settings, Spending, Titles, Turns,
};

impl Transcript {
    /// The sub-agents.
    pub fn sub_agents(&self) -> &Agents {
        &self.states.agents
    }

    /// Channels, triggers, scratchpad and jobs.
    pub fn board(&self) -> &Board {
        &self.states.board
    }

    /// Files that were read and changed.
    pub fn files(&self) -> &Files {
        &self.states.files
    }

    /// Where the session comes from, and where it goes on.
    pub fn lineage(&self) -> &Lineage {
        &self.states.lineage
    }

    /// Notices, pauses and reports.
    pub fn notes(&self) -> &Notes {
        &self.states.notes
    }

    /// Permissions that wait. The whole trail is a projection of its own,
    /// [`Audit`](super::Audit).
    pub fn permissions(&self) -> &Permissions {
        &self.states.permissions
    }

    /// Processes that run.
    pub fn processes(&self) -> &Processes {
        &self.states.processes
    }

    /// The settings at the tail.
    pub fn settings(&self) -> &Settings {
        &self.states.settings
    }

    /// Tokens and cost.
    pub fn spending(&self) -> &Spending {
        &self.states.spending
    }

    /// The title.
    pub fn titles(&self) -> &Titles {
        &self.states.titles
    }

    /// The turns.
    pub fn turns(&self) -> &Turns {
        &self.states.turns
    }
}
