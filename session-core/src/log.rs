//! The trait of an event log.

use std::ops::Range;

use async_trait::async_trait;
use futures_util::future::join_all;
use futures_util::stream::BoxStream;

use crate::{Event, FencingToken, Head, NewEvent, Result, SeqNum, SessionId, SessionRef};

/// What must hold for an append to take effect, checked in the same step as the write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AppendCondition {
    /// The log must end here, or the append is a `Conflict` (G5).
    pub tail: Option<SeqNum>,
    /// No newer lease may have been granted, or the append is `Fenced` (G8). `None` is a plain
    /// append, which any process may do at any time.
    pub token: Option<FencingToken>,
}

impl AppendCondition {
    /// No condition: a plain append.
    pub const NONE: Self = Self {
        tail: None,
        token: None,
    };

    /// Both conditions, as far as they are given.
    pub const fn new(tail: Option<SeqNum>, token: Option<FencingToken>) -> Self {
        Self { tail, token }
    }

    /// The log must end at `tail`.
    pub const fn at(tail: SeqNum) -> Self {
        Self {
            tail: Some(tail),
            token: None,
        }
    }

    /// The writer must still hold the newest lease.
    pub const fn with(token: FencingToken) -> Self {
        Self {
            tail: None,
            token: Some(token),
        }
    }
}

/// Events in order, a chunk at a time, so that a long read costs nothing per event.
pub type Chunks = BoxStream<'static, Result<Vec<Event>>>;

/// Names of sessions, in no particular order.
pub type SessionIds = BoxStream<'static, Result<SessionId>>;

/// The append-only logs of one storage.
///
/// # Contract
///
/// - Everything that returns `Ok` is durable: it survives the death of the process and, where the
///   medium can, the loss of power (G3).
/// - Every method that takes a [`SessionRef`] answers `NotFound` when that life of the session has
///   ended (G17), and never touches another life of the same id.
/// - Every error but `Indeterminate` means that nothing changed (G13). A session that is there but
///   can't be read is `Corrupt`, never `NotFound`.
/// - Dropping a future leaves all or nothing, and never a lock.
/// - Nothing but `create`, `append` and `delete` writes a byte (G16).
/// - An implementation stores every field of an [`Event`] as it got it from
///   [`Ledger::admit`](crate::Ledger::admit), and hands it back so. It does not verify checksums of
///   what it hands out: the core does, on every read of every backend.
#[async_trait]
pub trait EventLog: Send + Sync {
    /// Makes an empty session; it is listed from now on.
    ///
    /// # Errors
    /// `Conflict` with the tail if the id is in use.
    async fn create(&self, session: &SessionRef) -> Result<()>;

    /// The present life of an id and the end of its log. Cost: does not grow with the log.
    ///
    /// # Errors
    /// `NotFound` if there is no such session.
    async fn head(&self, id: &SessionId) -> Result<(SessionRef, Head)>;

    /// What [`head`](Self::head) gives for each of these ids, in their order. A list of all sessions
    /// asks for many at a time: a backend that can look at several for less overrides it.
    async fn heads(&self, ids: &[SessionId]) -> Vec<Result<(SessionRef, Head)>> {
        let mut heads = Vec::with_capacity(ids.len());
        for some in ids.chunks(16) {
            let mut asked = Vec::with_capacity(some.len());
            for id in some {
                asked.push(self.head(id));
            }
            heads.extend(join_all(asked).await);
        }
        heads
    }

    /// Appends one batch, whole or not at all, and gives its positions.
    ///
    /// An empty batch checks the condition and gives the empty range at the tail. The batch is
    /// admitted by a [`Ledger`](crate::Ledger), which holds the rules for limits, idempotency and
    /// conditions.
    ///
    /// # Errors
    /// `Conflict`, `Fenced`, `NotFound`, `InvalidInput` (a limit, or ids that are there with other
    /// content), `Unavailable`, `Indeterminate`.
    async fn append(
        &self,
        session: &SessionRef,
        events: Vec<NewEvent>,
        condition: AppendCondition,
    ) -> Result<Range<SeqNum>>;

    /// The events of a range, as far as they are there when the stream is first polled, ascending
    /// and without a gap (G4). Cost grows with the slice, not with the log; memory with a chunk.
    fn read(&self, session: &SessionRef, range: Range<SeqNum>) -> Chunks;

    /// As [`read`](Self::read), of a range up to a tail that the caller got from
    /// [`head`](Self::head) or a grant in the same operation: there is no need to look once more
    /// whether the session lives and where its log ends. Where a look costs nothing, there is
    /// nothing to implement.
    fn read_known(&self, session: &SessionRef, range: Range<SeqNum>) -> Chunks {
        self.read(session, range)
    }

    /// Waits until the log may reach beyond `tail`, or the life has ended; may return early. Any number
    /// may wait at once, for one session and for several, and all of them are woken.
    ///
    /// # Errors
    /// `NotFound` once the life has ended, whichever handle ended it; `Corrupt`, `Unavailable`.
    async fn changed(&self, session: &SessionRef, tail: SeqNum) -> Result<()>;

    /// The names of all sessions that are there, also of damaged ones.
    fn sessions(&self) -> SessionIds;

    /// The names of the `most` sessions that were made last, the newest first; `None` where no index
    /// tells. Those that were made within the same millisecond come in any order. Cost: does not grow with the sessions that are not asked for, where the storage can.
    ///
    /// # Errors
    /// `Unavailable`.
    async fn newest(&self, most: usize) -> Result<Option<Vec<SessionId>>> {
        let _ = most;
        Ok(None)
    }

    /// Deletes a session with everything that belongs to it; a crash leaves it whole or gone, and so does
    /// dropping the future.
    ///
    /// # Errors
    /// `LeaseHeld` if somebody drives it and `token` is not theirs; `Fenced`, `NotFound`.
    async fn delete(&self, session: &SessionRef, token: Option<FencingToken>) -> Result<()>;
}
