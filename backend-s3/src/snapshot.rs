//! Snapshots: the last two of a projection and version are one object.

use std::collections::BTreeMap;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::try_join;
use futures_util::{StreamExt, stream};
use object_store::path::Path;
use sessionlog_core::{
    FencingToken, Kind, Result, SeqNum, SessionRef, Snapshot, SnapshotStore, Snapshots, fence,
};

use crate::Bucket;
use crate::blob::is_fenced;
use crate::codec::{Fields, put_bytes};

/// Snapshots of a projection and version that are kept.
const KEPT: usize = 2;
/// Snapshots that a scan reads at once.
const AT_ONCE: usize = 16;
const MAGIC: &[u8; 16] = b"sessionlog snap\n";
const VERSION: u32 = 1;

#[async_trait]
impl SnapshotStore for Bucket {
    async fn save(
        &self,
        session: &SessionRef,
        snapshot: Snapshot,
        token: Option<FencingToken>,
    ) -> Result<()> {
        let seat = self.seat(&session.id);
        let (projection, version) = (&snapshot.projection, snapshot.version);
        let key = self.env.keys.snapshot(session, projection, version);
        // One at a time, or two of this handle would each miss the other's.
        let _turn = seat.snapshots.lock().await;
        let read = self.env.objects.get(&key);
        let (view, kept) = try_join(seat.fresh(), read).await?;
        view.is(session)?;
        fence(token, view.state.token)?;
        let mut all = kept.map(|bytes| decode(&bytes)).unwrap_or_default();
        all.insert(snapshot.covers, snapshot.clone());
        while all.len() > KEPT {
            all.pop_first();
        }
        self.env.objects.put(&key, &encode(&all)).await?;
        // A lease that was granted while the snapshot was on its way comes before it, and so does a
        // deletion.
        let behind = self.may_stay(session, token).await;
        match &behind {
            Err(error) if error.is_not_found() => self.env.objects.delete(vec![key]).await?,
            Err(error) if is_fenced(error) => self.take_back(&key, &snapshot).await?,
            _ => {}
        }
        behind
    }

    async fn latest(
        &self,
        session: &SessionRef,
        projection: &Kind,
        version: u32,
        at_or_before: SeqNum,
    ) -> Result<Option<Snapshot>> {
        let seat = self.seat(&session.id);
        let found = self.latest_known(session, projection, version, at_or_before);
        let (view, found) = try_join(seat.fresh(), found).await?;
        view.is(session)?;
        Ok(found)
    }

    async fn latest_known(
        &self,
        session: &SessionRef,
        projection: &Kind,
        version: u32,
        at_or_before: SeqNum,
    ) -> Result<Option<Snapshot>> {
        let key = self.env.keys.snapshot(session, projection, version);
        let kept = self.env.objects.get(&key).await?;
        let all = kept.map(|bytes| decode(&bytes)).unwrap_or_default();
        let found = all.range(..=at_or_before).next_back();
        Ok(found.map(|(_, snapshot)| snapshot.clone()))
    }

    fn scan(&self, projection: &Kind, version: u32) -> Snapshots {
        let (bucket, projection) = (self.clone(), projection.clone());
        let listed = async move {
            let all = bucket.listed(usize::MAX).await?;
            let read = move |session: SessionRef| {
                let (bucket, projection) = (bucket.clone(), projection.clone());
                async move {
                    let key = bucket.env.keys.snapshot(&session, &projection, version);
                    let newest = match bucket.env.objects.get(&key).await? {
                        Some(bytes) => decode(&bytes).pop_last(),
                        None => None,
                    };
                    Ok(newest.map(|(_, snapshot)| (session.id, snapshot)))
                }
            };
            Ok(stream::iter(all).map(read).buffer_unordered(AT_ONCE))
        };
        stream::once(listed)
            .flat_map(|scan| match scan {
                Ok(scan) => scan.boxed(),
                Err(error) => stream::iter([Err(error)]).boxed(),
            })
            .filter_map(|found| async move { found.transpose() })
            .boxed()
    }
}

impl Bucket {
    /// Removes a snapshot that should not have been saved, and with it at worst one that was saved
    /// meanwhile: they are a cache.
    async fn take_back(&self, key: &Path, snapshot: &Snapshot) -> Result<()> {
        let kept = self.env.objects.get(key).await?;
        let mut all = kept.map(|bytes| decode(&bytes)).unwrap_or_default();
        if all.get(&snapshot.covers) != Some(snapshot) {
            return Ok(());
        }
        all.remove(&snapshot.covers);
        if all.is_empty() {
            self.env.objects.delete(vec![key.clone()]).await
        } else {
            self.env.objects.put(key, &encode(&all)).await
        }
    }
}

fn encode(all: &BTreeMap<SeqNum, Snapshot>) -> Bytes {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&VERSION.to_le_bytes());
    all.values()
        .for_each(|snapshot| put_bytes(&mut out, &snapshot.to_bytes()));
    out.into()
}

/// The snapshots that are whole: others are passed over.
pub(crate) fn decode(bytes: &Bytes) -> BTreeMap<SeqNum, Snapshot> {
    let mut all = BTreeMap::new();
    let mut fields = Fields(bytes);
    if fields.array() != Some(*MAGIC) || fields.u32() != Some(VERSION) {
        return all;
    }
    while let Some(one) = fields.bytes() {
        if let Ok(snapshot) = Snapshot::from_bytes(&bytes.slice_ref(one)) {
            all.insert(snapshot.covers, snapshot);
        }
    }
    all
}
