//! What was done to a folder: its content before, and every file call in its order.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Calls of a kind of which there are no more are rare.
const RARE: usize = 12;

/// A file or folder, whatever it is called.
pub(crate) type Node = u32;

/// The folder that was recorded.
pub(crate) const ROOT: Node = 0;

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) dir: Node,
    pub(crate) name: String,
}

/// The content of a folder before the calls. A node that is no file and no link is a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) names: Vec<(Entry, Node)>,
    #[serde(with = "contents")]
    pub(crate) files: BTreeMap<Node, Bytes>,
    pub(crate) links: BTreeMap<Node, String>,
}

/// One call, as far as it can matter after a power loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Call {
    /// A new file.
    Create(Entry, Node),
    /// A new folder.
    Folder(Entry, Node),
    /// A new symbolic link.
    Symlink(Entry, Node, String),
    /// Another name for a file.
    Link(Entry, Node),
    /// A name of a file or folder is gone.
    Unlink(Entry, Node),
    /// A name is another one.
    Rename { from: Entry, to: Entry, node: Node },
    Write {
        file: Node,
        at: u64,
        #[serde(with = "base64")]
        bytes: Bytes,
    },
    /// The file has another length.
    Resize { file: Node, len: u64 },
    /// The file is at least so long.
    Grow { file: Node, len: u64 },
    /// Zeros within the file.
    Zero { file: Node, at: u64, len: u64 },
    /// Two names swapped: each with what it names afterwards.
    Exchange([(Entry, Node); 2]),
    /// A flush of a file's bytes, whether metadata that they don't need could be left out, and
    /// whether it succeeded.
    Flush {
        file: Node,
        data_only: bool,
        ok: bool,
    },
    /// A flush of a folder's names, and whether it succeeded.
    FlushFolder { dir: Node, ok: bool },
    /// A flush of everything, and whether it succeeded.
    FlushAll { ok: bool },
}

impl Call {
    /// Whether it is a flush that succeeded.
    pub(crate) fn flushes(&self) -> bool {
        matches!(
            self,
            Self::Flush { ok: true, .. }
                | Self::FlushFolder { ok: true, .. }
                | Self::FlushAll { ok: true }
        )
    }

    /// Whether it is a flush that failed.
    pub(crate) fn fails(&self) -> bool {
        !self.flushes() && !self.changes()
    }

    /// Whether it changes anything: all but flushes do.
    pub(crate) fn changes(&self) -> bool {
        !matches!(
            self,
            Self::Flush { .. } | Self::FlushFolder { .. } | Self::FlushAll { .. }
        )
    }

    /// The file whose bytes or length it changes.
    pub(crate) fn file(&self) -> Option<Node> {
        match self {
            Self::Write { file, .. }
            | Self::Resize { file, .. }
            | Self::Grow { file, .. }
            | Self::Zero { file, .. } => Some(*file),
            _ => None,
        }
    }

    /// The names that it sets, all at once; `None` is no name any more.
    pub(crate) fn sets(&self) -> Vec<(&Entry, Option<Node>)> {
        match self {
            Self::Create(entry, node)
            | Self::Folder(entry, node)
            | Self::Symlink(entry, node, _)
            | Self::Link(entry, node) => vec![(entry, Some(*node))],
            Self::Unlink(entry, _) => vec![(entry, None)],
            Self::Rename { from, to, node } => vec![(from, None), (to, Some(*node))],
            Self::Exchange(both) => both.iter().map(|(e, node)| (e, Some(*node))).collect(),
            _ => Vec::new(),
        }
    }

    /// What a call on names names.
    pub(crate) fn named(&self) -> Vec<Node> {
        match self {
            Self::Create(_, node)
            | Self::Folder(_, node)
            | Self::Symlink(_, node, _)
            | Self::Link(_, node)
            | Self::Unlink(_, node)
            | Self::Rename { node, .. } => vec![*node],
            Self::Exchange(both) => both.iter().map(|(_, node)| *node).collect(),
            _ => Vec::new(),
        }
    }
}

/// A recorded piece of work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct History {
    pub(crate) start: Start,
    pub(crate) calls: Vec<Call>,
    /// What was acknowledged, and before which call.
    pub(crate) marks: Vec<(usize, Mark)>,
    /// How many calls belong to what came before.
    #[serde(default)]
    pub(crate) since: usize,
}

/// Something that the store acknowledged: a step, with the token of a grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) step: usize,
    pub(crate) token: Option<u64>,
    /// Nobody acknowledged it, it was only seen to have happened: until a later step that rests on it is
    /// acknowledged it may come undone.
    #[serde(default)]
    pub(crate) open: bool,
}

impl History {
    /// What was acknowledged before a call.
    pub(crate) fn acknowledged(&self, upto: usize) -> impl Iterator<Item = Mark> {
        let before = self.marks.iter().filter(move |(at, _)| *at <= upto);
        before.map(|(_, mark)| *mark)
    }

    /// The prefixes at which a power loss can leave something new: behind each change, and behind
    /// each acknowledgement. A flush alone only leaves less to choose.
    pub(crate) fn prefixes(&self) -> Vec<usize> {
        let mut all: BTreeSet<usize> = self.marks.iter().map(|(at, _)| *at).collect();
        all.insert(0);
        for (n, call) in self.calls.iter().enumerate() {
            if call.changes() {
                all.insert(n + 1);
            }
        }
        all.into_iter().collect()
    }

    /// The calls of the kinds of which there are a few alone, and which are no flushes.
    pub(crate) fn rarest(&self) -> Vec<usize> {
        let mut of_kind: HashMap<_, Vec<usize>> = HashMap::new();
        for (n, call) in self.calls.iter().enumerate().filter(|(_, c)| c.changes()) {
            let all = of_kind.entry(std::mem::discriminant(call)).or_default();
            all.push(n);
        }
        let mut rarest: Vec<usize> = of_kind
            .into_values()
            .filter(|all| all.len() <= RARE)
            .flatten()
            .collect();
        rarest.sort_unstable();
        rarest
    }

    /// The same history without what a flush made durable.
    pub(crate) fn without(&self, flush: usize) -> Self {
        let mut history = self.clone();
        if let Some(call) = history.calls.get_mut(flush) {
            // As a call that changes nothing, so that every other call keeps its number.
            *call = Call::FlushFolder {
                dir: Node::MAX,
                ok: true,
            };
        }
        history
    }
}

mod base64 {
    use ::base64::Engine as _;
    use ::base64::engine::general_purpose::STANDARD;
    use bytes::Bytes;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(bytes: &Bytes, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Bytes, D::Error> {
        let text = std::borrow::Cow::<'d, str>::deserialize(from)?;
        let bytes = STANDARD.decode(text.as_bytes()).map_err(D::Error::custom)?;
        Ok(bytes.into())
    }
}

mod contents {
    use super::Node;
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;

    #[derive(Serialize, Deserialize)]
    struct Content(#[serde(with = "super::base64")] Bytes);

    pub(super) fn serialize<S: Serializer>(
        files: &BTreeMap<Node, Bytes>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_map(files.iter().map(|(node, b)| (node, Content(b.clone()))))
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(
        from: D,
    ) -> Result<BTreeMap<Node, Bytes>, D::Error> {
        let files = BTreeMap::<Node, Content>::deserialize(from)?;
        Ok(files.into_iter().map(|(node, c)| (node, c.0)).collect())
    }
}
