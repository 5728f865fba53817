//! What a session's driver left open.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde::{Deserialize, Serialize};
use sessionlog::Event;
use sessionlog::transcript::{Message, PermissionRequested, PermissionResolved, kinds};

/// A fold over events that knows what is still open: tool calls without a result, permissions
/// without an answer, processes without an exit, a turn without its end.
///
/// It looks at the log as it was written. Rollbacks and branches are not followed.
#[derive(Debug, Default)]
pub(crate) struct Interrupted {
    turn: Option<OpenTurn>,
    calls: HashMap<String, VecDeque<OpenCall>>,
    permissions: BTreeMap<u64, PermissionRequested>,
    processes: BTreeMap<u64, ProcessStarted>,
}

/// What was open at the end, in the order of the log.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Open {
    /// The turn that did not end.
    pub(crate) turn: Option<OpenTurn>,
    /// Tool calls without a result.
    pub(crate) calls: Vec<OpenCall>,
    /// Permissions that nobody gave or refused.
    pub(crate) permissions: Vec<OpenPermission>,
    /// Background processes that were not seen to exit.
    pub(crate) processes: Vec<OpenProcess>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct OpenTurn {
    pub(crate) seq: u64,
    pub(crate) turn: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct OpenCall {
    pub(crate) seq: u64,
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) agent: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct OpenPermission {
    pub(crate) seq: u64,
    #[serde(flatten)]
    pub(crate) asked: PermissionRequested,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct OpenProcess {
    pub(crate) seq: u64,
    #[serde(flatten)]
    pub(crate) process: ProcessStarted,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProcessStarted {
    pub(crate) process: String,
    #[serde(default)]
    pub(crate) command: Option<String>,
}

#[derive(Deserialize)]
struct Turn {
    #[serde(default)]
    turn: Option<String>,
}

#[derive(Deserialize)]
struct ProcessExited {
    process: String,
}

impl Interrupted {
    /// Folds in the next event. A payload that does not fit its kind is passed over.
    pub(crate) fn apply(&mut self, event: &Event) {
        let (seq, data) = (event.seq.get(), &event.data);
        if event.kind == kinds::MESSAGE {
            if let Ok(message) = data.view::<Message<'_>>() {
                self.message(seq, message);
            }
        } else if event.kind == kinds::TURN_STARTED {
            let turn = data.view().ok().and_then(|t: Turn| t.turn);
            self.turn = Some(OpenTurn { seq, turn });
        } else if event.kind == kinds::TURN_ENDED {
            self.turn = None;
        } else if event.kind == kinds::PERMISSION_REQUESTED {
            if let Ok(asked) = data.view() {
                self.permissions.insert(seq, asked);
            }
        } else if event.kind == kinds::PERMISSION_RESOLVED {
            if let Ok(resolved) = data.view::<PermissionResolved>() {
                self.permissions.retain(|_, asked| asked.id != resolved.id);
            }
        } else if event.kind == kinds::PROCESS_STARTED {
            if let Ok(process) = data.view() {
                self.processes.insert(seq, process);
            }
        } else if event.kind == kinds::PROCESS_EXITED
            && let Ok(exited) = data.view::<ProcessExited>()
        {
            self.processes.retain(|_, p| p.process != exited.process);
        }
    }

    fn message(&mut self, seq: u64, message: Message<'_>) {
        for result in &message.results {
            if let Some(calls) = self.calls.get_mut(&result.id) {
                calls.pop_front();
                if calls.is_empty() {
                    self.calls.remove(&result.id);
                }
            }
        }
        for call in message.calls {
            let open = OpenCall {
                seq,
                id: call.id.clone(),
                name: call.name,
                agent: message.agent.clone(),
            };
            self.calls.entry(call.id).or_default().push_back(open);
        }
    }

    /// How many calls wait for a result.
    pub(crate) fn open_calls(&self) -> u64 {
        self.calls.values().map(|calls| calls.len() as u64).sum()
    }

    /// What is open.
    pub(crate) fn into_open(self) -> Open {
        let mut calls: Vec<OpenCall> = self.calls.into_values().flatten().collect();
        // Calls of one message are told by their ids; their order in it is not kept.
        calls.sort_by(|a, b| (a.seq, &a.id).cmp(&(b.seq, &b.id)));
        let permissions = self.permissions.into_iter();
        let processes = self.processes.into_iter();
        Open {
            turn: self.turn,
            calls,
            permissions: permissions
                .map(|(seq, asked)| OpenPermission { seq, asked })
                .collect(),
            processes: processes
                .map(|(seq, process)| OpenProcess { seq, process })
                .collect(),
        }
    }
}

impl Open {
    /// Whether nothing was interrupted.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sessionlog::{Head, Kind, NewEvent, SessionRef};

    fn open(events: &[(&'static str, &str)]) -> Open {
        let at = SessionRef::fresh("s".parse().unwrap());
        let mut head = Head::genesis(&at.id, at.incarnation);
        let mut fold = Interrupted::default();
        for (kind, data) in events {
            let new = NewEvent::json(Kind::from_static(kind), (*data).to_owned()).unwrap();
            fold.apply(&head.seal(new));
        }
        fold.into_open()
    }

    #[test]
    fn what_was_answered_is_not_open() {
        let open = open(&[
            ("turn.started", r#"{"turn":"t1"}"#),
            (
                "message",
                r#"{"role":"assistant","calls":[{"id":"c1","name":"a"},{"id":"c2","name":"b"}]}"#,
            ),
            (
                "message",
                r#"{"role":"tool","results":[{"id":"c2"},{"id":"unknown"}]}"#,
            ),
            ("permission.requested", r#"{"id":"p1"}"#),
            ("permission.requested", r#"{"id":"p2","tool":"bash"}"#),
            ("permission.resolved", r#"{"id":"p1","allowed":true}"#),
            (
                "process.started",
                r#"{"process":"x","command":"npm start"}"#,
            ),
            ("process.started", r#"{"process":"y"}"#),
            ("process.exited", r#"{"process":"y","code":0}"#),
            ("message", r#"{"not":"a message"}"#),
        ]);
        assert_eq!(open.turn.unwrap().turn.as_deref(), Some("t1"));
        assert_eq!(
            open.calls.iter().map(|c| &*c.id).collect::<Vec<_>>(),
            ["c1"]
        );
        assert_eq!(
            open.permissions
                .iter()
                .map(|p| &*p.asked.id)
                .collect::<Vec<_>>(),
            ["p2"]
        );
        assert_eq!(
            open.processes
                .iter()
                .map(|p| &*p.process.process)
                .collect::<Vec<_>>(),
            ["x"]
        );
    }

    #[test]
    fn a_call_id_used_twice_needs_two_results() {
        let call = (
            "message",
            r#"{"role":"assistant","calls":[{"id":"","name":"a"}]}"#,
        );
        let result = ("message", r#"{"role":"tool","results":[{"id":""}]}"#);
        assert_eq!(open(&[call, call, result]).calls.len(), 1);
        assert!(open(&[call, result, call, result]).is_empty());
    }
}
