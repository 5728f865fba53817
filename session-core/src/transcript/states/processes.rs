//! Processes that a session started in the background.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::SeqNum;

/// The payload of [`kinds::PROCESS_STARTED`](crate::transcript::kinds::PROCESS_STARTED).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessStarted {
    /// The name that its exit will have.
    pub process: String,
    /// The number that the operating system gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    /// What was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The tool call that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

/// The payload of [`kinds::PROCESS_EXITED`](crate::transcript::kinds::PROCESS_EXITED).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessExited {
    /// Which one.
    pub process: String,
    /// Its exit code, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
}

/// The processes that have not exited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Processes(BTreeMap<String, (SeqNum, ProcessStarted)>);

impl Processes {
    /// Those that run as far as the log knows, and where they were started.
    pub fn running(&self) -> impl Iterator<Item = (SeqNum, &ProcessStarted)> {
        self.0.values().map(|(seq, process)| (*seq, process))
    }

    pub(in crate::transcript) fn start(&mut self, seq: SeqNum, process: ProcessStarted) {
        self.0.insert(process.process.clone(), (seq, process));
    }

    pub(in crate::transcript) fn exit(&mut self, process: &ProcessExited) {
        self.0.remove(&process.process);
    }
}
