//! Whether verification finds what reading finds, and where; and whether everything is read where it
//! finds nothing.

use sessionlog_core::{Error, ErrorKind, Place, SeqNum, SessionId, Severity};

use super::built::Truth;
use super::explore::Context;
use super::harm::What;
use super::judge::damage;
use super::look::{Seen, SeenSession};
use crate::breach::{Held, ensure, ensure_eq};

impl Context {
    /// A breach if a read fails and verification sees no damage, or the other way round.
    pub(super) fn verified(&self, seen: &Seen) -> Held {
        let stray = seen.strays.as_ref().map_or(true, |found| damage(found));
        let mut all = !stray;
        for (id, session) in &seen.sessions {
            let Some(truth) = self.now().get(id) else {
                all = false;
                continue;
            };
            let found = session.is_found_damaged();
            let error = self.damage_read(session);
            if let Some(error) = error {
                ensure!(
                    found || stray,
                    "verification of {id} sees no damage, reading says: {error} ({:?})",
                    error.kind()
                );
                self.said(id, session)?;
            }
            placed(id, session, error)?;
            let whole = !found && !stray;
            if whole {
                self.whole(session, truth)?;
                let card = seen.cards.as_ref().ok().and_then(|cards| cards.get(id));
                let fails = card.and_then(|card| card.as_ref().err());
                ensure!(fails.is_none(), "{id} is whole, its card is {fails:?}");
            }
            all &= whole && error.is_none() && session.head.is_ok();
        }
        if all {
            let fails = seen.scanned.as_ref().err().or(seen.cards.as_ref().err());
            ensure!(fails.is_none(), "all is whole, a list says: {fails:?}");
        }
        Ok(())
    }

    /// The first error that is more than a word about something that may be gone.
    fn damage_read<'a>(&self, session: &'a SeenSession) -> Option<&'a Error> {
        let absent = session.head.as_ref().is_err_and(Error::is_not_found);
        let gone = |error: &&Error| error.is_not_found() && (absent || self.may_lack_blobs());
        session.errors().find(|error| !gone(error))
    }

    /// A breach if damage is told as something that goes away by itself, or without its place.
    fn said(&self, id: &SessionId, session: &SeenSession) -> Held {
        for error in session.errors() {
            let honest = match error.kind() {
                ErrorKind::Corrupt { place } => {
                    place.session.as_ref() == Some(id) || place.file.is_some()
                }
                ErrorKind::NotFound | ErrorKind::Unsupported => true,
                _ => false,
            };
            let honest = honest || matches!(self.harm.what, What::Missing);
            ensure!(
                honest,
                "damage of {id} is told as {error} ({:?})",
                error.kind()
            );
        }
        Ok(())
    }

    /// A breach unless a session shows all that was acknowledged.
    fn whole(&self, seen: &SeenSession, truth: &Truth) -> Held {
        let id = &truth.life.id;
        let Ok((life, _)) = &seen.head else {
            ensure!(self.may_be_absent(id), "the head of {id}: {:?}", seen.head);
            return Ok(());
        };
        let shown = self.truth(life)?;
        ensure!(seen.ended.is_ok(), "reading {id}: {:?}", seen.ended);
        let len = seen.events.len();
        let whole = len == shown.events.len() || self.may_end(truth, len);
        ensure!(whole, "{id} shows {len} of {} events", shown.events.len());
        let listed = seen.listed.iter().flatten();
        let listed: Vec<_> = listed.map(|info| info.id).collect();
        let lost = shown.blobs.keys().find(|blob| !listed.contains(blob));
        let lost = lost.filter(|_| !self.may_lack_blobs());
        ensure_eq!(lost, None, "a blob that the list of {id} has lost");
        for snapshot in &seen.snapshots {
            let fails = snapshot.as_ref().err();
            ensure!(
                fails.is_none(),
                "{id} is whole, its latest snapshot is {fails:?}"
            );
        }
        Ok(())
    }
}

/// A breach if verification finds damage and says nothing of it, or looks for it where it is not.
fn placed(id: &SessionId, session: &SeenSession, error: Option<&Error>) -> Held {
    let found = session.verified.iter().flatten();
    let found: Vec<_> = found.filter(|f| f.severity == Severity::Damage).collect();
    let said = |place: &Place| *place != Place::default();
    ensure!(
        found.is_empty()
            || found
                .iter()
                .any(|f| !f.message.is_empty() && said(&f.place)),
        "a finding without a place or without words: {found:?}"
    );
    let here = |place: &Place| {
        place.session.as_ref().is_none_or(|session| session == id)
            && place.seq.is_none_or(|seq| session.is_unreadable_at(seq))
    };
    ensure!(
        error.is_none() || found.is_empty() || found.iter().any(|f| here(&f.place)),
        "reading {id} fails, verification looks elsewhere\nexpected: a place at which reading fails: {error:?}\nobserved: {found:?}"
    );
    Ok(())
}

impl SeenSession {
    /// Whether verification found damage, or could not look.
    fn is_found_damaged(&self) -> bool {
        match &self.verified {
            Ok(found) => damage(found),
            Err(error) => !error.is_not_found(),
        }
    }

    /// Whether an event could not be read, or was the first that was not.
    fn is_unreadable_at(&self, seq: SeqNum) -> bool {
        let at = usize::try_from(seq.get()).unwrap_or(usize::MAX);
        let read = self.singles.get(at).and_then(|single| single.as_ref().ok());
        at == self.events.len() || read.is_none_or(Vec::is_empty)
    }
}
