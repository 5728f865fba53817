//! The copy itself.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;

use super::begin::conflict;
use super::{Copied, CopyOptions};
use crate::{
    AppendCondition, BlobId, BlobInfo, Card, Error, FencingToken, Head, Kind, Lease, LeaseRequest,
    NewEvent, Place, Projection, Result, SeqNum, Session, Snapshot,
};

/// A batch is appended when it has so many events,
const EVENTS: usize = 2000;
/// or so many bytes.
const BYTES: usize = 4 << 20;
/// A lease that runs out is renewed for this long, three times in that time.
const LEASE: Duration = Duration::from_secs(30);

/// A copy that is under way.
pub(super) struct Copy<'a, F> {
    from: Session,
    there: Session,
    /// The end of what the destination has; `None` if it does not have the session.
    base: Option<Head>,
    options: &'a CopyOptions,
    progress: F,
    copied: Copied,
    renewed: Instant,
}

impl<'a, F: FnMut(&Copied)> Copy<'a, F> {
    pub(super) fn new(
        from: Session,
        end: Head,
        there: Session,
        base: Option<Head>,
        options: &'a CopyOptions,
        progress: F,
    ) -> Self {
        let copied = Copied {
            already: base.map_or(0, |base| base.tail.get()),
            events: 0,
            bytes: 0,
            blobs: 0,
            blob_bytes: 0,
            snapshots: 0,
            head: end,
        };
        Self {
            from,
            there,
            base,
            options,
            progress,
            copied,
            renewed: Instant::now(),
        }
    }

    pub(super) async fn run(mut self) -> Result<Copied> {
        let blobs = self.missing_blobs().await?;
        if self.options.dry_run {
            return self.count(&blobs).await;
        }
        let complete = self.base == Some(self.copied.head) && blobs.is_empty();
        if complete && self.snapshots(None).await? == 0 {
            return Ok(self.copied);
        }
        let backend = self.there.backend.clone();
        if self.base.is_none() {
            backend.create(self.there.at()).await?;
        }
        let request = LeaseRequest::new(self.options.owner.clone()).with_ttl(LEASE);
        let mut lease = backend.acquire(self.there.at(), request).await?;
        let done = self.write(&blobs, &mut lease).await;
        // The copy is whole, or its own error says more: a lease that can't be given back ends by
        // itself.
        drop(backend.release(&lease).await);
        done.map(|()| self.copied)
    }

    /// What would be copied; all of it is read.
    async fn count(mut self, blobs: &[BlobInfo]) -> Result<Copied> {
        let mut events = self.from.read(self.start()..self.copied.head.tail);
        while let Some(chunk) = events.next_chunk().await {
            for event in &chunk? {
                self.copied.events += 1;
                self.copied.bytes += event.data.len() as u64;
            }
            (self.progress)(&self.copied);
        }
        for blob in blobs {
            let mut pieces = self.from.blob(blob.id, 0..u64::MAX);
            while pieces.try_next().await?.is_some() {}
            self.blob_done(blob);
        }
        self.copied.snapshots = self.snapshots(None).await?;
        Ok(self.copied)
    }

    async fn write(&mut self, blobs: &[BlobInfo], lease: &mut Lease) -> Result<()> {
        // Behind the grant no other driver can move it any more.
        let begun = self.there.head().await?;
        if self.base.is_some_and(|base| base != begun) {
            return Err(moved(begun, &self.there));
        }
        // No event comes before the blob that it names.
        for blob in blobs {
            self.blob(blob, lease).await?;
        }
        self.events(lease).await?;
        self.check(blobs).await?;
        self.copied.snapshots = self.snapshots(Some(lease.token)).await?;
        if self.copied.events > 0 {
            self.card(lease.token).await;
        }
        Ok(())
    }

    fn start(&self) -> SeqNum {
        self.base.map_or(SeqNum::ZERO, |base| base.tail)
    }

    /// The blobs of the source that the destination does not have.
    async fn missing_blobs(&self) -> Result<Vec<BlobInfo>> {
        let mut missing: BTreeMap<BlobId, BlobInfo> =
            (self.from.blobs().await?.into_iter().map(|b| (b.id, b))).collect();
        if self.base.is_some() && !missing.is_empty() {
            for blob in self.there.blobs().await? {
                missing.remove(&blob.id);
            }
        }
        Ok(missing.into_values().collect())
    }

    async fn blob(&mut self, blob: &BlobInfo, lease: &mut Lease) -> Result<()> {
        self.renew(lease).await?;
        let content = self.from.blob(blob.id, 0..u64::MAX);
        let (at, token) = (self.there.at(), Some(lease.token));
        let stored = self.there.backend().put(at, content, token).await?;
        if stored.id != blob.id {
            let place = Place::session(self.from.id());
            let message = format!("the blob does not match its name: {}", blob.id);
            return Err(Error::corrupt(place, message));
        }
        self.blob_done(blob);
        Ok(())
    }

    fn blob_done(&mut self, blob: &BlobInfo) {
        self.copied.blobs += 1;
        self.copied.blob_bytes = self.copied.blob_bytes.saturating_add(blob.len);
        (self.progress)(&self.copied);
    }

    async fn events(&mut self, lease: &mut Lease) -> Result<()> {
        let mut events = self.from.read(self.start()..self.copied.head.tail);
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while let Some(chunk) = events.next_chunk().await {
            for event in chunk? {
                let len = event.data.len();
                if !batch.is_empty() && (batch.len() == EVENTS || bytes + len > BYTES) {
                    self.append(std::mem::take(&mut batch), bytes, lease)
                        .await?;
                    bytes = 0;
                }
                batch.push(event.into_new());
                bytes += len;
            }
        }
        if batch.is_empty() {
            return Ok(());
        }
        self.append(batch, bytes, lease).await
    }

    async fn append(
        &mut self,
        batch: Vec<NewEvent>,
        bytes: usize,
        lease: &mut Lease,
    ) -> Result<()> {
        self.renew(lease).await?;
        let tail = self.start().plus(self.copied.events);
        let condition = AppendCondition::new(Some(tail), Some(lease.token));
        let len = batch.len() as u64;
        let range = self.there.append_if(batch, condition).await?;
        if range != (tail..tail.plus(len)) {
            return Err(moved(self.there.head().await?, &self.there));
        }
        self.copied.events += len;
        self.copied.bytes += bytes as u64;
        (self.progress)(&self.copied);
        Ok(())
    }

    async fn renew(&mut self, lease: &mut Lease) -> Result<()> {
        if self.renewed.elapsed() > LEASE / 3 {
            self.there.backend().renew(lease, LEASE).await?;
            self.renewed = Instant::now();
        }
        Ok(())
    }

    /// Reads back what was appended, and compares both ends.
    async fn check(&self, blobs: &[BlobInfo]) -> Result<()> {
        let end = self.copied.head;
        let mut events = self.there.read(self.start()..end.tail);
        while let Some(chunk) = events.next_chunk().await {
            chunk?;
        }
        let read = match events.head() {
            Some(head) => head,
            // Nothing was to be appended.
            None => self.there.head().await?,
        };
        let mut missing: BTreeSet<BlobId> = blobs.iter().map(|blob| blob.id).collect();
        if !missing.is_empty() {
            for blob in self.there.blobs().await? {
                missing.remove(&blob.id);
            }
        }
        if read == end && missing.is_empty() {
            return Ok(());
        }
        let place = Place::session(self.there.id()).with_seq(read.tail);
        let message = "the copy is not what was copied";
        Err(Error::corrupt(place, message))
    }

    /// Copies the snapshots that are newer than those of the destination, or counts them if there is no
    /// token.
    async fn snapshots(&self, token: Option<FencingToken>) -> Result<u64> {
        let mut n = 0;
        for (name, version) in &self.options.snapshots {
            let name = Kind::new(name)?;
            let Some(snapshot) = self.latest(&self.from, &name, *version).await? else {
                continue;
            };
            let there = self.latest(&self.there, &name, *version).await?;
            let newer = there.is_some_and(|there| there.covers >= snapshot.covers);
            if newer || !self.proven(&snapshot).await? {
                continue;
            }
            if token.is_some() {
                let backend = self.there.backend();
                backend.save(self.there.at(), snapshot, token).await?;
            }
            n += 1;
        }
        Ok(n)
    }

    async fn latest(
        &self,
        session: &Session,
        name: &Kind,
        version: u32,
    ) -> Result<Option<Snapshot>> {
        let end = self.copied.head.tail;
        let found = session.backend().latest(session.at(), name, version, end);
        match found.await {
            Err(error) if error.is_not_found() => Ok(None),
            found => found,
        }
    }

    /// Whether a snapshot belongs to the log.
    async fn proven(&self, snapshot: &Snapshot) -> Result<bool> {
        if snapshot.covers == SeqNum::ZERO {
            return Ok(false);
        }
        let last = self.from.event(snapshot.covers.minus(1)).await?;
        Ok(last.sum == snapshot.log)
    }

    /// Makes the card where the source had none for all of the log, so that a list at the
    /// destination has no log to read. It is derived: the copy does not fail by it.
    async fn card(&self, token: FencingToken) {
        let wanted = |(name, _): &(&str, u32)| *name == Card::NAME;
        if !self.options.snapshots.iter().any(wanted) {
            return;
        }
        if let Ok(card) = self.there.project::<Card>().await
            && card.folded > 0
        {
            drop(self.there.save(&card, Some(token)).await);
        }
    }
}

fn moved(head: Head, there: &Session) -> Error {
    let id = there.id();
    conflict(
        head,
        format!("somebody appended to the destination during the copy: {id}"),
    )
}
