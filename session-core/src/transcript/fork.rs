//! Forks and successions: sessions that come from sessions.

use super::{Forked, Origins, kinds};
use crate::{
    Card, Error, ErrorKind, Event, EventId, NewEvent, Result, SeqNum, Session, SessionId, Store,
};

/// So many bytes of payload are copied in one batch, or one event.
const BATCH_BYTES: usize = 4 << 20;
/// So many events are copied in one batch.
const BATCH_EVENTS: usize = 1000;
/// So many sessions may follow one on another.
const CHAIN: usize = 64;

impl Store {
    /// Makes a session from the first `at` events of another one, `None` for all.
    ///
    /// The events keep their positions, ids, times and bytes, so every reference among them points
    /// into the fork. Behind them stands `session.origin`; in the source, `session.forked`. Blobs
    /// are copied. A call that is open at `at` is closed by replay like any other; tokens that were
    /// used before count in the source only.
    ///
    /// A fork that was broken off is completed by forking again into the same id.
    ///
    /// # Errors
    /// `Conflict` if there is a session of that id with other events; `InvalidInput` if the log is
    /// shorter than `at`; `NotFound`, `Corrupt`, `Unavailable`.
    pub async fn fork(
        &self,
        source: &Session,
        at: Option<SeqNum>,
        into: SessionId,
    ) -> Result<Session> {
        let tail = source.tail().await?;
        let at = at.unwrap_or(tail);
        if at > tail {
            return Err(Error::invalid(format!(
                "the log ends before the position to fork at: {tail} events, wanted {at}"
            )));
        }
        if into == *source.id() {
            return Err(Error::invalid(format!(
                "a session can't be its own fork: {into}"
            )));
        }
        let fork = self.open_or_create(into.clone()).await?;
        let there = fork.tail().await?;
        compare(source, &fork, there.min(at)).await?;
        if there < at {
            copy(source, &fork, there..at).await?;
        }
        for blob in source.blobs().await? {
            fork.put_blob_pieces(source.blob(blob.id, 0..u64::MAX))
                .await?;
        }
        let origin = Origins {
            from: source.id().to_string(),
            at,
        };
        let origin = NewEvent::value(kinds::SESSION_ORIGIN, &origin)?;
        match fork.append_at(at, vec![origin]).await {
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::Conflict { .. }) => {
                let found = fork.event(at).await?;
                let same = found
                    .data
                    .parse::<Origins>()
                    .is_ok_and(|it| it.from == source.id().as_str() && it.at == at);
                if found.kind != kinds::SESSION_ORIGIN || !same {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
        let id = fork_id(&fork)?;
        let forked = Forked {
            into: into.to_string(),
            at,
        };
        // Named after the fork, so that a repeated fork notes it once.
        let forked = NewEvent::value(kinds::SESSION_FORKED, &forked)?.with_id(id);
        match source.append(vec![forked]).await {
            Ok(_) => Ok(fork),
            // Noted by the fork that was broken off, at another time.
            Err(error) if *error.kind() == ErrorKind::InvalidInput => Ok(fork),
            Err(error) => Err(error),
        }
    }

    /// The sessions in which one goes on, by `session.succeeded`, the last one last; empty if it
    /// goes on in none.
    ///
    /// # Errors
    /// `InvalidInput` with the chain if it returns to a session or is longer than 64;
    /// `NotFound` for a successor that is not there: nothing is made up; `Corrupt`, `Unavailable`.
    pub async fn successors(&self, id: &SessionId) -> Result<Vec<SessionId>> {
        let mut chain = vec![id.clone()];
        loop {
            let last = chain.last().unwrap_or(id);
            let session = self.open(last).await?;
            let card = session.project::<Card>().await?.state;
            let Some(next) = card.succeeded_by else {
                chain.remove(0);
                return Ok(chain);
            };
            let next = SessionId::new(&next)?;
            let told = || {
                let names: Vec<_> = chain.iter().map(SessionId::as_str).collect();
                format!("{} -> {next}", names.join(" -> "))
            };
            if chain.contains(&next) {
                return Err(Error::invalid(format!(
                    "sessions succeed one another in a circle: {}",
                    told()
                )));
            }
            if chain.len() > CHAIN {
                return Err(Error::invalid(format!(
                    "more than {CHAIN} sessions succeed one another: {}",
                    told()
                )));
            }
            chain.push(next);
        }
    }

    /// Opens the session in which one goes on: itself, if it goes on in no other.
    ///
    /// # Errors
    /// As [`successors`](Self::successors).
    pub async fn open_latest(&self, id: &SessionId) -> Result<Session> {
        let chain = self.successors(id).await?;
        self.open(chain.last().unwrap_or(id)).await
    }
}

/// An event id that belongs to one life of a fork.
fn fork_id(fork: &Session) -> Result<EventId> {
    let mut bytes = *fork.incarnation().as_bytes();
    // Not the id of any event of the fork: those are made anew, and this bit is theirs.
    if let Some(last) = bytes.last_mut() {
        *last ^= 1;
    }
    Ok(EventId::from_bytes(bytes))
}

/// Refuses a fork whose events are not those of the source.
async fn compare(source: &Session, fork: &Session, until: SeqNum) -> Result<()> {
    let mut theirs = fork.read(SeqNum::ZERO..until);
    let mut ours = source.read(SeqNum::ZERO..until);
    while let Some(event) = theirs.next().await {
        let event = event?;
        let same = match ours.next().await {
            Some(own) => own?.into_new() == event.clone().into_new(),
            None => false,
        };
        if !same {
            let tail = fork.tail().await?;
            return Err(Error::new(
                ErrorKind::Conflict { tail },
                format!(
                    "the session is there with other events, from {} on",
                    event.seq
                ),
            ));
        }
    }
    Ok(())
}

async fn copy(source: &Session, fork: &Session, range: std::ops::Range<SeqNum>) -> Result<()> {
    let mut at = range.start;
    let mut batch: Vec<NewEvent> = Vec::new();
    let mut bytes = 0;
    let mut events = source.read(range);
    loop {
        let event: Option<Event> = events.next().await.transpose()?;
        let full = event.as_ref().is_none_or(|event| {
            bytes + event.data.len() > BATCH_BYTES || batch.len() == BATCH_EVENTS
        });
        if full && !batch.is_empty() {
            at = fork.append_at(at, std::mem::take(&mut batch)).await?.end;
            bytes = 0;
        }
        let Some(event) = event else {
            return Ok(());
        };
        bytes += event.data.len();
        batch.push(event.into_new());
    }
}
