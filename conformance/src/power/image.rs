//! A folder as a power loss left it.

use std::collections::{BTreeMap, btree_map};
use std::ffi::OsStr;
use std::sync::Arc;

use sessionlog_crashfs::{FileId, Name, Tree};
use xxhash_rust::xxh3::Xxh3;

use super::history::{Entry, Node, ROOT};

/// A folder made of names, as far as they lead anywhere from the root.
pub(super) fn image(
    names: &BTreeMap<Entry, Node>,
    mut file: impl FnMut(Node) -> Option<Arc<Vec<u8>>>,
    links: &BTreeMap<Node, String>,
) -> Tree {
    let mut image = Tree::new();
    let mut left = vec![ROOT];
    while let Some(dir) = left.pop() {
        let first = Entry {
            dir,
            name: String::new(),
        };
        let entries = names.range(first..).take_while(|(e, _)| e.dir == dir);
        let mut folder = BTreeMap::new();
        for (entry, node) in entries {
            let id = FileId(*node);
            folder.insert(name(&entry.name), id);
            if let Some(bytes) = file(*node) {
                image.files.insert(id, bytes);
            } else if let Some(to) = links.get(node) {
                image.links.insert(id, name(to));
            } else if let btree_map::Entry::Vacant(new) = image.folders.entry(id) {
                new.insert(BTreeMap::new());
                left.push(*node);
            }
        }
        image.folders.insert(FileId(dir), folder);
    }
    image
}

/// What tells an image from the others of its history.
pub(super) fn hash(image: &Tree) -> u64 {
    let mut hash = Xxh3::new();
    for (dir, names) in &image.folders {
        hash.update(&dir.0.to_le_bytes());
        for (name, node) in names {
            hash.update(name.as_encoded_bytes());
            hash.update(&[0]);
            hash.update(&node.0.to_le_bytes());
        }
    }
    for (file, bytes) in &image.files {
        hash.update(&file.0.to_le_bytes());
        hash.update(&bytes.len().to_le_bytes());
        hash.update(bytes);
    }
    hash.digest()
}

fn name(text: &str) -> Name {
    Arc::from(OsStr::new(text))
}
