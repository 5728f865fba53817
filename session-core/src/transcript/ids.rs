//! The links of tree formats: which record hangs under which.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use super::tree::Link;
use crate::SeqNum;

/// Where each record of an imported tree stands, by its id.
///
/// 16 bytes a record, and only of formats whose records have ids: what a branch hangs under may be
/// anywhere before it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
pub(super) struct Ids {
    places: HashMap<u64, Place>,
    /// Whether any record named a parent: then one that names none is a root.
    linked: bool,
}

/// A position; `None` stands for before the first message.
type Place = Option<SeqNum>;

/// The ids and links of a record, borrowed from its payload.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Links<'a> {
    #[serde(borrow)]
    id: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    parent: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    logical_parent: Option<std::borrow::Cow<'a, str>>,
}

impl<'a> From<&'a super::Source> for Links<'a> {
    fn from(source: &'a super::Source) -> Self {
        Self {
            id: source.id.as_deref().map(Into::into),
            parent: source.parent.as_deref().map(Into::into),
            logical_parent: source.logical_parent.as_deref().map(Into::into),
        }
    }
}

impl Ids {
    /// What a record hangs under, and whether its parent is missing.
    pub(super) fn link(&mut self, links: &Links<'_>) -> (Link, bool) {
        if let Some(parent) = &links.parent {
            self.linked = true;
            return match self.places.get(&hash(parent)) {
                Some(Some(seq)) => (Link::Under(*seq), false),
                Some(None) => (Link::Root, false),
                None => (Link::Root, true),
            };
        }
        let root = self.linked && links.id.is_some();
        (if root { Link::Root } else { Link::Head }, false)
    }

    /// What a checkpoint hangs under: it may name only the record that it continues.
    pub(super) fn logical(&mut self, links: &Links<'_>) -> Link {
        let parent = links.parent.as_ref().or(links.logical_parent.as_ref());
        match parent.and_then(|parent| self.place(parent)) {
            Some(seq) => Link::Under(seq),
            None => Link::Head,
        }
    }

    /// The position of the record with this id.
    pub(super) fn place(&self, id: &str) -> Option<SeqNum> {
        self.places.get(&hash(id)).copied().flatten()
    }

    pub(super) fn remember(&mut self, links: &Links<'_>, place: Place) {
        if let Some(id) = &links.id {
            self.places.insert(hash(id), place);
        }
    }
}

fn hash(id: &str) -> u64 {
    XxHash3_64::oneshot(id.as_bytes())
}

/// The ids as they are saved: sorted, so that one state has one encoding.
#[derive(Serialize, Deserialize)]
struct Saved(bool, Vec<(u64, Place)>);

impl From<Saved> for Ids {
    fn from(Saved(linked, places): Saved) -> Self {
        Self {
            places: places.into_iter().collect(),
            linked,
        }
    }
}

impl From<Ids> for Saved {
    fn from(ids: Ids) -> Self {
        let mut places: Vec<_> = ids.places.into_iter().collect();
        places.sort_unstable();
        Self(ids.linked, places)
    }
}
