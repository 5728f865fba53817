//! Snapshots.

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use redb::ReadableTable;
use sessionlog_core::{
    FencingToken, Kind, Result, SeqNum, SessionId, SessionRef, Snapshot, SnapshotStore, Snapshots,
    fence,
};

use crate::Redb;
use crate::failure::failed;
use crate::format::SNAPSHOTS;
use crate::log::life_in;
use crate::rows::{ascending, descending, disorder};
use crate::store::Done;
use crate::write::Write;

/// Snapshots of a session that are kept, per projection and version.
const KEPT: usize = 2;
/// Bytes read with one look at the store, unless a single snapshot has more.
const BYTES: usize = 1 << 20;
/// Behind every session id, which is ASCII.
const BEHIND: &[u8] = &[0xff];

#[async_trait]
impl SnapshotStore for Redb {
    async fn save(
        &self,
        session: &SessionRef,
        snapshot: Snapshot,
        token: Option<FencingToken>,
    ) -> Result<()> {
        let life = session.clone();
        self.write(session, move |write| save(write, &life, &snapshot, token))
            .await?;
        Ok(())
    }

    async fn latest(
        &self,
        session: &SessionRef,
        projection: &Kind,
        version: u32,
        at_or_before: SeqNum,
    ) -> Result<Option<Snapshot>> {
        let projection = projection.as_str().as_bytes();
        let id = session.id.as_str().as_bytes();
        let found = self.shared.engine.read(|txn| {
            life_in(txn, session)?;
            let what = "read snapshots";
            let table = txn.open_table(SNAPSHOTS).map_err(failed(what))?;
            let first = (projection, version, id, 0);
            let last = (projection, version, id, at_or_before.get());
            let entries = table.range(first..=last).map_err(failed(what))?.rev();
            for entry in descending(entries, what) {
                let (_, value) = entry?;
                let bytes = Bytes::copy_from_slice(value.value());
                if let Some(snapshot) = whole(&bytes, at_or_before) {
                    return Ok(Some(snapshot));
                }
            }
            Ok(None)
        })?;
        found.ok_or_else(|| session.gone())
    }

    fn scan(&self, projection: &Kind, version: u32) -> Snapshots {
        let (store, projection) = (self.clone(), projection.clone());
        // The last session that is done; at first there is none.
        stream::unfold(Some(Vec::new()), move |after: Option<Vec<u8>>| {
            let next = after.map(|after| store.scan_on(&after, &projection, version));
            async move {
                match next? {
                    Ok(Scanned { found, after }) => {
                        let found: Vec<_> = found.into_iter().map(Ok).collect();
                        Some((stream::iter(found), after))
                    }
                    Err(error) => Some((stream::iter(vec![Err(error)]), None)),
                }
            }
        })
        .flatten()
        .boxed()
    }
}

/// A part of a scan.
struct Scanned {
    found: Vec<(SessionId, Snapshot)>,
    /// The last session that is done, if there are more.
    after: Option<Vec<u8>>,
}

impl Redb {
    /// Reads on: the latest snapshots of some more sessions.
    fn scan_on(&self, after: &[u8], projection: &Kind, version: u32) -> Result<Scanned> {
        let name = projection.as_str().as_bytes();
        let what = "read snapshots";
        let rows = self.shared.engine.read(|txn| {
            let table = txn.open_table(SNAPSHOTS).map_err(failed(what))?;
            let first = (name, version, after, u64::MAX);
            let last = (name, version, BEHIND, u64::MAX);
            let mut rows: Vec<(Vec<u8>, Bytes)> = Vec::new();
            let mut bytes = 0;
            let mut more = false;
            for entry in ascending(table.range(first..last).map_err(failed(what))?, what) {
                let (key, value) = entry?;
                let (_, _, id, covers) = key.value();
                if id < after {
                    return Err(disorder(what));
                }
                if id == after && covers == u64::MAX {
                    continue;
                }
                // Never between two of one session.
                if bytes > BYTES && rows.last().is_some_and(|(last, _)| last != id) {
                    more = true;
                    break;
                }
                bytes += value.value().len();
                rows.push((id.to_vec(), Bytes::copy_from_slice(value.value())));
            }
            Ok((rows, more))
        })?;
        let (rows, more) = rows.unwrap_or_default();
        let last = rows.last().map(|(id, _)| id.clone());
        let mut found: Vec<(SessionId, Snapshot)> = Vec::new();
        for (id, bytes) in rows {
            let id = std::str::from_utf8(&id).ok();
            let id = id.and_then(|id| SessionId::new(id).ok());
            let (Some(id), Some(snapshot)) = (id, whole(&bytes, SeqNum::MAX)) else {
                continue;
            };
            match found.last_mut() {
                Some((last, latest)) if *last == id => *latest = snapshot,
                _ => found.push((id, snapshot)),
            }
        }
        Ok(Scanned {
            found,
            after: last.filter(|_| more),
        })
    }
}

fn whole(bytes: &Bytes, at_or_before: SeqNum) -> Option<Snapshot> {
    let snapshot = Snapshot::from_bytes(bytes).ok();
    snapshot.filter(|snapshot| snapshot.covers <= at_or_before)
}

fn save(
    write: &mut Write<'_>,
    session: &SessionRef,
    snapshot: &Snapshot,
    token: Option<FencingToken>,
) -> Result<Done> {
    let row = write.life(session)?;
    fence(token, row.token)?;
    let name = snapshot.projection.as_str().as_bytes();
    let id = session.id.as_str().as_bytes();
    let key = |covers| (name, snapshot.version, id, covers);
    let outcome = (|| {
        let mut table = write.txn.open_table(SNAPSHOTS)?;
        table.insert(key(snapshot.covers.get()), &*snapshot.to_bytes())?;
        let mut old = Vec::new();
        for entry in table.range(key(0)..=key(u64::MAX))?.rev().skip(KEPT) {
            old.push(entry?.0.value().3);
        }
        for covers in old {
            table.remove(key(covers))?;
        }
        Ok::<_, redb::Error>(())
    })();
    write.wrote(outcome)?;
    Ok(Done::Nothing)
}

/// Removes all snapshots of a session.
pub(crate) fn remove_all(write: &mut Write<'_>, session: &SessionRef) -> Result<()> {
    let id = session.id.as_str().as_bytes();
    let outcome = (|| {
        let mut table = write.txn.open_table(SNAPSHOTS)?;
        let mut at: Option<(Vec<u8>, u32)> = None;
        loop {
            // The next projection and version that any session has.
            let next = {
                let start = match &at {
                    Some((name, version)) => (name.as_slice(), *version, BEHIND, u64::MAX),
                    None => (&[][..], 0, &[][..], 0),
                };
                let mut behind = table.range(start..)?;
                behind.next().transpose()?.map(|(key, _)| {
                    let (name, version, _, _) = key.value();
                    (name.to_vec(), version)
                })
            };
            let Some((name, version)) = next else {
                return Ok::<_, redb::Error>(());
            };
            let key = |covers| (name.as_slice(), version, id, covers);
            table.retain_in(key(0)..=key(u64::MAX), |_, _| false)?;
            at = Some((name, version));
        }
    })();
    write.wrote(outcome)
}
