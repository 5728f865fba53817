//! What the index has of sessions that were looked at.

use std::collections::{HashMap, HashSet};

use sessionlog_core::{Incarnation, SessionRef};

use super::folder::{Begun, Fate, Swept};
use crate::key::dir_of;
use crate::marker::is_void;
use crate::objects::Listed;

/// Sessions whose folders lie next to each other, and what was found of them.
#[derive(Default)]
pub(super) struct Batch {
    /// The folder before the first.
    behind: Option<String>,
    /// The last folder, once it is known that there are others.
    to: Option<String>,
    fates: HashMap<String, Fate>,
    /// Those whose marker is to be looked for.
    begun: HashMap<String, Begun>,
}

impl Batch {
    pub(super) fn len(&self) -> usize {
        self.fates.len()
    }

    /// Takes note of a session, behind those before.
    pub(super) fn add(&mut self, mut session: Swept) -> Swept {
        let dir = session.dir.clone();
        self.begun
            .extend(session.begun.take().map(|begun| (dir.clone(), begun)));
        self.to = Some(dir.clone());
        self.fates.insert(dir, session.fate);
        session
    }

    /// The empty batch behind this one.
    pub(super) fn next(&self) -> Self {
        Self {
            behind: self.to.clone(),
            ..Self::default()
        }
    }

    /// The same, with no folder behind it.
    pub(super) fn last(self) -> Self {
        Self { to: None, ..self }
    }

    /// Whether somebody needs a marker; so for one of a session that is in another batch.
    pub(super) fn needs(&mut self, session: &SessionRef, marker: &Listed) -> bool {
        let dir = dir_of(&session.id);
        let before = self.behind.as_ref().is_some_and(|behind| dir <= *behind);
        if before || self.to.as_ref().is_some_and(|to| dir > *to) {
            return true;
        }
        match self.fates.get(&dir) {
            Some(Fate::Unreadable) => true,
            Some(Fate::Lives(life)) => {
                let needed = *life == session.incarnation && !is_void(marker);
                if needed && let Some(begun) = self.begun.get_mut(&dir) {
                    begun.listed = true;
                }
                needed
            }
            Some(Fate::Dead) | None => false,
        }
    }

    /// Once the index was read: sessions whose creation is finished or broken off.
    pub(super) fn begun(self) -> impl Iterator<Item = Begun> {
        self.begun.into_values()
    }
}

/// The folders and lives of the sessions that are in the index.
pub(crate) fn lives_of(markers: &[(SessionRef, Listed)]) -> HashSet<(String, Incarnation)> {
    let whole = markers.iter().filter(|(_, object)| !is_void(object));
    let of = |(session, _): &(SessionRef, _)| (dir_of(&session.id), session.incarnation);
    whole.map(of).collect()
}
