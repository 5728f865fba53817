//! Calls on snapshots.

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use sessionlog_core::{
    FencingToken, Kind, Result, SeqNum, SessionRef, Snapshot, SnapshotStore, Snapshots,
};

use super::{Traced, done, life, under};

#[async_trait]
impl SnapshotStore for Traced {
    async fn save(
        &self,
        session: &SessionRef,
        snapshot: Snapshot,
        token: Option<FencingToken>,
    ) -> Result<()> {
        let Snapshot {
            projection,
            version,
            covers,
            ..
        } = &snapshot;
        let name = format!("{projection} v{version} covers {covers}");
        let call = format!("save {} {name}{}", life(session), under(token));
        let result = self.inner.save(session, snapshot, token).await;
        self.note(&call, &result, done);
        result
    }

    async fn latest(
        &self,
        session: &SessionRef,
        projection: &Kind,
        version: u32,
        at_or_before: SeqNum,
    ) -> Result<Option<Snapshot>> {
        if self.forgets {
            return Ok(None);
        }
        let result = self
            .inner
            .latest(session, projection, version, at_or_before)
            .await;
        let name = format!("{projection} v{version} up to {at_or_before}");
        self.note(&format!("latest {} {name}", life(session)), &result, found);
        result
    }

    async fn latest_known(
        &self,
        session: &SessionRef,
        projection: &Kind,
        version: u32,
        at_or_before: SeqNum,
    ) -> Result<Option<Snapshot>> {
        if self.forgets {
            return Ok(None);
        }
        let result = self
            .inner
            .latest_known(session, projection, version, at_or_before)
            .await;
        let call = format!("latest known {} {projection} v{version}", life(session));
        self.note(&format!("{call} up to {at_or_before}"), &result, found);
        result
    }

    fn scan(&self, projection: &Kind, version: u32) -> Snapshots {
        if self.forgets {
            return stream::empty().boxed();
        }
        self.call(&format!("scan {projection} v{version}"));
        self.inner.scan(projection, version)
    }
}

fn found(snapshot: &Option<Snapshot>) -> String {
    snapshot
        .as_ref()
        .map_or("none".to_owned(), |s| format!("covers {}", s.covers))
}
