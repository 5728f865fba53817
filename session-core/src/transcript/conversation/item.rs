//! A conversation, item by item.

use serde_json::value::RawValue;

use super::{Made, Reply, Step};
use crate::SeqNum;
use crate::transcript::Role;
use crate::transcript::tree::Entry;

/// Where an item comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A message of the log, or the parts of one reply.
    Log,
    /// A compaction of the log.
    Checkpoint,
    /// Replay made it: the answer to a call that has no result.
    Closing,
}

/// One message of a conversation.
#[derive(Clone, Debug)]
pub struct Item<'a> {
    /// Who speaks.
    pub role: Role,
    /// Where it comes from.
    pub origin: Origin,
    /// The event that it is from, the first if there are several; of a closing the one that made
    /// the call.
    pub seq: SeqNum,
    /// The events that it is from, in order: one for each part of a reply, none for a closing.
    pub parts: Vec<SeqNum>,
    /// The provider's own JSON, byte for byte: one for each part of a reply, none for what replay
    /// made and for checkpoints in words.
    pub natives: Vec<&'a RawValue>,
    /// The words of a checkpoint or closing that has no provider's JSON.
    pub text: Option<&'a str>,
    /// Ids and names of the calls that it makes.
    pub calls: Vec<(&'a str, &'a str)>,
    /// The ids of the calls that it answers, in the order of the calls. A message with several
    /// results stays whole.
    pub answers: Vec<&'a str>,
    /// A reply that broke off: what had arrived of it.
    pub cut: bool,
    /// Written by the harness, not typed by a person or made by the model.
    pub injected: bool,
    entry: Option<&'a Entry>,
}

impl Item<'_> {
    fn is(&self, entry: &Entry) -> bool {
        self.entry.is_some_and(|own| std::ptr::eq(own, entry))
    }
}

pub(super) fn items<'a>(steps: &[Step<'a>]) -> Vec<Item<'a>> {
    let mut out = Vec::with_capacity(steps.len());
    for step in steps {
        match step {
            Step::Checkpoint { entry, words } => out.push(Item {
                text: Some(words),
                ..item(entry)
            }),
            Step::Say { entry, rest } => {
                // What answers a call was handed out behind the call, as a whole.
                if !rest || !out.iter().rev().any(|item: &Item<'_>| item.is(entry)) {
                    out.push(item(entry));
                }
            }
            Step::Reply(reply) => {
                let Some(first) = reply.parts.first() else {
                    continue;
                };
                out.push(Item {
                    natives: reply
                        .parts
                        .iter()
                        .filter_map(|part| part.native())
                        .collect(),
                    parts: reply.parts.iter().map(|part| part.seq).collect(),
                    calls: reply.calls.iter().map(made).collect(),
                    cut: reply.is_cut(),
                    ..item(first)
                });
                answers(reply, &mut out);
            }
        }
    }
    out
}

fn made<'a>(made: &Made<'a>) -> (&'a str, &'a str) {
    (&made.call.id, &made.call.name)
}

fn item(entry: &Entry) -> Item<'_> {
    let origin = match entry.inner || entry.is_checkpoint() {
        true => Origin::Checkpoint,
        false => Origin::Log,
    };
    Item {
        role: entry.role,
        origin,
        seq: entry.seq,
        parts: vec![entry.seq],
        natives: entry.native().into_iter().collect(),
        text: None,
        calls: Vec::new(),
        answers: Vec::new(),
        cut: false,
        injected: entry.injected,
        entry: Some(entry),
    }
}

fn answers<'a>(reply: &Reply<'a>, out: &mut Vec<Item<'a>>) {
    let first = out.len();
    for made in &reply.calls {
        let id = made.call.id.as_str();
        match made.answer {
            Some((entry, _)) => {
                let new = out.iter_mut().skip(first);
                let mut same = new.filter(|i| i.is(entry));
                match same.next() {
                    Some(item) => item.answers.push(id),
                    None => out.push(Item {
                        answers: vec![id],
                        ..item(entry)
                    }),
                }
            }
            None => out.push(Item {
                role: Role::Tool,
                origin: Origin::Closing,
                seq: reply
                    .parts
                    .get(made.part)
                    .map_or(SeqNum::ZERO, |part| part.seq),
                parts: Vec::new(),
                natives: Vec::new(),
                text: Some(super::INTERRUPTED),
                calls: Vec::new(),
                answers: vec![id],
                cut: false,
                injected: true,
                entry: None,
            }),
        }
    }
}
