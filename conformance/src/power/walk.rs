//! All that a power loss can leave behind each call of a history.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sessionlog_crashfs::Tree;

use super::content::{self, Bytes, Fate, Pending, len_after};
use super::history::{Call, History, Node};
use super::image;
use super::names::{Keeping, Names, Naming};

/// A power loss: which of the calls, that no flush has made durable, are on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Choice {
    pub(crate) names: Names,
    pub(crate) bytes: Bytes,
}

impl Choice {
    /// Whether everything is lost or everything is kept, of names and of bytes: what most often
    /// shows a fault.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.names, Names::Lost | Names::Kept)
            && matches!(self.bytes, Bytes::Lost | Bytes::Kept)
    }

    /// Whether some of the bytes are lost and some are kept.
    pub(crate) fn tears(&self) -> bool {
        !matches!(self.bytes, Bytes::Lost | Bytes::Kept)
    }
}

/// The state of the disk behind the calls that it has gone past.
pub(crate) struct Walk<'h> {
    history: &'h History,
    upto: usize,
    naming: Naming<'h>,
    files: BTreeMap<Node, Disk<'h>>,
    links: BTreeMap<Node, String>,
}

/// A file.
#[derive(Default)]
struct Disk<'h> {
    /// What is on the disk for sure, as far as nothing before it is open.
    base: Arc<Vec<u8>>,
    pending: Vec<Pending<'h>>,
    /// How many of the pending calls are behind every failed flush.
    fresh: usize,
    /// The bytes with everything, from the last time that somebody asked for them.
    kept: Option<Arc<Vec<u8>>>,
}

impl Disk<'_> {
    fn len(&self) -> u64 {
        let last = self.pending.last();
        last.map_or(self.base.len() as u64, |p| p.lens.1)
    }

    fn kept(&mut self) -> Arc<Vec<u8>> {
        let make = || content::content(&self.base, &self.pending, Bytes::Kept);
        Arc::clone(self.kept.get_or_insert_with(make))
    }

    fn bytes(&mut self, chosen: Bytes) -> Arc<Vec<u8>> {
        match chosen {
            Bytes::Kept => self.kept(),
            _ => content::content(&self.base, &self.pending, chosen),
        }
    }

    /// A flush: a failed one leaves what was written before it open for ever.
    fn flush(&mut self, ok: bool) {
        if ok {
            let tainted = self.pending.len() - self.fresh.min(self.pending.len());
            if tainted == 0 {
                self.base = self.kept();
                self.pending.clear();
            }
            for pending in self.pending.iter_mut().skip(tainted) {
                pending.safe = true;
            }
        } else {
            self.fresh = 0;
        }
    }
}

impl<'h> Walk<'h> {
    /// Before the first call.
    pub(crate) fn new(history: &'h History, keeping: Keeping) -> Self {
        let start = &history.start;
        let mut walk = Self {
            history,
            upto: 0,
            naming: Naming::new(history, keeping),
            files: BTreeMap::new(),
            links: start.links.clone(),
        };
        for (node, bytes) in &start.files {
            let disk = Disk {
                base: Arc::new(bytes.to_vec()),
                ..Disk::default()
            };
            walk.files.insert(*node, disk);
        }
        walk
    }

    /// Goes on until so many calls are past.
    pub(crate) fn go(&mut self, upto: usize) {
        while self.upto < upto {
            let Some(call) = self.history.calls.get(self.upto) else {
                break;
            };
            self.step(self.upto, call);
            self.upto += 1;
        }
    }

    fn step(&mut self, at: usize, call: &'h Call) {
        self.naming.step(at, call);
        if let Some(file) = call.file() {
            let disk = self.files.entry(file).or_default();
            let len = disk.len();
            let lens = (len, len_after(len, call));
            disk.pending.push(Pending {
                at,
                call,
                safe: false,
                lens,
            });
            disk.fresh += 1;
            disk.kept = None;
        }
        match call {
            Call::Create(_, file) => {
                self.files.insert(*file, Disk::default());
            }
            Call::Symlink(_, node, to) => {
                self.links.insert(*node, to.clone());
            }
            Call::Flush { file, ok, .. } => {
                if let Some(disk) = self.files.get_mut(file) {
                    disk.flush(*ok);
                }
            }
            Call::FlushAll { ok } => self.files.values_mut().for_each(|disk| disk.flush(*ok)),
            _ => {}
        }
    }

    /// The calls on bytes that may be lost.
    pub(crate) fn open_bytes(&self) -> Vec<usize> {
        let pending = self.files.values().flat_map(|disk| &disk.pending);
        let mut open: Vec<_> = pending.filter(|p| !p.safe).map(|p| p.at).collect();
        open.sort_unstable();
        open
    }

    /// What becomes of every call that no flush has made durable.
    pub(crate) fn fates(&self, choice: Choice) -> Vec<(usize, Fate)> {
        let mut fates = self.naming.fates(choice.names);
        for disk in self.files.values() {
            fates.extend(content::fates(&disk.pending, choice.bytes));
        }
        fates.sort_unstable_by_key(|(at, _)| *at);
        fates
    }

    /// The choices that there are here: [`plain`](Choice::is_plain) ones first, then so many
    /// random ones from a seed.
    pub(crate) fn choices(&self, random: u64, seed: u64) -> Vec<Choice> {
        let open = self.open_bytes();
        let names = self.naming.choices();
        let choice = |names, bytes| Choice { names, bytes };
        let mut all: Vec<Choice> = names.iter().map(|n| choice(*n, Bytes::Lost)).collect();
        if !open.is_empty() {
            all.extend(names.iter().map(|n| choice(*n, Bytes::Kept)));
            all.push(choice(Names::Kept, Bytes::Lengths));
            if open.len() > 1 {
                all.extend(
                    open.iter()
                        .map(|at| choice(Names::Kept, Bytes::Without(*at))),
                );
                all.extend(open.iter().map(|at| choice(Names::Kept, Bytes::Only(*at))));
            }
        }
        if open.is_empty() && names.len() < 3 {
            return all;
        }
        let seed = |n: u64| seed.wrapping_add(self.upto as u64 * 1_000 + n);
        all.extend((0..random).map(|n| Choice {
            names: match n % 2 {
                0 => Names::Kept,
                _ => Names::Random(seed(n)),
            },
            bytes: Bytes::Random {
                seed: seed(n),
                block: if n % 4 < 2 { 512 } else { 4096 },
            },
        }));
        all
    }

    /// What a power loss here leaves.
    pub(crate) fn image(&mut self, choice: Choice) -> Tree {
        let names = self.naming.names(choice.names);
        let (files, links) = (&mut self.files, &self.links);
        let file = |node| {
            files
                .get_mut(&node)
                .map(|disk: &mut Disk<'_>| disk.bytes(choice.bytes))
        };
        image::image(&names, file, links)
    }
}
