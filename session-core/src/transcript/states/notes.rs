//! Notices, pauses and reports of the harness.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::SeqNum;

/// The payload of [`kinds::NOTICE`](crate::transcript::kinds::NOTICE).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// What the user is told.
    #[serde(default)]
    pub text: String,
}

/// The payload of [`kinds::SESSION_PAUSED`](crate::transcript::kinds::SESSION_PAUSED).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Paused {
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The limit that was met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Until when, in the words of whoever set the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// The payload of [`kinds::REPORT_FILED`](crate::transcript::kinds::REPORT_FILED).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReportFiled<'a> {
    /// The name of the report: of several with one name the last counts.
    pub report: String,
    /// What it says.
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    pub body: Option<&'a RawValue>,
}

/// A report.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Where it was filed.
    pub seq: SeqNum,
    /// Whether it still speaks of things as they are: no message and no change of a file came
    /// after it.
    pub current: bool,
    /// What it says, byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Box<RawValue>>,
}

/// What the harness noted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Notes {
    notices: VecDeque<(SeqNum, String)>,
    paused: Option<(SeqNum, Paused)>,
    reports: BTreeMap<String, Report>,
}

/// So many notices are kept.
const NOTICES: usize = 16;

impl Notes {
    /// The last 16 notices, and where they are.
    pub fn notices(&self) -> impl Iterator<Item = (SeqNum, &str)> {
        self.notices.iter().map(|(seq, text)| (*seq, text.as_str()))
    }

    /// The pause that the session is in, and where it began. It ends with `session.resumed` and
    /// with the next turn.
    pub fn paused(&self) -> Option<(SeqNum, &Paused)> {
        self.paused.as_ref().map(|(seq, paused)| (*seq, paused))
    }

    /// The last report of each name.
    pub fn reports(&self) -> impl Iterator<Item = (&str, &Report)> {
        self.reports
            .iter()
            .map(|(name, report)| (name.as_str(), report))
    }

    pub(in crate::transcript) fn note(&mut self, seq: SeqNum, notice: Notice) {
        if self.notices.len() == NOTICES {
            self.notices.pop_front();
        }
        self.notices.push_back((seq, notice.text));
    }

    pub(in crate::transcript) fn pause(&mut self, seq: SeqNum, paused: Paused) {
        self.paused = Some((seq, paused));
    }

    pub(in crate::transcript) fn go_on(&mut self) {
        self.paused = None;
    }

    pub(in crate::transcript) fn file(&mut self, seq: SeqNum, it: ReportFiled<'_>) {
        let body = it.body.filter(|body| body.get() != "null");
        let report = Report {
            seq,
            current: true,
            body: body.map(ToOwned::to_owned),
        };
        self.reports.insert(it.report, report);
    }

    /// Something happened that reports do not know of.
    pub(in crate::transcript) fn outdate(&mut self) {
        self.reports
            .values_mut()
            .for_each(|report| report.current = false);
    }
}
