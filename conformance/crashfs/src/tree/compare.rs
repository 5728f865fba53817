//! What differs between two folders.

use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf};

use crate::{FileId, Name, Tree};

impl Tree {
    /// The first difference in names, types, contents, targets of links, and in which names
    /// are names of one file, as a sentence that calls `self` "the record" and `other` "the
    /// folder". `None` if all is the same. Ids and files without a name don't matter.
    #[must_use]
    pub fn difference(&self, other: &Tree) -> Option<String> {
        let mut pairs = BTreeMap::new();
        let mut open = vec![(FileId::ROOT, FileId::ROOT, PathBuf::new())];
        while let Some((ours, theirs, path)) = open.pop() {
            let (a, b) = (self.names(ours), other.names(theirs));
            for (name, id) in a {
                let path = path.join(&**name);
                let Some(twin) = b.get(name) else {
                    return Some(format!("{} is in the record only", path.display()));
                };
                if *pairs.entry(*id).or_insert(*twin) != *twin {
                    return Some(format!("{} is a name of another file", path.display()));
                }
                if let Some(how) = self.differs(*id, other, *twin) {
                    return Some(format!("{} {how}", path.display()));
                }
                if self.folders.contains_key(id) {
                    open.push((*id, *twin, path));
                }
            }
            if let Some(name) = b.keys().find(|name| !a.contains_key(*name)) {
                let path = path.join(&**name);
                return Some(format!("{} is in the folder only", path.display()));
            }
        }
        None
    }

    fn names(&self, dir: FileId) -> &BTreeMap<Name, FileId> {
        static NONE: BTreeMap<Name, FileId> = BTreeMap::new();
        self.folders.get(&dir).unwrap_or(&NONE)
    }

    fn kind(&self, id: FileId) -> &'static str {
        if self.folders.contains_key(&id) {
            "a folder"
        } else if self.links.contains_key(&id) {
            "a link"
        } else {
            "a file"
        }
    }

    fn differs(&self, id: FileId, other: &Tree, twin: FileId) -> Option<String> {
        let (kind, real) = (self.kind(id), other.kind(twin));
        if kind != real {
            return Some(format!("is {kind} in the record and {real} in the folder"));
        }
        if self.links.get(&id) != other.links.get(&twin) {
            return Some("leads elsewhere".into());
        }
        let empty = Vec::new();
        let a = self.files.get(&id).map_or(&empty, |bytes| bytes);
        let b = other.files.get(&twin).map_or(&empty, |bytes| bytes);
        if a == b {
            return None;
        }
        let at = a.iter().zip(b).position(|(a, b)| a != b);
        let mut how = format!(
            "has {} bytes in the record and {} in the folder",
            a.len(),
            b.len()
        );
        if let Some(at) = at {
            write!(how, ", and differs from byte {at} on").ok()?;
        }
        Some(how)
    }
}
