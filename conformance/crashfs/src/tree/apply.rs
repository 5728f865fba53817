//! The effects of ops.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use crate::{Allocation, FileId, Op, Place, Tree};

impl Tree {
    /// Carries an op out: [`apply_data`](Tree::apply_data) and
    /// [`apply_names`](Tree::apply_names).
    pub fn apply(&mut self, op: &Op) {
        self.apply_data(op);
        self.apply_names(op);
    }

    /// The part of an op that is in files, folders and links themselves: that they come into
    /// being (without a name), and a file's bytes and length. An op on a file that is not
    /// there makes it first, as an empty one: a model may have left its creation out.
    pub fn apply_data(&mut self, op: &Op) {
        match op {
            Op::Create { file, .. } | Op::CreateUnnamed { file } => {
                self.files.insert(*file, Arc::default());
            }
            Op::Mkdir { dir, .. } => {
                self.folders.insert(*dir, BTreeMap::new());
            }
            Op::Symlink { link, target, .. } => {
                self.links.insert(*link, target.clone());
            }
            Op::Write { file, at, data } => write(self.file(*file), *at, data),
            Op::Truncate { file, len } => self.file(*file).resize(size(*len), 0),
            Op::Allocate { file, at, len, how } => {
                allocate(self.file(*file), size(*at), size(*len), *how);
            }
            Op::Flush { .. }
            | Op::FlushFolder { .. }
            | Op::FlushAll { .. }
            | Op::Rename { .. }
            | Op::Exchange { .. }
            | Op::Link { .. }
            | Op::Unlink { .. }
            | Op::Rmdir { .. }
            | Op::Failed { .. } => {}
        }
    }

    /// The part of an op that is in folders: names that come, go or move. A name that is to go
    /// and is not there, or names something else by now, is left as it is: a model may have
    /// left out how it came about. Names for something that is not there are kept.
    pub fn apply_names(&mut self, op: &Op) {
        match op {
            Op::Create { file: node, place }
            | Op::Link { file: node, place }
            | Op::Mkdir { dir: node, place }
            | Op::Symlink {
                link: node, place, ..
            } => self.name(place, *node),
            Op::Unlink { node, place } | Op::Rmdir { dir: node, place } => {
                self.unname(place, *node);
            }
            Op::Rename { node, from, to, .. } => {
                self.unname(from, *node);
                self.name(to, *node);
            }
            Op::Exchange {
                a,
                a_place,
                b,
                b_place,
            } => {
                self.name(a_place, *b);
                self.name(b_place, *a);
            }
            Op::CreateUnnamed { .. }
            | Op::Write { .. }
            | Op::Truncate { .. }
            | Op::Allocate { .. }
            | Op::Flush { .. }
            | Op::FlushFolder { .. }
            | Op::FlushAll { .. }
            | Op::Failed { .. } => {}
        }
    }

    /// Gives `node` a name, in the place of what had it before.
    pub fn name(&mut self, place: &Place, node: FileId) {
        let names = self.folders.entry(place.dir).or_default();
        names.insert(place.name.clone(), node);
    }

    /// Takes a name away from `node`, if it is its own.
    pub fn unname(&mut self, place: &Place, node: FileId) {
        let names = self.folders.entry(place.dir).or_default();
        if let Entry::Occupied(name) = names.entry(place.name.clone())
            && *name.get() == node
        {
            name.remove();
        }
    }

    fn file(&mut self, id: FileId) -> &mut Vec<u8> {
        Arc::make_mut(self.files.entry(id).or_default())
    }
}

fn write(bytes: &mut Vec<u8>, at: u64, data: &[u8]) {
    let at = size(at);
    let end = at.saturating_add(data.len());
    if bytes.len() == at {
        bytes.extend_from_slice(data);
        return;
    }
    bytes.resize(bytes.len().max(end), 0);
    if let Some(to) = bytes.get_mut(at..end) {
        to.copy_from_slice(data);
    }
}

fn allocate(bytes: &mut Vec<u8>, at: usize, len: usize, how: Allocation) {
    let end = at.saturating_add(len);
    let grows = match how {
        Allocation::Grow => true,
        Allocation::Zero { keep_size } => !keep_size,
        Allocation::Reserve | Allocation::Punch | Allocation::Collapse | Allocation::Insert => {
            false
        }
    };
    let inside = at.min(bytes.len())..end.min(bytes.len());
    match how {
        Allocation::Grow | Allocation::Reserve => {}
        Allocation::Punch | Allocation::Zero { .. } => {
            if let Some(range) = bytes.get_mut(inside) {
                range.fill(0);
            }
        }
        Allocation::Collapse => {
            bytes.drain(inside);
        }
        Allocation::Insert => {
            bytes.splice(inside.start..inside.start, std::iter::repeat_n(0, len));
        }
    }
    if grows {
        bytes.resize(bytes.len().max(end), 0);
    }
}

/// A length that is more than memory can hold ends the process where it is asked for.
fn size(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
