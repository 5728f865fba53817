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

    /// Whether this batch has a session, or would have it if there were a folder of it.
    pub(super) fn has(&self, dir: &str) -> bool {
        let before = self.behind.as_deref().is_some_and(|behind| dir <= behind);
        !before && self.to.as_deref().is_none_or(|to| dir <= to)
    }

    /// Whether somebody needs a marker; so for one of a session that is in another batch.
    pub(super) fn needs(&mut self, session: &SessionRef, marker: &Listed) -> bool {
        let dir = dir_of(&session.id);
        if !self.has(&dir) {
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

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    /// Whether each session's marker, whole or void, is needed by a batch.
    fn needed(batch: &mut Batch, sessions: &[SessionRef], len: u64) -> Vec<bool> {
        let listed = Listed {
            key: "marker".into(),
            len,
            modified: SystemTime::now(),
            tag: None,
        };
        let needs = |session| batch.needs(session, &listed);
        sessions.iter().map(needs).collect()
    }

    #[test]
    fn each_marker_is_judged_by_the_batch_that_its_session_is_in() {
        let id = |n: u32| format!("s{n}").parse().unwrap();
        let mut sessions: Vec<_> = (0..6).map(|n| SessionRef::fresh(id(n))).collect();
        sessions.sort_by_key(|session| dir_of(&session.id));
        let dir = |at: usize| dir_of(&sessions[at].id);
        let lives = |at: usize| Swept::new(dir(at), Fate::Lives(sessions[at].incarnation));
        let mut first = Batch::default();
        drop(first.add(lives(0)));
        drop(first.add(Swept::new(dir(1), Fate::Dead)));
        drop(first.add(Swept::new(dir(2), Fate::Unreadable)));
        let mut last = first.next();
        drop(last.add(lives(4)));
        assert_eq!((first.len(), last.len()), (3, 1));
        let mut last = last.last();
        // Of the session between them and the last there is no folder.
        let all = [true, false, true, true, true, true];
        assert_eq!(needed(&mut first, &sessions, 99), all);
        let all = [true, true, true, false, true, false];
        assert_eq!(needed(&mut last, &sessions, 99), all);
        let all = [false, false, true, true, true, true];
        assert_eq!(needed(&mut first, &sessions, 2), all, "void");
        let another: Vec<_> = sessions
            .iter()
            .map(|s| SessionRef::fresh(s.id.clone()))
            .collect();
        let all = [false, false, true, true, true, true];
        assert_eq!(needed(&mut first, &another, 99), all, "of another life");
    }
}
