//! Ids of calls that an API takes.

use std::collections::HashSet;

use super::{Lost, Rendered};
use crate::transcript::conversation::Reply;

/// Gives each call its id: its own where that can be.
pub(super) struct Ids {
    used: HashSet<String>,
    /// Whether an id may come again in another reply.
    again: bool,
    allowed: fn(&str) -> bool,
}

impl Ids {
    pub(super) fn new(again: bool, allowed: fn(&str) -> bool) -> Self {
        Self {
            used: HashSet::new(),
            again,
            allowed,
        }
    }

    /// The ids of the calls of a reply.
    pub(super) fn of(&mut self, reply: &Reply<'_>, out: &mut Rendered) -> Vec<String> {
        if self.again {
            self.used.clear();
        }
        let mut ids = Vec::with_capacity(reply.calls.len());
        for (nth, made) in reply.calls.iter().enumerate() {
            let id = &made.call.id;
            let own = !id.is_empty() && (self.allowed)(id) && !self.used.contains(id);
            let id = if own {
                id.clone()
            } else {
                let seq = reply.parts.get(made.part).map(|part| part.seq);
                let seq = seq.unwrap_or_default();
                out.lose(seq, Lost::CallId);
                self.fresh(&format!("call_{seq}_{nth}"))
            };
            self.used.insert(id.clone());
            ids.push(id);
        }
        ids
    }

    fn fresh(&self, stem: &str) -> String {
        let mut id = stem.to_owned();
        while self.used.contains(&id) {
            id.push('x');
        }
        id
    }
}
