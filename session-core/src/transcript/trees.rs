//! The conversations of a session: one for each agent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ids::{Ids, Links};
use super::oddities::{Odd, Oddities};
use super::tree::{Entry, Link, Tree};
use super::{Compaction, HeadMoved, Message, Rollback, kinds};
use crate::{Event, SeqNum};

/// The trees of the main agent and of the others, and the links of imported trees.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Trees {
    main: Tree,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    agents: BTreeMap<String, Tree>,
    ids: Ids,
    /// Whether any record of another tool was seen: then any event may stand in its tree.
    #[serde(default)]
    imported: bool,
}

/// A payload that may name its place in an imported tree.
#[derive(Deserialize)]
struct Sourced<'a> {
    #[serde(borrow, default)]
    source: Option<Links<'a>>,
}

impl Trees {
    pub(super) fn of(&self, agent: Option<&str>) -> Option<&Tree> {
        match agent {
            None => Some(&self.main),
            Some(agent) => self.agents.get(agent),
        }
    }

    /// The agents besides the main one that have said anything.
    pub(super) fn agents(&self) -> impl Iterator<Item = &str> {
        self.agents.keys().map(String::as_str)
    }

    fn tree(&mut self, agent: Option<&str>) -> &mut Tree {
        match agent {
            None => &mut self.main,
            Some(agent) => self.agents.entry(agent.to_owned()).or_default(),
        }
    }

    pub(super) fn message(&mut self, event: &Event, message: Message<'_>, odd: &mut Oddities) {
        let agent = message.agent.clone();
        let source = message.source.clone();
        let mut link = Link::Head;
        if let Some(source) = &source {
            self.imported = true;
            let links = Links::from(source);
            let missing;
            (link, missing) = self.ids.link(&links);
            if missing {
                odd.note(Odd::MissingParent, &event.kind, event.seq);
            }
            self.ids.remember(&links, Some(event.seq));
        }
        let entry = Entry::message(event.seq, message);
        self.tree(agent.as_deref()).message(entry, link);
    }

    pub(super) fn compaction(&mut self, event: &Event, it: &Compaction<'_>, odd: &mut Oddities) {
        let entries = Entry::compaction(event.seq, it);
        if entries.is_empty() {
            return odd.note(Odd::EmptyCheckpoint, &event.kind, event.seq);
        }
        let links = it.source.as_ref().map(Links::from);
        let link = links
            .as_ref()
            .map_or(Link::Head, |links| self.ids.logical(links));
        let kept = it.kept_id.as_deref().and_then(|id| self.ids.place(id));
        let kept = it.kept_from.or(kept).filter(|kept| *kept < event.seq);
        if let Some(links) = &links {
            self.ids.remember(links, Some(event.seq));
        }
        self.tree(it.agent.as_deref())
            .compaction(entries, link, kept);
    }

    pub(super) fn rollback(&mut self, it: &Rollback) {
        self.tree(it.agent.as_deref()).rollback(it.dropped);
    }

    pub(super) fn head(&mut self, event: &Event, it: &HeadMoved, odd: &mut Oddities) {
        let tree = self.tree(it.agent.as_deref());
        match it.to {
            None => tree.clear(),
            Some(to) if to < event.seq && tree.move_to(to) => {}
            Some(_) => odd.note(Odd::NoSuchHead, &event.kind, event.seq),
        }
    }

    /// The conversation of an agent that has ended is let go of; its place stays.
    pub(super) fn unload(&mut self, agent: &str) {
        if let Some(tree) = self.agents.get_mut(agent) {
            tree.unload();
        }
    }

    /// Any other record may stand between two messages of an imported tree.
    pub(super) fn other(&mut self, event: &Event, odd: &mut Oddities) {
        let imports = [kinds::IMPORT_STARTED, kinds::IMPORT_RECORD];
        self.imported |= imports.contains(&event.kind);
        if !self.imported {
            return;
        }
        let Ok(Sourced {
            source: Some(links),
        }) = event.data.view()
        else {
            return;
        };
        let (link, missing) = self.ids.link(&links);
        if missing {
            odd.note(Odd::MissingParent, &event.kind, event.seq);
        }
        let place = match link {
            Link::Under(seq) => Some(seq),
            Link::Root => None,
            Link::Head => self.main.path().end().map(|end| end.seq),
        };
        self.ids.remember(&links, place);
    }
}

/// The entries that an event adds to the conversation of an agent, as the fold would add them.
pub(super) fn entries_of(event: &Event, agent: Option<&str>) -> Vec<Entry> {
    if event.kind == kinds::MESSAGE {
        let message: Option<Message<'_>> = event.data.view().ok();
        let message = message.filter(|message| message.agent.as_deref() == agent);
        let entry = message.map(|message| Entry::message(event.seq, message));
        return entry.into_iter().collect();
    }
    if event.kind == kinds::COMPACTION {
        let it: Option<Compaction<'_>> = event.data.view().ok();
        let it = it.filter(|it| it.agent.as_deref() == agent);
        return it
            .map(|it| Entry::compaction(event.seq, &it))
            .unwrap_or_default();
    }
    Vec::new()
}

/// The positions of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Its last message: `head` to this position selects it.
    pub tip: SeqNum,
    /// Its first message.
    pub first: SeqNum,
    /// The message that it hangs under, if that is known without its events; none for a root.
    pub under: Option<SeqNum>,
    /// Whether the conversation stands in it.
    pub current: bool,
}

impl Trees {
    /// The branches of a conversation that nothing hangs under at their end, and the current one.
    pub(super) fn branches(&self, agent: Option<&str>) -> Vec<Branch> {
        let Some(tree) = self.of(agent) else {
            return Vec::new();
        };
        let end = tree.path().end();
        let segments = tree.segments();
        let holds = |last: SeqNum, first: SeqNum| {
            end.is_some_and(|end| first <= end.seq && end.seq <= last)
        };
        let branch = segments.iter().filter_map(|segment| {
            let tip = segment.last;
            let goes_on = segments.iter().any(|other| {
                other
                    .under
                    .is_some_and(|under| under.seq == tip && under.up == 0)
            });
            let current = holds(segment.last, segment.first);
            (!goes_on || current).then_some(Branch {
                tip,
                first: segment.first,
                under: segment
                    .under
                    .filter(|under| under.up == 0)
                    .map(|under| under.seq),
                current,
            })
        });
        branch.collect()
    }
}
