//! The trail of a session, from its own events and from results of imported calls.

use std::collections::HashMap;

use serde::Serialize;
use sessionlog::transcript::{Audit, Audited, Message, kinds};
use sessionlog::{Event, Projection, SeqNum};

use super::refusal::{Refusal, refusal};

/// What became of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Granted,
    Refused,
    Pending,
}

/// An action.
#[derive(Debug)]
pub(super) struct Row {
    /// Of the request, or of the call.
    pub(super) id: String,
    pub(super) state: State,
    pub(super) tool: Option<String>,
    pub(super) detail: Option<String>,
    pub(super) rule: Option<String>,
    pub(super) by: Option<String>,
    pub(super) asked: Option<SeqNum>,
    pub(super) resolved: Option<SeqNum>,
    /// `permission`: from events; `result`: from what the result of a call says.
    pub(super) source: &'static str,
}

/// A fold over a log.
#[derive(Debug, Default)]
pub(super) struct Trail {
    audit: Audit,
    refused: Vec<Row>,
    /// Imported calls that have no result yet: where they are, and their tools.
    calls: HashMap<String, (SeqNum, String)>,
}

impl Trail {
    pub(super) fn add(&mut self, event: &Event) {
        self.audit.apply(event);
        if event.kind != kinds::MESSAGE {
            return;
        }
        let Ok(message) = event.data.view::<Message<'_>>() else {
            return;
        };
        if message.source.is_none() {
            return;
        }
        for result in &message.results {
            let call = self.calls.remove(&result.id);
            if let Some(Refusal { by, rule, words }) = refusal(&message, &result.id) {
                let (asked, tool) = call.unzip();
                self.refused.push(Row {
                    id: result.id.clone(),
                    state: State::Refused,
                    tool,
                    detail: words,
                    rule,
                    by,
                    asked,
                    resolved: Some(event.seq),
                    source: "result",
                });
            }
        }
        for call in message.calls {
            self.calls.insert(call.id, (event.seq, call.name));
        }
    }

    /// All actions, in the order in which they came up.
    pub(super) fn rows(self) -> Vec<Row> {
        let own = self.audit.all().iter().map(row);
        let mut rows: Vec<Row> = own.chain(self.refused).collect();
        rows.sort_by_key(|row| row.asked.or(row.resolved));
        rows
    }
}

fn row(it: &Audited) -> Row {
    let asked = it.asked.as_ref();
    let resolved = it.resolved.as_ref();
    let id = asked.map(|asked| &asked.request.id);
    let id = id.or_else(|| resolved.map(|(_, it)| &it.id));
    Row {
        id: id.cloned().unwrap_or_default(),
        state: match resolved {
            None => State::Pending,
            Some((_, it)) if it.allowed => State::Granted,
            Some(_) => State::Refused,
        },
        tool: asked.and_then(|asked| asked.request.tool.clone()),
        detail: asked.and_then(|asked| asked.request.detail.clone()),
        rule: resolved.and_then(|(_, it)| it.rule.clone()),
        by: resolved.and_then(|(_, it)| it.by.clone()),
        asked: asked.map(|asked| asked.seq),
        resolved: resolved.map(|(seq, _)| *seq),
        source: "permission",
    }
}
