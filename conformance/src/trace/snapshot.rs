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
        let asked = asked("latest", session, projection, version, at_or_before);
        let latest = self
            .inner
            .latest(session, projection, version, at_or_before);
        let result = latest.await;
        self.note(&asked, &result, found);
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
        let asked = asked("latest known", session, projection, version, at_or_before);
        let known = (self.inner).latest_known(session, projection, version, at_or_before);
        let result = known.await;
        self.note(&asked, &result, found);
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

fn asked(what: &str, of: &SessionRef, fold: &Kind, version: u32, upto: SeqNum) -> String {
    format!("{what} {} {fold} v{version} up to {upto}", life(of))
}

fn found(snapshot: &Option<Snapshot>) -> String {
    snapshot
        .as_ref()
        .map_or("none".to_owned(), |s| format!("covers {}", s.covers))
}
