//! Files that a session read and changed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::SeqNum;

/// The payload of [`kinds::FILE_READ`](crate::transcript::kinds::FILE_READ) and
/// [`kinds::FILE_CHANGED`](crate::transcript::kinds::FILE_CHANGED).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileTouched {
    /// The path, as it is.
    pub path: String,
    /// The hash of the content as it was read or as it is after the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The hash of the content before the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The change took the file away.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

/// The payload of [`kinds::GIT_BASELINE`](crate::transcript::kinds::GIT_BASELINE).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GitBaseline {
    /// The commit that the work began on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether there were changes that were not committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty: Option<bool>,
}

/// What is known of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileState {
    /// The hash of the content as the session last knew it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Whether the session took it away.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// Where it was last read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<SeqNum>,
    /// Where it was last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<SeqNum>,
}

/// A file that is not as the session left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedOutside {
    /// The path.
    pub path: String,
    /// The hash that the session knew; none if it took the file away.
    pub known: Option<String>,
    /// The hash now; none if there is no such file.
    pub now: Option<String>,
}

/// The files that a session touched, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Files {
    files: BTreeMap<String, FileState>,
    baseline: Option<GitBaseline>,
}

impl Files {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = (&str, &FileState)> {
        self.files
            .iter()
            .map(|(path, state)| (path.as_str(), state))
    }

    /// What is known of a file.
    pub fn of(&self, path: &str) -> Option<&FileState> {
        self.files.get(path)
    }

    /// The state of the work tree when the work began.
    pub fn baseline(&self) -> Option<&GitBaseline> {
        self.baseline.as_ref()
    }

    /// The files that changed since the session last knew them. `hash` gives the hash of a file as
    /// it is now, by the way of hashing that the events use; `None` if there is no such file.
    /// Files whose hash was never recorded are not asked for.
    pub fn changed_outside(
        &self,
        mut hash: impl FnMut(&str) -> Option<String>,
    ) -> Vec<ChangedOutside> {
        let recorded = self
            .all()
            .filter(|(_, state)| state.hash.is_some() || state.deleted);
        let changed = recorded.filter_map(|(path, state)| {
            let known = state.hash.clone().filter(|_| !state.deleted);
            let now = hash(path);
            (now != known).then(|| ChangedOutside {
                path: path.to_owned(),
                known,
                now,
            })
        });
        changed.collect()
    }

    pub(in crate::transcript) fn begin(&mut self, baseline: GitBaseline) {
        self.baseline = Some(baseline);
    }

    pub(in crate::transcript) fn read(&mut self, seq: SeqNum, it: FileTouched) {
        let file = self.files.entry(it.path).or_default();
        file.read = Some(seq);
        file.deleted = false;
        file.hash = it.hash;
    }

    pub(in crate::transcript) fn change(&mut self, seq: SeqNum, it: FileTouched) {
        let file = self.files.entry(it.path).or_default();
        file.changed = Some(seq);
        file.deleted = it.deleted;
        file.hash = it.hash;
    }
}
