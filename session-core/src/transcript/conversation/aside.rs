//! Results that no call waits for.

use std::collections::HashMap;
use std::fmt;

use crate::SeqNum;

/// A result that was set aside: it is in the log, and not in the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aside {
    /// The message that holds it.
    pub seq: SeqNum,
    /// The id of the call that it names.
    pub id: String,
    /// Why it was set aside.
    pub why: Why,
}

/// Why a result was set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The model had gone on without it.
    Late,
    /// The call has a result.
    Double,
    /// The conversation has no such call.
    Unknown,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Late => "late",
            Self::Double => "double",
            Self::Unknown => "unknown",
        })
    }
}

/// The calls so far, and whether the last one of each id has its result.
#[derive(Default)]
pub(super) struct Seen<'a>(HashMap<&'a str, bool>);

impl<'a> Seen<'a> {
    pub(super) fn call(&mut self, id: &'a str) {
        self.0.insert(id, false);
    }

    pub(super) fn answered(&mut self, id: &'a str) {
        self.0.insert(id, true);
    }

    pub(super) fn why(&self, id: &str) -> Why {
        match self.0.get(id) {
            None => Why::Unknown,
            Some(true) => Why::Double,
            Some(false) => Why::Late,
        }
    }
}
