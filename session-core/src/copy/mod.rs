//! A session, copied whole into another store.

mod begin;
mod run;

use self::begin::{begins, same_life};
use self::run::Copy;
use crate::transcript::Transcript;
use crate::{Card, Head, Owner, Projection, Result, Session, SessionId, Store};

/// How a session is copied: [`Store::copy_to`].
#[derive(Clone, Debug)]
pub struct CopyOptions {
    pub(crate) owner: Owner,
    pub(crate) dry_run: bool,
    pub(crate) snapshots: Vec<(&'static str, u32)>,
}

impl CopyOptions {
    /// A copy of everything, with the snapshots of [`Card`] and [`Transcript`].
    ///
    /// `owner` is told to those who want to drive the destination meanwhile.
    pub fn new(owner: Owner) -> Self {
        let none = Self {
            owner,
            dry_run: false,
            snapshots: Vec::new(),
        };
        none.with_snapshots::<Card>().with_snapshots::<Transcript>()
    }

    /// The same, with the newest snapshot of another projection. A store can't say which
    /// projections it has snapshots of, so those that are worth taking along are named.
    #[must_use]
    pub fn with_snapshots<P: Projection>(mut self) -> Self {
        self.snapshots.push((P::NAME, P::VERSION));
        self
    }

    /// The same, with no snapshot at all. They are a cache: replay at the destination makes them
    /// anew.
    #[must_use]
    pub fn without_snapshots(mut self) -> Self {
        self.snapshots.clear();
        self
    }

    /// The same, writing nothing: the source is read and checked, and what would be copied is
    /// counted.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }
}

/// What a copy did, so far or at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copied {
    /// Events that the destination had before.
    pub already: u64,
    /// Events that were copied.
    pub events: u64,
    /// The bytes of their payloads.
    pub bytes: u64,
    /// Blobs that were copied.
    pub blobs: u64,
    /// Their bytes.
    pub blob_bytes: u64,
    /// Snapshots that were copied.
    pub snapshots: u64,
    /// The end of the source when the copy began: in the end that of the destination too.
    pub head: Head,
}

impl Copied {
    /// Whether the destination had everything before.
    pub fn is_nothing(&self) -> bool {
        self.events == 0 && self.blobs == 0 && self.snapshots == 0
    }
}

impl Store {
    /// Copies a session into another store: its log, its blobs, and snapshots.
    ///
    /// The copy has the same id and is the same life ([`Incarnation`](crate::Incarnation)). Events
    /// keep their ids, times, kinds and bytes, so each has the same checksum on both sides. What
    /// is copied are the events that were there when the copy began; what was appended together
    /// need not be a batch at the destination. Leases and their tokens stay behind: they belong to
    /// a store. The source is never written.
    ///
    /// A destination that has the beginning of the session is continued, so a copy that was killed
    /// goes on where it ended, and one of a session that has grown adds what is new. Blobs that
    /// only the destination has stay there. If all is there already, nothing is written.
    ///
    /// The lease of the destination is held meanwhile. In the end, what was appended is read back
    /// and its chained checksum compared with that of the source; what the destination had before
    /// is vouched for by its last checksum, and not read again. `progress` is called after each
    /// batch and each blob. Memory is bounded by a batch, 4 MiB or one event, and the largest
    /// snapshot.
    ///
    /// Two copies that both go on are two sessions: to copy one over the other is a `Conflict`.
    ///
    /// ```
    /// use sessionlog_core::*;
    ///
    /// # pollster::block_on(async {
    /// let (from, to) = (Store::new(Memory::new()), Store::new(Memory::new()));
    /// let session = from.create("s1".parse()?).await?;
    /// let hello = NewEvent::json(Kind::from_static("message"), r#"{"role":"user"}"#)?;
    /// session.append(vec![hello]).await?;
    ///
    /// let options = CopyOptions::new(Owner::new("docs")?);
    /// let copied = from.copy_to(session.id(), &to, &options, |_| {}).await?;
    /// assert_eq!((copied.already, copied.events), (0, 1));
    ///
    /// let copy = to.open(session.id()).await?;
    /// assert_eq!(copy.head().await?, session.head().await?);
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `Conflict` if the destination has another session of this name, or one that went on by
    /// itself: it is left as it is. `LeaseHeld` if somebody drives the destination. `NotFound` if
    /// the source has no such session, `Corrupt` if either is damaged: repair it first.
    /// `InvalidInput` if the destination's limits are smaller than an event. `Unavailable`,
    /// `Indeterminate`: what was copied until then is there, and the same copy goes on.
    pub async fn copy_to(
        &self,
        id: &SessionId,
        to: &Self,
        options: &CopyOptions,
        progress: impl FnMut(&Copied),
    ) -> Result<Copied> {
        let (at, end) = self.backend().head(id).await?;
        let from = Session::new(self.backend().clone(), at.clone());
        let there = Session::new(to.backend().clone(), at);
        let base = match to.backend().head(id).await {
            Ok((present, head)) => {
                same_life(there.at(), &present, head)?;
                begins(&from, end, &there, head).await?;
                Some(head)
            }
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        Copy::new(from, end, there, base, options, progress)
            .run()
            .await
    }
}
