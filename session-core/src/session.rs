//! A handle on one session.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};

use crate::follow::follow;
use crate::verify::{verified, verified_until};
use crate::{
    AppendCondition, Backend, BlobId, BlobInfo, Error, ErrorKind, Event, Events, Head, Incarnation,
    LeaseRequest, Liveness, NewEvent, Pieces, Result, SeqNum, SessionId, SessionRef, Writer,
};

/// One session in one of its lives: for reading, following, and plain appends.
///
/// Cloning is cheap. A handle outlives the deletion of its session only to say `NotFound`.
#[derive(Clone)]
pub struct Session {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) at: SessionRef,
}

impl Session {
    pub(crate) fn new(backend: Arc<dyn Backend>, at: SessionRef) -> Self {
        Self { backend, at }
    }

    /// The name.
    pub fn id(&self) -> &SessionId {
        &self.at.id
    }

    /// The life.
    pub fn incarnation(&self) -> Incarnation {
        self.at.incarnation
    }

    pub(crate) fn at(&self) -> &SessionRef {
        &self.at
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// The end of the log.
    ///
    /// # Errors
    /// `NotFound`, `Corrupt`, `Unavailable`.
    pub async fn head(&self) -> Result<Head> {
        let (present, head) = self.backend.head(&self.at.id).await?;
        if present == self.at {
            Ok(head)
        } else {
            Err(self.at.gone())
        }
    }

    /// The position that the next event will get.
    ///
    /// # Errors
    /// As [`head`](Self::head).
    pub async fn tail(&self) -> Result<SeqNum> {
        Ok(self.head().await?.tail)
    }

    /// The events of a range, as far as they are there when the reading begins: verified, in
    /// order, in bounded memory. Cost grows with the slice, not with the log.
    pub fn read(&self, range: Range<SeqNum>) -> Events {
        Events::new(verified(self.backend.clone(), self.at.clone(), range, None))
    }

    /// The last `n` events.
    ///
    /// # Errors
    /// As [`head`](Self::head).
    pub async fn last(&self, n: u64) -> Result<Events> {
        let end = self.head().await?;
        Ok(self.read_until(end, end.tail.minus(n)..end.tail))
    }

    /// The events of a range of the log whose end the caller has just looked at.
    pub(crate) fn read_until(&self, end: Head, range: Range<SeqNum>) -> Events {
        let at = self.at.clone();
        Events::new(verified_until(&*self.backend, at, end, range, None))
    }

    /// The events from a position on, and then each new one as it is appended, by whatever
    /// process: no gap and no repeat between the two. Ends only with an error.
    pub fn follow(&self, from: SeqNum) -> Events {
        Events::new(follow(self.clone(), from))
    }

    /// Appends a batch without a lease: a message from outside, the exit of a background process.
    /// Whole or not at all, durable on `Ok`, wherever the log ends then. The same batch again is
    /// the same append.
    ///
    /// # Errors
    /// `InvalidInput`, `NotFound`, `Unavailable`; `Indeterminate` only if looking again failed too.
    pub async fn append(&self, events: Vec<NewEvent>) -> Result<Range<SeqNum>> {
        self.append_if(events, AppendCondition::NONE).await
    }

    /// Appends a batch if the log ends at `tail`.
    ///
    /// # Errors
    /// `Conflict` with the tail if it does not; else as [`append`](Self::append).
    pub async fn append_at(&self, tail: SeqNum, events: Vec<NewEvent>) -> Result<Range<SeqNum>> {
        self.append_if(events, AppendCondition::at(tail)).await
    }

    /// Appends, and settles an unknown outcome by appending the same ids again: what is there
    /// already is found, what is not is written (G18).
    pub(crate) async fn append_if(
        &self,
        events: Vec<NewEvent>,
        condition: AppendCondition,
    ) -> Result<Range<SeqNum>> {
        const TRIES: u32 = 4;
        let mut tries = 0;
        let mut unknown = None;
        loop {
            tries += 1;
            let outcome = self
                .backend
                .append(&self.at, events.clone(), condition)
                .await;
            let error = match outcome {
                Err(error) if !settles(error.kind()) => error,
                outcome => return outcome,
            };
            // That nobody could look now does not say that nothing happened before.
            let is_unknown = unknown.is_some() || *error.kind() == ErrorKind::Indeterminate;
            let first = unknown.take().unwrap_or(error);
            if !is_unknown || tries == TRIES {
                return Err(first);
            }
            unknown = Some(first);
            let pause = std::time::Duration::from_millis(10 << (2 * tries));
            futures_timer::Delay::new(pause).await;
        }
    }

    /// Takes the lease, and the right to drive the session with it.
    ///
    /// # Errors
    /// `LeaseHeld` that names the holder; `NotFound`, `Unavailable`.
    pub async fn acquire(&self, request: LeaseRequest) -> Result<Writer> {
        let lease = self.backend.acquire(&self.at, request).await?;
        Writer::new(self.clone(), lease).await
    }

    /// Who drives the session now. Changes nothing.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn holder(&self) -> Result<Liveness> {
        self.backend.holder(&self.at).await
    }

    /// Stores bytes beside the log, for events to refer to. Gives the name of the content.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn put_blob(&self, content: impl Into<Bytes>) -> Result<BlobInfo> {
        self.put_blob_pieces(stream::iter([Ok(content.into())]).boxed())
            .await
    }

    /// Stores bytes that come in pieces.
    ///
    /// # Errors
    /// The first error of `content`; `NotFound`, `Unavailable`.
    pub async fn put_blob_pieces(&self, content: Pieces) -> Result<BlobInfo> {
        self.backend.put(&self.at, content, None).await
    }

    /// The bytes of a blob within `range`; `0..u64::MAX` is all of it, checked against its name.
    pub fn blob(&self, id: BlobId, range: Range<u64>) -> Pieces {
        self.backend.get(&self.at, id, range)
    }

    /// The blobs of this session.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn blobs(&self) -> Result<Vec<BlobInfo>> {
        let mut listed = self.backend.list(&self.at);
        let mut all = Vec::new();
        while let Some(info) = listed.next().await {
            all.push(info?);
        }
        Ok(all)
    }

    /// The event at a position.
    ///
    /// # Errors
    /// `NotFound` behind the tail; as [`read`](Self::read).
    pub async fn event(&self, seq: SeqNum) -> Result<Event> {
        let found = self.read(seq..seq.plus(1)).collect().await?.pop();
        found.ok_or_else(|| {
            Error::not_found(format!("the log has no event at this position: {seq}"))
        })
    }
}

/// Whether an error says that the batch is not in the log, whatever became of it before.
fn settles(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Conflict { .. }
            | ErrorKind::Fenced { .. }
            | ErrorKind::InvalidInput
            | ErrorKind::NotFound
    )
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Session").field(&self.at).finish()
    }
}
