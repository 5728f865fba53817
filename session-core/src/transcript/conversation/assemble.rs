//! From the entries of a path to a conversation.

use std::collections::HashMap;

use super::aside::Seen;
use super::{Aside, Conversation, Made, OpenCall, Reply, Step};
use crate::transcript::Role;
use crate::transcript::tree::{Entry, Flow, Open};

/// A reply while its parts are found. Calls are named by the entry that makes them and their place
/// in it.
#[derive(Default)]
struct Draft<'a> {
    parts: Vec<usize>,
    answers: HashMap<(usize, usize), (&'a Entry, usize)>,
}

struct Assembly<'a> {
    entries: Vec<&'a Entry>,
    /// The reply that an entry is a part of.
    reply: Vec<Option<usize>>,
    drafts: Vec<Draft<'a>>,
    /// Whether a result of the entry is part of the conversation.
    answers: Vec<bool>,
    aside: Vec<Aside>,
    open: Vec<Open>,
}

impl<'a> Conversation<'a> {
    pub(in crate::transcript) fn of(entries: Vec<&'a Entry>) -> Self {
        let mut assembly = Assembly {
            reply: vec![None; entries.len()],
            answers: vec![false; entries.len()],
            entries,
            drafts: Vec::new(),
            aside: Vec::new(),
            open: Vec::new(),
        };
        assembly.admit();
        assembly.conversation()
    }
}

impl<'a> Assembly<'a> {
    fn admit(&mut self) {
        let mut flow = Flow::default();
        let mut seen = Seen::default();
        for (index, entry) in self.entries.clone().into_iter().enumerate() {
            let admitted = flow.admit(index, entry);
            if entry.role == Role::Assistant && !entry.is_checkpoint() {
                let known = admitted.joins.and_then(|first| *self.reply.get(first)?);
                let draft = known.unwrap_or(self.drafts.len());
                if known.is_none() {
                    self.drafts.push(Draft::default());
                }
                if let Some(draft) = self.drafts.get_mut(draft) {
                    draft.parts.push(index);
                }
                set(&mut self.reply, index, Some(draft));
                entry.calls.iter().for_each(|call| seen.call(&call.id));
            }
            for (nth, (result, answer)) in entry.results.iter().zip(&admitted.answers).enumerate() {
                let placed = answer
                    .as_ref()
                    .and_then(|open| self.place(open, (entry, nth)));
                match placed {
                    Some(()) => {
                        seen.answered(&result.id);
                        set(&mut self.answers, index, true);
                    }
                    None => self.aside.push(Aside {
                        seq: entry.seq,
                        id: result.id.clone(),
                        why: seen.why(&result.id),
                    }),
                }
            }
            if entry.role == Role::Tool && entry.results.is_empty() {
                self.aside.push(Aside {
                    seq: entry.seq,
                    id: String::new(),
                    why: seen.why(""),
                });
            }
        }
        self.open = flow.open().to_vec();
    }

    fn place(&mut self, open: &Open, answer: (&'a Entry, usize)) -> Option<()> {
        let draft = (*self.reply.get(open.entry)?)?;
        let answers = &mut self.drafts.get_mut(draft)?.answers;
        answers.insert((open.entry, open.call), answer);
        Some(())
    }

    fn conversation(mut self) -> Conversation<'a> {
        let mut steps = Vec::with_capacity(self.entries.len());
        // What a checkpoint kept stands behind it in the conversation, and before it in the log.
        let checkpoint = self.entries.iter().rposition(|entry| entry.is_checkpoint());
        let checkpoint = checkpoint
            .and_then(|at| self.entries.get(at))
            .map(|e| e.seq);
        let (first, behind): (Vec<_>, Vec<_>) = (self.entries.clone().into_iter().enumerate())
            .partition(|(_, entry)| Some(entry.seq) == checkpoint);
        for (index, entry) in first.into_iter().chain(behind) {
            let answers = self.answers.get(index) == Some(&true);
            let reply = self.reply.get(index).copied().flatten();
            if let Some(words) = &entry.checkpoint {
                if !words.is_empty() {
                    steps.push(Step::Checkpoint { entry, words });
                }
            } else if let Some(draft) = reply {
                let draft = self.drafts.get_mut(draft);
                let begins = |draft: &Draft<'_>| draft.parts.first() == Some(&index);
                if let Some(draft) = draft.filter(|draft| begins(draft)).map(std::mem::take) {
                    steps.push(Step::Reply(self.reply(&draft)));
                }
            } else if entry.results.is_empty() && entry.role != Role::Tool {
                steps.push(Step::Say { entry, rest: false });
            } else if entry.role != Role::Tool && (answers || entry.has_more_than_results()) {
                steps.push(Step::Say { entry, rest: true });
            }
        }
        let open = std::mem::take(&mut self.open);
        let open = open.iter().filter_map(|open| {
            let entry = self.entries.get(open.entry)?;
            let call = entry.calls.get(open.call)?;
            Some(OpenCall {
                seq: entry.seq,
                id: call.id.clone(),
                name: call.name.clone(),
            })
        });
        Conversation {
            steps,
            open: open.collect(),
            aside: self.aside,
        }
    }

    fn reply(&self, draft: &Draft<'a>) -> Reply<'a> {
        let parts: Vec<_> = draft
            .parts
            .iter()
            .filter_map(|at| Some((*at, *self.entries.get(*at)?)))
            .collect();
        let whole = parts.iter().rposition(|(_, part)| part.whole).unwrap_or(0);
        let mut calls: Vec<Made<'a>> = Vec::new();
        for (part, (index, entry)) in parts.iter().skip(whole).enumerate() {
            calls.extend(entry.calls.iter().enumerate().map(|(nth, call)| Made {
                part,
                call,
                answer: draft.answers.get(&(*index, nth)).copied(),
            }));
        }
        // A result that came before the whole reply answers the call of the same id in it.
        for (index, entry) in parts.iter().take(whole) {
            for (nth, call) in entry.calls.iter().enumerate() {
                let answer = draft.answers.get(&(*index, nth)).copied();
                let same = |made: &&mut Made<'_>| made.call.id == call.id && made.answer.is_none();
                if let (Some(_), Some(made)) = (answer, calls.iter_mut().find(same)) {
                    made.answer = answer;
                }
            }
        }
        let parts = parts.into_iter().skip(whole).map(|(_, part)| part);
        Reply {
            parts: parts.collect(),
            calls,
        }
    }
}

fn set<T>(all: &mut [T], at: usize, value: T) {
    if let Some(slot) = all.get_mut(at) {
        *slot = value;
    }
}
