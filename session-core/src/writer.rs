//! A handle on the lease.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::lock::Mutex;

use crate::{
    AppendCondition, BlobInfo, Card, FencingToken, Head, Lease, NewEvent, Pieces, Projected,
    Projection, Result, SeqNum, Session,
};

/// The one driver of a session: its appends take effect only while no newer lease was granted.
///
/// It can be shared by many tasks; what they append at the same time joins one commit. Dropping it
/// lets the lease go without I/O; [`release`](Self::release) also brings the session's card up to
/// date.
#[must_use = "the lease ends when it is dropped"]
pub struct Writer {
    session: Session,
    token: FencingToken,
    lease: Mutex<Lease>,
    end: Head,
    /// Payload bytes appended since the card was last saved.
    uncarded: AtomicU64,
}

/// The card is saved again after this many bytes of payload, so that a list reads no more than
/// that of each log and cards cost less than a hundredth of the bytes written.
const CARD_EVERY: u64 = 256 << 10;

impl Writer {
    pub(crate) async fn new(session: Session, lease: Lease) -> Result<Self> {
        // The end is read behind the grant: no earlier holder can move it any more.
        let end = match lease.end {
            Some(end) => end,
            None => session.head().await?,
        };
        let token = lease.token;
        Ok(Self {
            session,
            token,
            lease: Mutex::new(lease),
            end,
            uncarded: AtomicU64::new(0),
        })
    }

    /// The session, for reading.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The token of this grant.
    pub fn token(&self) -> FencingToken {
        self.token
    }

    /// Where the log ended when the lease was granted: everything before it is settled.
    pub fn tail_at_grant(&self) -> SeqNum {
        self.end.tail
    }

    pub(crate) const fn end_at_grant(&self) -> Head {
        self.end
    }

    /// Appends a batch: whole or not at all, durable on `Ok`.
    ///
    /// An unknown outcome is settled before this returns: the batch is looked for by its event ids.
    ///
    /// # Errors
    /// `Fenced` once a newer lease was granted: stop. `InvalidInput`, `NotFound`, `Unavailable`;
    /// `Indeterminate` only if looking again failed too.
    pub async fn append(&self, events: Vec<NewEvent>) -> Result<Range<SeqNum>> {
        self.append_if(events, None).await
    }

    /// Appends one event and gives its position.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub async fn append_one(&self, event: NewEvent) -> Result<SeqNum> {
        Ok(self.append(vec![event]).await?.start)
    }

    /// Appends a batch if the log ends at `tail`: no plain append came between.
    ///
    /// # Errors
    /// `Conflict`; else as [`append`](Self::append).
    pub async fn append_at(&self, tail: SeqNum, events: Vec<NewEvent>) -> Result<Range<SeqNum>> {
        self.append_if(events, Some(tail)).await
    }

    async fn append_if(
        &self,
        events: Vec<NewEvent>,
        tail: Option<SeqNum>,
    ) -> Result<Range<SeqNum>> {
        let bytes: usize = events.iter().map(|e| e.data.len()).sum();
        let condition = AppendCondition::new(tail, Some(self.token));
        let range = self.session.append_if(events, condition).await?;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let before = self.uncarded.fetch_add(bytes, Ordering::Relaxed);
        let is_due = before.saturating_add(bytes) >= CARD_EVERY;
        // One of all that append at once.
        if is_due && self.uncarded.swap(0, Ordering::Relaxed) >= CARD_EVERY {
            // A card is derived: that it could not be saved must not fail an append that is
            // durable. The next list folds a longer tail, and so many bytes later it is tried again.
            self.save_card().await.ok();
        }
        Ok(range)
    }

    /// Brings the session's card up to date.
    ///
    /// # Errors
    /// `Fenced`, `NotFound`, `Corrupt`, `Unavailable`.
    pub async fn save_card(&self) -> Result<()> {
        let card = self.session.project::<Card>().await?;
        self.save(&card).await
    }

    /// Saves a snapshot of a projection of this session.
    ///
    /// # Errors
    /// `Fenced`, `NotFound`, `Unavailable`; `InvalidInput` if the state can't be written as JSON.
    pub async fn save<P: Projection>(&self, projected: &Projected<P>) -> Result<()> {
        self.session.save(projected, Some(self.token)).await
    }

    /// Stores bytes beside the log, under this lease.
    ///
    /// # Errors
    /// The first error of `content`; `Fenced`, `NotFound`, `Unavailable`.
    pub async fn put_blob_pieces(&self, content: Pieces) -> Result<BlobInfo> {
        self.session
            .backend()
            .put(self.session.at(), content, Some(self.token))
            .await
    }

    /// Makes the lease live for `ttl` from now on, where leases are timed.
    ///
    /// # Errors
    /// `Fenced`, `NotFound`, `Unavailable`.
    pub async fn renew(&self, ttl: Duration) -> Result<()> {
        let mut lease = self.lease.lock().await;
        self.session.backend().renew(&mut lease, ttl).await
    }

    /// Saves the card and gives the lease back.
    ///
    /// # Errors
    /// `Unavailable`; the lease is let go all the same.
    pub async fn release(self) -> Result<()> {
        if self.uncarded.load(Ordering::Relaxed) > 0 {
            // Derived: see `append_if`.
            drop(self.save_card().await);
        }
        let lease = self.lease.into_inner();
        self.session.backend().release(&lease).await
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("session", &self.session)
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}
