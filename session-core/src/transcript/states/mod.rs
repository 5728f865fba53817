//! What else a session is besides its conversations: one small fold in each file.

mod agents;

pub use agents::{Agent, AgentEnded, AgentStarted, Agents};
