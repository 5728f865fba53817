//! Snapshots: rows that may be lost.

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use rusqlite::params;
use sessionlog_core::{
    Error, FencingToken, Kind, Result, SeqNum, SessionId, SessionRef, Snapshot, SnapshotStore,
    Snapshots, fence,
};

use crate::fault::{disorder, failed};
use crate::session::SessionRow;
use crate::store::Sqlite;

const TABLE: &str = "snapshot";
/// A scan goes on with a new view once it has read this much.
const CHUNK_BYTES: usize = 1 << 20;

/// A position as SQLite can compare it.
fn bound(seq: SeqNum) -> i64 {
    i64::try_from(seq.get()).unwrap_or(i64::MAX)
}

/// The snapshot in a row, if it is whole and the one that the row says.
fn whole(data: &[u8], projection: &Kind, version: u32, covers: i64) -> Option<Snapshot> {
    let snapshot = Snapshot::from_bytes(&Bytes::copy_from_slice(data)).ok()?;
    let same = snapshot.projection == *projection
        && snapshot.version == version
        && bound(snapshot.covers) == covers;
    same.then_some(snapshot)
}

#[async_trait]
impl SnapshotStore for Sqlite {
    async fn save(
        &self,
        session: &SessionRef,
        snapshot: Snapshot,
        token: Option<FencingToken>,
    ) -> Result<()> {
        let Ok(covers) = i64::try_from(snapshot.covers.get()) else {
            return Err(Error::invalid(format!(
                "no log has that many events: {}",
                snapshot.covers
            )));
        };
        let life = session.clone();
        let job = move |work: &mut crate::desk::Work<'_>| {
            let known = work.life(&life)?;
            let (number, fenced) = (known.row.number, fence(token, known.row.token));
            work.keep(life, known);
            fenced?;
            let (name, version) = (snapshot.projection.as_str(), snapshot.version);
            work.change_one(
                TABLE,
                "INSERT INTO snapshot (session, projection, version, covers, data) \
                 VALUES (?1, ?2, ?3, ?4, ?5) \
                 ON CONFLICT (projection, version, session, covers) DO UPDATE SET data = excluded.data",
                params![number, name, version, covers, &snapshot.to_bytes()[..]],
            )?;
            work.change(
                TABLE,
                "DELETE FROM snapshot WHERE projection = ?2 AND version = ?3 AND session = ?1 \
                 AND covers < (SELECT covers FROM snapshot WHERE projection = ?2 AND version = ?3 \
                 AND session = ?1 ORDER BY covers DESC LIMIT 1 OFFSET 1)",
                params![number, name, version],
            )?;
            Ok(())
        };
        self.inner.write(session, job).await
    }

    async fn latest(
        &self,
        session: &SessionRef,
        projection: &Kind,
        version: u32,
        at_or_before: SeqNum,
    ) -> Result<Option<Snapshot>> {
        let found = self.inner.read(|conn| {
            let number = match SessionRow::find(conn, &session.id)? {
                Some(row) if row.session == *session => row.number,
                _ => return Err(session.gone()),
            };
            let sql = "SELECT covers, data FROM snapshot WHERE projection = ?1 AND version = ?2 \
                       AND session = ?3 AND covers <= ?4 ORDER BY covers DESC";
            let mut statement = conn.prepare_cached(sql).map_err(failed("read", TABLE))?;
            let params = params![projection.as_str(), version, number, bound(at_or_before)];
            let mut rows = statement.query(params).map_err(failed("read", TABLE))?;
            loop {
                // A cache: what can't be read is not there.
                let Ok(Some(row)) = rows.next() else {
                    return Ok(None);
                };
                let covers = row.get(0).unwrap_or(-1);
                let data = row.get_ref(1).ok().and_then(|data| data.as_blob().ok());
                let found = data.and_then(|data| whole(data, projection, version, covers));
                if found.is_some() {
                    return Ok(found);
                }
            }
        });
        found.await?.ok_or_else(|| session.gone())
    }

    fn scan(&self, projection: &Kind, version: u32) -> Snapshots {
        let scan = Scan {
            store: self.clone(),
            projection: projection.clone(),
            version,
            after: -1,
        };
        stream::unfold(Some(scan), |scan| async move {
            let mut scan = scan?;
            match scan.next().await {
                Ok(found) if found.is_empty() => None,
                Ok(found) => Some((found.into_iter().map(Ok).collect(), Some(scan))),
                Err(error) => Some((vec![Err(error)], None)),
            }
        })
        .flat_map(stream::iter)
        .boxed()
    }
}

/// The latest snapshots of all sessions, in the order of their numbers.
struct Scan {
    store: Sqlite,
    projection: Kind,
    version: u32,
    after: i64,
}

impl Scan {
    async fn next(&mut self) -> Result<Vec<(SessionId, Snapshot)>> {
        let Self {
            store,
            projection,
            version,
            after,
        } = self;
        let found = store.inner.read(|conn| {
            let sql = "SELECT session.number, session.id, snapshot.covers, snapshot.data \
                       FROM snapshot CROSS JOIN session ON session.number = snapshot.session \
                       WHERE projection = ?1 AND version = ?2 AND snapshot.session > ?3 \
                       ORDER BY snapshot.session, covers DESC";
            let mut statement = conn.prepare_cached(sql).map_err(failed("scan", TABLE))?;
            let params = params![projection.as_str(), *version, *after];
            let mut rows = statement.query(params).map_err(failed("scan", TABLE))?;
            let (mut found, mut bytes, mut last) = (Vec::new(), 0, *after);
            while let Some(row) = rows.next().map_err(failed("scan", TABLE))? {
                let number = row.get(0).map_err(failed("scan", TABLE))?;
                if number == last {
                    continue;
                }
                if number < last {
                    return Err(failed("scan", TABLE)(disorder()));
                }
                if bytes >= CHUNK_BYTES {
                    break;
                }
                let covers = row.get(2).unwrap_or(-1);
                let id = row.get_ref(1).ok().and_then(|id| id.as_str().ok());
                let id = id.and_then(|id| SessionId::new(id).ok());
                let data = row.get_ref(3).ok().and_then(|data| data.as_blob().ok());
                let snapshot = data.and_then(|data| whole(data, projection, *version, covers));
                if let Some((id, snapshot)) = id.zip(snapshot) {
                    bytes += snapshot.state.len() + 256;
                    found.push((id, snapshot));
                    last = number;
                }
            }
            Ok((found, last))
        });
        let (found, last) = found.await?.unwrap_or_default();
        *after = last;
        Ok(found)
    }
}
