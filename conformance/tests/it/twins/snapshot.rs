//! Faults of snapshots.

use async_trait::async_trait;
use futures_util::StreamExt;
use sessionlog_core::{
    FencingToken, Kind, Result, SeqNum, SessionRef, Snapshot, SnapshotStore, Snapshots,
};

use super::{Fault, Faulty};

#[async_trait]
impl SnapshotStore for Faulty {
    async fn save(
        &self,
        session: &SessionRef,
        mut snapshot: Snapshot,
        token: Option<FencingToken>,
    ) -> Result<()> {
        let session = &self.folded(session);
        let mut token = self.beside_token(session, token).await;
        if self.is(Fault::SaveChecksTokenEarly) && self.checked(session, token).await {
            super::pause().await;
            token = None;
        }
        match self.fault {
            Fault::FencelessSave => token = None,
            Fault::CutsSnapshots => snapshot.state.truncate(100_000),
            Fault::IgnoresVersions => snapshot.version = 1,
            Fault::SnapshotsAreAhead => self.one_ahead(session, &mut snapshot).await?,
            Fault::SwapsSnapshotStates => {
                std::mem::swap(&mut snapshot.state, &mut self.known().state);
            }
            Fault::KeepsFirstSnapshot => {
                let Snapshot {
                    projection,
                    version,
                    covers,
                    ..
                } = &snapshot;
                let latest = self
                    .inner
                    .latest(session, projection, *version, *covers)
                    .await?;
                if latest.is_some_and(|s| s.covers == *covers) {
                    return Ok(());
                }
            }
            _ => {}
        }
        let shared = self.is(Fault::SnapshotsAreShared).then(|| snapshot.clone());
        self.inner.save(session, snapshot, token).await?;
        self.known().snapshot = shared;
        Ok(())
    }

    async fn latest(
        &self,
        session: &SessionRef,
        projection: &Kind,
        version: u32,
        bound: SeqNum,
    ) -> Result<Option<Snapshot>> {
        let session = &self.folded(session);
        self.snapshots_are_whole(session).await?;
        let (version, bound) = match self.fault {
            Fault::IgnoresVersions => (1, bound),
            Fault::LatestIgnoresBound => (version, SeqNum::MAX),
            _ => (version, bound),
        };
        if self.is(Fault::KeepsOneSnapshot) {
            let latest = self
                .inner
                .latest(session, projection, version, SeqNum::MAX)
                .await?;
            return Ok(latest.filter(|s| s.covers <= bound));
        }
        let latest = self
            .inner
            .latest(session, projection, version, bound)
            .await?;
        match (self.fault, latest) {
            (Fault::FillsInLogSums, Some(latest)) => {
                Ok(Some(self.filled_in(session, latest).await?))
            }
            (Fault::SnapshotsAreShared, latest) => {
                let shared = self.known().snapshot.clone();
                let fits = |s: &Snapshot| s.projection == *projection && s.version == version;
                Ok(shared.filter(fits).filter(|s| s.covers <= bound).or(latest))
            }
            (_, latest) => Ok(latest),
        }
    }

    fn scan(&self, projection: &Kind, version: u32) -> Snapshots {
        let all = self.inner.scan(projection, version);
        match self.fault {
            Fault::ScanMissesOne => all.skip(1).boxed(),
            _ => all,
        }
    }
}
