//! The standard projection of an agent's session.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::oddities::{Odd, Oddities};
use super::states::States;
use super::tree::{Base, Entry, Rebuild};
use super::trees::{Branch, Trees, entries_of};
use super::weight::Weight;
use super::{AgentEnded, Conversation, Message, kinds};
use crate::{Error, Event, Projection, SeqNum};

/// What a session is at a position: its conversations, and all else that a harness needs to go on.
///
/// In memory, and in a snapshot, is what is live: the conversation from the head up to the last
/// compaction, of each agent that has not ended. What a rollback, another branch or a compaction
/// hides is positions. When the head moves into a branch that is not in memory,
/// [`missing`](Self::missing) says which events hold it, and
/// [`Session::load`](crate::Session::load) reads them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Transcript {
    events: u64,
    trees: Trees,
    oddities: Oddities,
    pub(super) states: States,
    pub(super) weight: Weight,
    /// Branches that were read again. A cache: no fold depends on it.
    #[serde(skip)]
    loaded: BTreeMap<Option<String>, (Base, Vec<Entry>)>,
}

impl Transcript {
    /// The position of the next event that is not folded in.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The conversation of an agent, `None` for the main one; empty for one that said nothing.
    ///
    /// # Errors
    /// `Unavailable` if a part of it is not in memory: see [`missing`](Self::missing).
    pub fn conversation(&self, agent: Option<&str>) -> Result<Conversation<'_>, Error> {
        let Some(tree) = self.trees.of(agent) else {
            return Ok(Conversation::default());
        };
        let path = tree.path();
        let mut entries: Vec<&Entry> = Vec::with_capacity(path.entries().len());
        if let Some(base) = path.base {
            let loaded = self.loaded.get(&agent.map(ToOwned::to_owned));
            let Some((_, loaded)) = loaded.filter(|(of, _)| *of == base) else {
                return Err(Error::unavailable(format!(
                    "a part of the conversation is not in memory, load it: the events up to {}",
                    base.at.seq
                )));
            };
            entries.extend(loaded);
        }
        entries.extend(path.entries());
        Ok(Conversation::of(entries))
    }

    /// The positions of the events that must be read before the conversation of an agent can be
    /// handed out. Empty but after a move into another branch.
    pub fn missing(&self, agent: Option<&str>) -> Vec<Range<SeqNum>> {
        let rebuild = self.rebuild(agent);
        rebuild.map(|rebuild| rebuild.ranges()).unwrap_or_default()
    }

    pub(super) fn rebuild(&self, agent: Option<&str>) -> Option<Rebuild> {
        let tree = self.trees.of(agent)?;
        let base = tree.path().base?;
        let loaded = self.loaded.get(&agent.map(ToOwned::to_owned));
        if loaded.is_some_and(|(of, _)| *of == base) {
            return None;
        }
        Some(Rebuild::new(tree.segments(), base))
    }

    /// Takes in the events that [`missing`](Self::missing) named, in order.
    pub fn fill<'e>(&mut self, agent: Option<&str>, events: impl IntoIterator<Item = &'e Event>) {
        let Some(mut rebuild) = self.rebuild(agent) else {
            return;
        };
        for event in events {
            rebuild.push(entries_of(event, agent));
        }
        self.loaded(agent, rebuild);
    }

    pub(super) fn loaded(&mut self, agent: Option<&str>, rebuild: Rebuild) {
        let agent = agent.map(ToOwned::to_owned);
        self.loaded.insert(agent, rebuild.finish());
    }

    /// The message that the next one will hang under: the end of the conversation of an agent, `None`
    /// for the main one. None before the first message, and where only the events can tell.
    pub fn head(&self, agent: Option<&str>) -> Option<SeqNum> {
        let path = self.trees.of(agent)?.path();
        if let Some(last) = path.entries().last() {
            return Some(last.seq);
        }
        let base = path.base?;
        let loaded = self.loaded.get(&agent.map(ToOwned::to_owned));
        let loaded = loaded.filter(|(of, _)| *of == base);
        match loaded {
            Some((_, entries)) => entries.last().map(|entry| entry.seq),
            None => Some(base.at.seq).filter(|_| base.at.up == 0),
        }
    }

    /// The agents besides the main one that have conversations.
    pub fn agents(&self) -> impl Iterator<Item = &str> {
        self.trees.agents()
    }

    /// The branches of a conversation: the tips that nothing hangs under, and the one that the head
    /// is in. All stay reachable by `head`.
    pub fn branches(&self, agent: Option<&str>) -> Vec<Branch> {
        self.trees.branches(agent)
    }

    /// What was passed over or followed only in part.
    pub fn oddities(&self) -> &Oddities {
        &self.oddities
    }

    fn fold(&mut self, event: &Event) -> Result<(), Error> {
        let odd = &mut self.oddities;
        if event.kind == kinds::MESSAGE {
            let message: Message<'_> = event.data.view()?;
            self.states.hear(&message);
            self.trees.message(event, message, odd);
        } else if event.kind == kinds::COMPACTION {
            self.trees.compaction(event, &event.data.view()?, odd);
        } else if event.kind == kinds::ROLLBACK {
            self.trees.rollback(&event.data.view()?);
        } else if event.kind == kinds::HEAD {
            self.trees.head(event, &event.data.view()?, odd);
        } else {
            self.trees.other(event, odd);
            self.states.fold(event)?;
            if event.kind == kinds::AGENT_ENDED {
                let ended: AgentEnded = event.data.view()?;
                self.trees.unload(&ended.agent);
            }
        }
        Ok(())
    }
}

impl Projection for Transcript {
    const NAME: &'static str = "transcript";
    const VERSION: u32 = 1;

    fn apply(&mut self, event: &Event) {
        self.events = event.seq.plus(1).get();
        self.weight.add(event.data.len());
        if self.fold(event).is_err() {
            self.oddities.note(Odd::Unfit, &event.kind, event.seq);
        }
    }
}
