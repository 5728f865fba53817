//! The names after a power loss.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::content::Fate;
use super::history::{Call, Entry, History, Node};
use crate::talk::Dice;

/// What keeps names over a power loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Keeping {
    /// A journal of all changes of names, written in their order, as ext4 and XFS have it. A flush
    /// of a folder writes it as far as the folder's last change, and a flush of a file as far as
    /// the file's creation, its last rename too unless only its data is flushed.
    Journaled,
    /// What POSIX promises and no more: each change of a name is on the disk once its folder was
    /// flushed, and any of the others may be.
    Posix,
}

/// Which of the changes of names, that no flush has made durable, are on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Names {
    /// None.
    Lost,
    /// All.
    Kept,
    /// The first so many.
    First(usize),
    /// All but one call.
    Without(usize),
    /// One call alone.
    Only(usize),
    /// Dice for each.
    Random(u64),
}

/// The changes of names up to a call.
pub(super) struct Naming<'h> {
    keeping: Keeping,
    /// The names that are on the disk for sure, as far as nothing before them is open.
    base: BTreeMap<Entry, Node>,
    pending: Vec<Change<'h>>,
    folders: BTreeSet<Node>,
}

struct Change<'h> {
    /// Its place among all calls.
    at: usize,
    call: &'h Call,
    sets: Vec<(&'h Entry, Option<Node>)>,
    /// It can't be on the disk without the earlier changes of the same.
    presupposes: Vec<Node>,
    safe: bool,
}

impl Change<'_> {
    /// Whether it is in a folder.
    fn is_in(&self, dir: Node) -> bool {
        self.sets.iter().any(|(entry, _)| entry.dir == dir)
    }
}

impl<'h> Naming<'h> {
    pub(super) fn new(history: &'h History, keeping: Keeping) -> Self {
        let start = &history.start;
        let nodes = start.names.iter().map(|(_, node)| *node);
        let is_folder =
            |node: &Node| !start.files.contains_key(node) && !start.links.contains_key(node);
        Self {
            keeping,
            base: start.names.iter().cloned().collect(),
            pending: Vec::new(),
            folders: nodes.filter(is_folder).collect(),
        }
    }

    /// Goes on by a call.
    pub(super) fn step(&mut self, at: usize, call: &'h Call) {
        let mut change = |sets, presupposes| {
            self.pending.push(Change {
                at,
                call,
                sets,
                presupposes,
                safe: false,
            });
        };
        let mut sets = call.sets();
        match call {
            // Nothing says that the two folders reach the disk together.
            Call::Rename { from, to, node }
                if self.keeping == Keeping::Posix && from.dir != to.dir =>
            {
                let new = sets.split_off(1);
                // A folder that has its new name has no other.
                let is_folder = self.folders.contains(node);
                change(sets, if is_folder { vec![*node] } else { Vec::new() });
                change(new, vec![*node]);
            }
            _ if !sets.is_empty() => change(sets, call.named()),
            _ => {}
        }
        if let Call::Folder(_, node) = call {
            self.folders.insert(*node);
        }
        match (call, self.keeping) {
            (Call::FlushAll { ok: true }, _) => self.safe_upto(|_| true),
            (Call::FlushFolder { dir, ok: true }, Keeping::Journaled) => {
                self.safe_upto(|change| change.is_in(*dir));
            }
            (Call::FlushFolder { dir, ok: true }, Keeping::Posix) => {
                for change in &mut self.pending {
                    change.safe |= change.is_in(*dir);
                }
            }
            (
                Call::Flush {
                    file,
                    data_only,
                    ok: true,
                },
                Keeping::Journaled,
            ) => self.safe_upto(|change| match change.call {
                Call::Create(_, node) | Call::Link(_, node) => node == file,
                Call::Rename { node, .. } => node == file && !data_only,
                _ => false,
            }),
            _ => {}
        }
        self.fold();
    }

    /// Everything up to the last change that matches is on the disk.
    fn safe_upto(&mut self, last: impl Fn(&Change<'h>) -> bool) {
        let upto = self.pending.iter().rposition(last).map_or(0, |n| n + 1);
        for change in self.pending.iter_mut().take(upto) {
            change.safe = true;
        }
    }

    fn fold(&mut self) {
        let done = self.pending.iter().take_while(|c| c.safe).count();
        for change in self.pending.drain(..done) {
            apply(&mut self.base, &change.sets);
        }
    }

    /// The calls that may be lost.
    pub(super) fn open(&self) -> Vec<usize> {
        let open = self.pending.iter().filter(|c| !c.safe);
        open.map(|c| c.at).collect()
    }

    /// The choices that there are.
    pub(super) fn choices(&self) -> Vec<Names> {
        let open = self.open();
        if open.is_empty() {
            return vec![Names::Kept];
        }
        let mut all = vec![Names::Lost, Names::Kept];
        match self.keeping {
            Keeping::Journaled => all.extend((1..open.len()).map(Names::First)),
            Keeping::Posix if open.len() > 1 => {
                all.extend(open.iter().map(|at| Names::Without(*at)));
                all.extend(open.iter().map(|at| Names::Only(*at)));
            }
            Keeping::Posix => {}
        }
        all
    }

    /// The names behind a choice.
    pub(super) fn names(&self, chosen: Names) -> BTreeMap<Entry, Node> {
        let mut names = self.base.clone();
        for (change, keep) in self.pending.iter().zip(self.kept(chosen)) {
            if keep {
                apply(&mut names, &change.sets);
            }
        }
        names
    }

    /// What became of each change that no flush made durable.
    pub(super) fn fates(&self, chosen: Names) -> Vec<(usize, Fate)> {
        let kept = self.pending.iter().zip(self.kept(chosen));
        let open = kept.filter(|(change, _)| !change.safe);
        open.map(|(c, keep)| (c.at, Fate::of(keep))).collect()
    }

    /// Which of the pending changes a choice keeps.
    fn kept(&self, chosen: Names) -> Vec<bool> {
        let mut dice = Dice::new(match chosen {
            Names::Random(seed) => seed,
            _ => 0,
        });
        let open = self.pending.iter().filter(|c| !c.safe).count();
        let cut = match (chosen, self.keeping) {
            (Names::First(n), _) => n,
            (Names::Random(_), Keeping::Journaled) => {
                usize::try_from(dice.below(open as u64 + 1)).unwrap_or(0)
            }
            _ => usize::MAX,
        };
        let mut passed = 0;
        let mut kept: Vec<bool> = Vec::with_capacity(self.pending.len());
        for change in &self.pending {
            let keep = change.safe
                || match (chosen, self.keeping) {
                    (Names::Lost, _) => false,
                    (Names::Kept, _) => true,
                    (Names::Without(at), _) => change.at != at,
                    (Names::Only(at), _) => change.at == at,
                    (Names::First(_), _) | (Names::Random(_), Keeping::Journaled) => passed < cut,
                    (Names::Random(_), Keeping::Posix) => dice.coin(),
                };
            passed += usize::from(!change.safe);
            kept.push(keep);
        }
        self.presuppose(&mut kept);
        kept
    }

    /// Something can't have its second name before it had its first.
    fn presuppose(&self, kept: &mut [bool]) {
        let mut wanted: BTreeSet<Node> = BTreeSet::new();
        for (change, keep) in self.pending.iter().zip(kept.iter_mut()).rev() {
            let nodes = &change.presupposes;
            *keep |= nodes.iter().any(|node| wanted.contains(node));
            if *keep {
                wanted.extend(nodes);
            }
        }
    }
}

fn apply(names: &mut BTreeMap<Entry, Node>, sets: &[(&Entry, Option<Node>)]) {
    for (entry, node) in sets {
        match node {
            Some(node) => names.insert((*entry).clone(), *node),
            None => names.remove(*entry),
        };
    }
}
