//! A process that was killed: what it left, and its record as the beginning of the next one's.

use std::collections::BTreeMap;

use sessionlog_crashfs::{FileId, Tree};

use super::content::Bytes;
use super::history::{Call, Entry, History, Node, ROOT};
use super::names::{Keeping, Names};
use super::search::Crash;
use super::walk::Choice;
use crate::breach::{End, Held};

impl History {
    /// What a process leaves that is killed behind so many of these calls: all that they did, since the
    /// system lives.
    pub(crate) fn left_by_kill(&self, upto: usize) -> Tree {
        let choice = Choice {
            names: Names::Kept,
            bytes: Bytes::Kept,
        };
        let keeping = Keeping::Journaled;
        let crash = Crash {
            keeping,
            upto,
            choice,
        };
        crash.image(self)
    }

    /// The first so many of these calls, and behind them all of a process that began with what they
    /// [left](Self::left_by_kill): what the first one did not flush is still open.
    pub(crate) fn then(&self, upto: usize, next: Self) -> Held<Self> {
        let known = same_names(&self.left_by_kill(upto), &next)?;
        let new = 1 + self.nodes().max().unwrap_or(ROOT);
        let node = |node: Node| known.get(&node).copied().unwrap_or(new + node);
        let mut both = self.clone();
        both.calls.truncate(upto);
        both.marks.retain(|(at, _)| *at <= upto);
        both.calls
            .extend(next.calls.into_iter().map(|c| renamed(c, &node)));
        both.marks
            .extend(next.marks.into_iter().map(|(at, m)| (at + upto, m)));
        both.since = next.since + upto;
        for (file, bytes) in next.start.files {
            // A file that never had a name is there from the start on.
            if !known.contains_key(&file) {
                both.start.files.insert(node(file), bytes);
            }
        }
        Ok(both)
    }

    /// Everything that has a number.
    fn nodes(&self) -> impl Iterator<Item = Node> {
        let start = &self.start;
        let names = start.names.iter().map(|(_, node)| *node);
        let named = self.calls.iter().flat_map(Call::named);
        let files = self.calls.iter().filter_map(Call::file);
        let contents = start.files.keys().chain(start.links.keys()).copied();
        names.chain(contents).chain(named).chain(files)
    }
}

/// Which of the first process' files and folders the next one's are, by their names.
fn same_names(left: &Tree, next: &History) -> Held<BTreeMap<Node, Node>> {
    let mut known = BTreeMap::from([(ROOT, ROOT)]);
    let mut open = vec![ROOT];
    while let Some(dir) = open.pop() {
        let folder = known
            .get(&dir)
            .and_then(|id| left.folders.get(&FileId(*id)));
        for (entry, node) in next.start.names.iter().filter(|(e, _)| e.dir == dir) {
            let here = folder.and_then(|names| names.get(std::ffi::OsStr::new(&entry.name)));
            let here = here.ok_or_else(|| {
                End::Broken(format!("{}, which nobody left, was found", entry.name))
            })?;
            if known.insert(*node, here.0).is_none() {
                open.push(*node);
            }
        }
    }
    Ok(known)
}

/// The same call, on files and folders with other numbers.
fn renamed(call: Call, of: &impl Fn(Node) -> Node) -> Call {
    let at = |entry: Entry| Entry {
        dir: of(entry.dir),
        name: entry.name,
    };
    match call {
        Call::Create(entry, node) => Call::Create(at(entry), of(node)),
        Call::Folder(entry, node) => Call::Folder(at(entry), of(node)),
        Call::Symlink(entry, node, to) => Call::Symlink(at(entry), of(node), to),
        Call::Link(entry, node) => Call::Link(at(entry), of(node)),
        Call::Unlink(entry, node) => Call::Unlink(at(entry), of(node)),
        Call::Rename { from, to, node } => Call::Rename {
            from: at(from),
            to: at(to),
            node: of(node),
        },
        Call::Write {
            file,
            at: from,
            bytes,
        } => Call::Write {
            file: of(file),
            at: from,
            bytes,
        },
        Call::Resize { file, len } => Call::Resize {
            file: of(file),
            len,
        },
        Call::Grow { file, len } => Call::Grow {
            file: of(file),
            len,
        },
        Call::Zero {
            file,
            at: from,
            len,
        } => Call::Zero {
            file: of(file),
            at: from,
            len,
        },
        Call::Exchange(both) => Call::Exchange(both.map(|(entry, node)| (at(entry), of(node)))),
        Call::Flush {
            file,
            data_only,
            ok,
        } => Call::Flush {
            file: of(file),
            data_only,
            ok,
        },
        Call::FlushFolder { dir, ok } => Call::FlushFolder { dir: of(dir), ok },
        Call::FlushAll { ok } => Call::FlushAll { ok },
    }
}
