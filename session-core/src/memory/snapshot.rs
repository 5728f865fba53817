//! Snapshots in memory.

use async_trait::async_trait;
use futures_util::{StreamExt, stream};

use super::Memory;
use crate::{
    FencingToken, Kind, Result, SeqNum, SessionRef, Snapshot, SnapshotStore, Snapshots, fence,
};

#[async_trait]
impl SnapshotStore for Memory {
    async fn save(
        &self,
        session: &SessionRef,
        snapshot: Snapshot,
        token: Option<FencingToken>,
    ) -> Result<()> {
        let mut state = self.lock();
        let life = state.life(session)?;
        fence(token, life.token)?;
        let key = (snapshot.projection.clone(), snapshot.version);
        let kept = life.snapshots.entry(key).or_default();
        kept.insert(snapshot.covers, snapshot);
        while kept.len() > 2 {
            kept.pop_first();
        }
        Ok(())
    }

    async fn latest(
        &self,
        session: &SessionRef,
        projection: &Kind,
        version: u32,
        at_or_before: SeqNum,
    ) -> Result<Option<Snapshot>> {
        let mut state = self.lock();
        let life = state.life(session)?;
        let kept = life.snapshots.get(&(projection.clone(), version));
        Ok(kept
            .and_then(|k| k.range(..=at_or_before).next_back())
            .map(|(_, s)| s.clone()))
    }

    fn scan(&self, projection: &Kind, version: u32) -> Snapshots {
        let key = (projection.clone(), version);
        let state = self.lock();
        let all: Vec<_> = state
            .lives
            .iter()
            .filter_map(|(id, life)| {
                let (_, snapshot) = life.snapshots.get(&key)?.last_key_value()?;
                Some(Ok((id.clone(), snapshot.clone())))
            })
            .collect();
        stream::iter(all).boxed()
    }
}
