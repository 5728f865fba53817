//! Sub-agents.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::SeqNum;

/// The payload of [`kinds::AGENT_STARTED`](crate::transcript::kinds::AGENT_STARTED).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentStarted {
    /// The name that its messages have in their field `agent`.
    pub agent: String,
    /// The agent that started it; none for the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The tool call that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// What it is to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The session that its events are in, if it is not this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// The payload of [`kinds::AGENT_ENDED`](crate::transcript::kinds::AGENT_ENDED).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentEnded {
    /// Which one.
    pub agent: String,
    /// How: `complete`, `aborted`, `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}

/// A sub-agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// How it was started.
    pub started: AgentStarted,
    /// Where it was started.
    pub at: SeqNum,
    /// How it ended, and where; none while it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<(SeqNum, AgentEnded)>,
}

/// The sub-agents of a session, by name, each in its last state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Agents(BTreeMap<String, Agent>);

impl Agents {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Agent> {
        self.0.values()
    }

    /// One of them.
    pub fn of(&self, name: &str) -> Option<&Agent> {
        self.0.get(name)
    }

    /// Those that have not ended.
    pub fn working(&self) -> impl Iterator<Item = &Agent> {
        self.all().filter(|agent| agent.ended.is_none())
    }

    pub(in crate::transcript) fn start(&mut self, at: SeqNum, started: AgentStarted) {
        let ended = None;
        let agent = started.agent.clone();
        self.0.insert(agent, Agent { started, at, ended });
    }

    pub(in crate::transcript) fn end(&mut self, at: SeqNum, ended: AgentEnded) {
        // One that is not known to have started has ended all the same.
        let agent = self.0.entry(ended.agent.clone()).or_insert_with(|| Agent {
            started: AgentStarted {
                agent: ended.agent.clone(),
                ..AgentStarted::default()
            },
            at,
            ended: None,
        });
        agent.ended = Some((at, ended));
    }
}
