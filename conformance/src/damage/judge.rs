//! Whether what a damaged store showed is the right answer, or an error.
//!
//! Some harms can't be told by anybody: a file that is wholly as it was earlier, or wholly another
//! store's. Then what is shown must be wholly of that time, or wholly of that store. Whether a lost
//! end of a log must be told is a capability: see `Subject::FINDS_LOST_ENDS`.

use sessionlog_core::{
    Card, Error, ErrorKind, Finding, Liveness, Projection, Result, SessionId, SessionRef, Severity,
};

use super::built::{Truth, Truths};
use super::explore::Context;
use super::harm::{Image, What};
use super::look::{Seen, SeenSession};
use crate::Capability;
use crate::breach::{Held, breach, ensure, ensure_eq};

impl Context {
    /// What is true now.
    pub(super) fn now(&self) -> &Truths {
        self.built.truths(self.harm.image)
    }

    /// What may be shown of a session: what is true now, or at another time or in another store, if
    /// the harm brought a file from there.
    fn truths<'a>(&'a self, id: &SessionId) -> Vec<Option<&'a Truth>> {
        let mut all = vec![self.now().get(id)];
        match &self.harm.what {
            What::Older { stage } => {
                all.extend(self.built.stages.get(*stage).map(|s| s.truths.get(id)));
            }
            What::OfStore => all.push(self.built.other_truths.get(id)),
            _ => {}
        }
        all
    }

    /// Whether a session may be not there: it was not at that time, or is not in that store, or it
    /// was made in the part that is lost of a file that sessions share.
    pub(super) fn may_be_absent(&self, id: &SessionId) -> bool {
        let shared = self.built.owner(&self.harm.file).is_none();
        let lost = shared && self.subject.finds_lost_ends != Capability::Yes && self.ends_early();
        lost || self.truths(id).iter().any(Option::is_none)
    }

    /// Whether the harm took the end of the file's content away, and nothing else.
    fn ends_early(&self) -> bool {
        let before = self.built.image(self.harm.image).files.get(&self.harm.file);
        let before = before.map(Vec::as_slice).unwrap_or_default();
        let after = self.tree.files.get(&self.harm.file);
        let after = after.map(Vec::as_slice).unwrap_or_default();
        if before.starts_with(after) {
            return true;
        }
        match self.harm.what {
            What::Older { .. } => true,
            What::Zero { at, len } => {
                // Behind the content there may be space: one byte, again and again.
                let last = before.iter().rposition(|byte| Some(byte) != before.last());
                last.is_none_or(|last| at + len > last)
            }
            _ => false,
        }
    }

    /// Whether blobs may be not there without a word: their file is gone, or is of another time or
    /// another store, or has lost an end of which nobody can tell that it was there.
    pub(super) fn may_lack_blobs(&self) -> bool {
        let lost = self.subject.finds_lost_ends != Capability::Yes && self.ends_early();
        lost || matches!(
            self.harm.what,
            What::Missing | What::Older { .. } | What::OfStore
        )
    }

    /// The truth about a life.
    pub(super) fn truth(&self, life: &SessionRef) -> Held<&Truth> {
        let mut known = self.truths(&life.id).into_iter().flatten();
        let known = known.find(|truth| truth.life == *life);
        known.ok_or_else(|| breach(format!("a life of {} that never was: {life:?}", life.id)))
    }

    /// Whether a log may end here although it was longer, without a word.
    pub(super) fn may_end(&self, truth: &Truth, len: usize) -> bool {
        let older = self.truths(&truth.life.id).into_iter().flatten();
        let mut older = older.filter(|t| t.life == truth.life);
        if older.any(|t| t.events.len() == len) {
            return true;
        }
        if self.subject.finds_lost_ends == Capability::Yes || !truth.ends.contains(&len) {
            return false;
        }
        if self.ends_early() {
            return true;
        }
        let last = truth.ends.iter().rev().nth(1) == Some(&len);
        match self.blanked() {
            // What a power cut leaves of the last commit may look like any other loss of sectors.
            Some(lost) => truth.ends_in(len, lost),
            // So may anything that recovery after a kill takes the last commit from.
            None => last && self.harm.image == Image::Killed,
        }
    }

    /// How many bytes the harm made blank, if it did: NUL, or a space that was somewhere else.
    fn blanked(&self) -> Option<usize> {
        let before = self.built.image(self.harm.image).files.get(&self.harm.file);
        let before = before.map(Vec::as_slice).unwrap_or_default();
        match self.harm.what {
            What::Zero { len, .. } => Some(len),
            What::Swap { one, other, len } => {
                let blank = |at: usize| {
                    let block = before.get(at..at + len).unwrap_or_default();
                    block.windows(2).all(|pair| pair.first() == pair.last())
                };
                (blank(one) || blank(other)).then_some(len)
            }
            _ => None,
        }
    }

    /// A breach if anything that was shown was never so.
    pub(super) fn right(&self, seen: &Seen) -> Held {
        for (id, session) in &seen.sessions {
            self.right_session(id, session)?;
        }
        for id in seen.ids.iter().flatten() {
            let known = self.truths(id).iter().any(Option::is_some);
            ensure!(known, "the list has a session that is not there: {id}");
        }
        for (id, snapshot) in seen.scanned.iter().flatten() {
            let mut all = self.truths(id).into_iter().flatten();
            let known = all.any(|truth| truth.snapshots.contains(snapshot));
            ensure!(known, "a scan gave a snapshot of {id} that nobody saved");
        }
        for (id, card) in seen.cards.iter().flatten() {
            let (Ok(card), Some(session)) = (card, seen.sessions.get(id)) else {
                continue;
            };
            if let Ok((life, head)) = &session.head {
                let len = usize::try_from(head.tail.get()).unwrap_or(usize::MAX);
                let mut expected = Card::default();
                for event in self.truth(life)?.events.iter().take(len) {
                    expected.apply(event);
                }
                ensure_eq!(*card, expected, "the card of {id}");
            }
        }
        Ok(())
    }

    fn right_session(&self, id: &SessionId, seen: &SeenSession) -> Held {
        let truth = match &seen.head {
            Ok((life, head)) => {
                ensure_eq!(life.id, *id, "the session that was asked for");
                let truth = self.truth(life)?;
                let tail = usize::try_from(head.tail.get()).unwrap_or(usize::MAX);
                ensure!(
                    tail <= truth.events.len(),
                    "{id} has a tail beyond its log: {tail}"
                );
                ensure_eq!(*head, truth.head(tail), "the head of {id}");
                Some(truth)
            }
            Err(_) => self.now().get(id),
        };
        let expected = truth.map_or(&[][..], |truth| &truth.events);
        for (n, event) in seen.events.iter().enumerate() {
            ensure_eq!(Some(event), expected.get(n), "event {n} of {id}");
        }
        for (n, single) in seen.singles.iter().enumerate() {
            for event in single.iter().flatten() {
                ensure_eq!(
                    Some(event),
                    expected.get(n),
                    "event {n} of {id}, read alone"
                );
            }
        }
        let known = self.truths(id).into_iter().flatten();
        let known: Vec<_> = known.collect();
        for snapshot in seen.snapshots.iter().flatten().flatten() {
            let saved = known.iter().any(|truth| truth.snapshots.contains(snapshot));
            ensure!(
                saved,
                "a snapshot of {id} that nobody saved: it covers {}",
                snapshot.covers
            );
        }
        for info in seen.listed.iter().flatten() {
            // Its length is that of what lies there: reading it tells whether that is the blob.
            let put = known.iter().any(|truth| truth.blobs.contains_key(&info.id));
            ensure!(
                put,
                "the blobs of {id} have one that was never put: {info:?}"
            );
        }
        for (blob, content) in &seen.blobs {
            if let Ok(content) = content {
                let mut contents = known.iter().filter_map(|truth| truth.blobs.get(blob));
                let right = contents.any(|expected| expected == content);
                ensure!(right, "blob {blob} of {id} came back with other bytes");
            }
        }
        let driven = matches!(seen.holder, Ok(Liveness::Live(_)));
        ensure!(!driven, "{id} is said to be driven: {:?}", seen.holder);
        Ok(())
    }

    /// A breach if something that was acknowledged is not shown, and nothing says so.
    pub(super) fn told(&self, seen: &Seen) -> Held {
        for (id, truth) in self.now() {
            let may_be_absent = self.may_be_absent(id);
            let session = seen.sessions.get(id);
            let session = session.ok_or_else(|| breach(format!("{id} was not looked at")))?;
            let absent = session.head.as_ref().is_err_and(Error::is_not_found);
            if may_be_absent && absent {
                continue;
            }
            ensure!(
                !absent,
                "{id} is said not to be there, instead of an error: {:?}",
                session.head
            );
            if let Ok(ids) = &seen.ids {
                let listed = ids.contains(id) || self.may_be_forgotten(id, seen);
                ensure!(listed, "the list has forgotten {id}");
            }
            if let Ok(cards) = &seen.cards {
                let listed = cards.contains_key(id) || self.may_be_forgotten(id, seen);
                ensure!(listed, "the cards have forgotten {id}");
            }
            let Ok((life, head)) = &session.head else {
                continue;
            };
            let shown = self.truth(life)?;
            let end = usize::try_from(head.tail.get()).unwrap_or(usize::MAX);
            let whole = |len: usize| {
                len == shown.events.len() || *life == truth.life && self.may_end(truth, len)
            };
            ensure!(
                whole(end) || session.ended.is_err(),
                "the log of {id} ends at {end} in silence, it had {} events",
                shown.events.len()
            );
            if session.ended.is_ok() {
                let read = session.events.len();
                ensure_eq!(read, end, "events of {id} that are read, and its tail");
                ensure!(whole(read), "a read of {id} ends at {read} in silence");
                let single = session
                    .singles
                    .iter()
                    .position(|single| single.as_ref().is_ok_and(Vec::is_empty));
                ensure_eq!(
                    single,
                    None,
                    "a position of {id} that is read alone as nothing"
                );
            }
        }
        Ok(())
    }

    /// Whether a list need not know a session: what was harmed is no other session's, and verification
    /// tells.
    fn may_be_forgotten(&self, id: &SessionId, seen: &Seen) -> bool {
        let owner = self.built.owner(&self.harm.file);
        let told = seen.strays.as_ref().map_or(true, |found| damage(found));
        self.subject.finds_lost_names != Capability::Yes && owner.is_none_or(|o| o == id) && told
    }
}

/// Whether any of the findings is damage.
pub(super) fn damage(found: &[Finding]) -> bool {
    found
        .iter()
        .any(|finding| finding.severity == Severity::Damage)
}

/// Whether an error is one that damage may lead to: not a word about the caller.
pub(super) fn fitting<T>(result: &Result<T>) -> bool {
    result.as_ref().err().is_none_or(|error| {
        !matches!(
            error.kind(),
            ErrorKind::Internal | ErrorKind::Conflict { .. } | ErrorKind::LeaseHeld { .. }
        )
    })
}
