//! Everything that a damaged store answers.

use std::collections::BTreeMap;

use futures_util::TryStreamExt;
use sessionlog_core::{
    Backend, BlobId, BlobInfo, Card, Event, Finding, Head, Liveness, Result, SeqNum, SessionId,
    SessionRef, Snapshot, Store,
};

use super::built::Truths;
use crate::bench::{Ask, Handle};
use crate::make::{FOLD, span};

/// What a store showed.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) ids: Result<Vec<SessionId>>,
    pub(super) cards: Result<BTreeMap<SessionId, Result<Card>>>,
    pub(super) scanned: Result<Vec<(SessionId, Snapshot)>>,
    pub(super) strays: Result<Vec<Finding>>,
    pub(super) sessions: BTreeMap<SessionId, SeenSession>,
}

/// What a session showed.
#[derive(Debug)]
pub(super) struct SeenSession {
    pub(super) head: Result<(SessionRef, Head)>,
    /// The verified events before the first error.
    pub(super) events: Vec<Event>,
    /// That error, if the reading did not come to its end.
    pub(super) ended: Result<()>,
    /// Each position read alone; only where the head is known.
    pub(super) singles: Vec<Result<Vec<Event>>>,
    pub(super) snapshots: Vec<Result<Option<Snapshot>>>,
    pub(super) listed: Result<Vec<BlobInfo>>,
    pub(super) blobs: BTreeMap<BlobId, Result<Vec<u8>>>,
    pub(super) holder: Result<Liveness>,
    pub(super) verified: Result<Vec<Finding>>,
}

impl Seen {
    /// Reads everything that was acknowledged, and whatever else there is.
    pub(super) async fn of(handle: &Handle, truths: &Truths) -> Self {
        let store = Store::shared(handle.clone());
        let ids = handle.ids().await;
        let cards = store.cards().await;
        let names = truths.keys().chain(ids.iter().flatten());
        let names: std::collections::BTreeSet<_> = names.cloned().collect();
        let mut sessions = BTreeMap::new();
        for id in names {
            let seen = SeenSession::of(handle, &id, truths).await;
            sessions.insert(id, seen);
        }
        Self {
            ids,
            cards: cards.map(|all| all.into_iter().map(|l| (l.id, l.card)).collect()),
            scanned: handle.scan(&FOLD, 1).try_collect().await,
            strays: handle.strays().await,
            sessions,
        }
    }
}

impl SeenSession {
    async fn of(handle: &Handle, id: &SessionId, truths: &Truths) -> Self {
        let head = handle.head(id).await;
        let truth = truths.get(id);
        let life = head.as_ref().ok().map(|(life, _)| life.clone());
        let life = life.or_else(|| truth.map(|t| t.life.clone()));
        let life = life.unwrap_or_else(|| SessionRef::fresh(id.clone()));
        let (events, ended) = read(handle, id).await;
        let mut singles = Vec::new();
        if let (Ok((_, end)), Ok(session)) = (&head, Store::shared(handle.clone()).open(id).await) {
            // A head that is far too large is judged by itself.
            let known = truth.map_or(0, |t| t.events.len() as u64) + 50;
            for n in 0..end.tail.get().min(known) {
                singles.push(session.read(span(n, n + 1)).collect().await);
            }
        }
        let mut snapshots = Vec::new();
        for bound in [SeqNum::MAX, SeqNum::new(13), SeqNum::new(4)] {
            snapshots.push(handle.latest(&life, &FOLD, 1, bound).await);
        }
        let mut blobs = BTreeMap::new();
        for blob in truth.iter().flat_map(|t| t.blobs.keys()) {
            blobs.insert(*blob, handle.blob(&life, *blob, 0..u64::MAX).await);
        }
        Self {
            events,
            ended,
            singles,
            snapshots,
            listed: handle.list(&life).try_collect().await,
            blobs,
            holder: handle.holder(&life).await,
            verified: handle.verify(id).await,
            head,
        }
    }

    /// The first error of all that belongs to the log or the blobs.
    pub(super) fn first_error(&self) -> Option<&sessionlog_core::Error> {
        self.errors().next()
    }

    /// All errors that belong to the log or the blobs.
    pub(super) fn errors(&self) -> impl Iterator<Item = &sessionlog_core::Error> {
        let log = [self.head.as_ref().err(), self.ended.as_ref().err()];
        let blobs = self.blobs.values().map(|blob| blob.as_ref().err());
        let singles = self.singles.iter().map(|single| single.as_ref().err());
        let listed = [self.listed.as_ref().err()];
        log.into_iter()
            .chain(singles)
            .chain(listed)
            .chain(blobs)
            .flatten()
    }
}

/// The verified events of a session, as far as they can be read.
pub(super) async fn read(handle: &Handle, id: &SessionId) -> (Vec<Event>, Result<()>) {
    let session = match Store::shared(handle.clone() as std::sync::Arc<dyn Backend>)
        .open(id)
        .await
    {
        Ok(session) => session,
        Err(error) => return (Vec::new(), Err(error)),
    };
    let mut events = Vec::new();
    let mut source = session.read(SeqNum::all());
    while let Some(next) = source.next().await {
        match next {
            Ok(event) => events.push(event),
            Err(error) => return (events, Err(error)),
        }
    }
    (events, Ok(()))
}
