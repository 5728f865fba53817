//! Looking for damage.

use std::fs;

use async_trait::async_trait;
use rusqlite::Connection;
use sessionlog_core::{
    BlobHasher, Error, Finding, Place, Repair, Result, SessionId, Severity, Upkeep,
};
use sessionlog_local::files::{failed as io_failed, wide};

use crate::blob::{listed, piece};
use crate::create::NEW;
use crate::desk::row;
use crate::fault::failed;
use crate::rebuild::DAMAGED;
use crate::schema::PIECE;
use crate::session::{SessionRow, census, missing};
use crate::spool::SPOOL;
use crate::store::Sqlite;
use crate::survey::Survey;

fn found(error: &Error) -> Finding {
    let place = match error.kind() {
        sessionlog_core::ErrorKind::Corrupt { place } => place.clone(),
        _ => Place::default(),
    };
    Finding::new(Severity::Damage, place, error.message())
}

/// The findings of a step whose own damage is a finding, and whose other errors are errors.
fn take(step: Result<Vec<Finding>>, into: &mut Vec<Finding>) -> Result<()> {
    match step {
        Ok(findings) => into.extend(findings),
        Err(error) if error.is_corrupt() => into.push(found(&error)),
        Err(error) => return Err(error),
    }
    Ok(())
}

impl Sqlite {
    /// The session's row, or what is wrong with it.
    async fn row_of(&self, id: &SessionId) -> Result<SessionRow> {
        let none = || Error::not_found(format!("there is no such session: {id}"));
        let found = self.inner.read(|conn| match SessionRow::find(conn, id)? {
            Some(row) => Ok(row),
            None => Err(missing(conn, id)?),
        });
        found.await?.ok_or_else(none)
    }

    async fn snapshots_of(&self, row: &SessionRow) -> Result<Vec<Finding>> {
        let found = self.inner.read(|conn| {
            let sql = "SELECT number, data FROM snapshot WHERE session = ?1";
            let mut statement = conn
                .prepare_cached(sql)
                .map_err(failed("read", "snapshot"))?;
            let mut rows = statement
                .query([row.number])
                .map_err(failed("read", "snapshot"))?;
            let mut findings = Vec::new();
            while let Some(stored) = rows.next().map_err(failed("read", "snapshot"))? {
                let data = stored.get_ref(1).ok().and_then(|d| d.as_blob().ok());
                let data = bytes::Bytes::copy_from_slice(data.unwrap_or_default());
                if let Err(error) = sessionlog_core::Snapshot::from_bytes(&data) {
                    let place = Place::file("snapshot").with_session(&row.session.id);
                    findings.push(Finding::new(Severity::Derived, place, error.message()));
                }
            }
            Ok(findings)
        });
        Ok(found.await?.unwrap_or_default())
    }

    async fn blobs_of(&self, row: &SessionRow) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        let all = self.inner.read(|conn| listed(conn, row)).await?;
        for blob in all.unwrap_or_default() {
            let blob = match blob {
                Ok(blob) => blob,
                Err(error) => {
                    findings.push(found(&error));
                    continue;
                }
            };
            let mut hasher = BlobHasher::default();
            let mut whole = true;
            for n in 0..blob.info.len.div_ceil(wide(PIECE)) {
                match self.inner.read(|conn| piece(conn, row, &blob, n)).await {
                    Ok(data) => hasher.update(&data.unwrap_or_default()),
                    Err(error) if error.is_corrupt() => {
                        whole = false;
                        findings.push(found(&error));
                    }
                    Err(error) => return Err(error),
                }
            }
            if whole && hasher.finish() != blob.info.id {
                let place = Place::file("piece").with_session(&row.session.id);
                let message = "the content of a blob does not match its name";
                let message = format!("{message}: {}", blob.info.id);
                findings.push(Finding::new(Severity::Damage, place, message));
            }
        }
        Ok(findings)
    }

    /// Names beside the database that begin with its own; all names if the folder is the store's.
    fn beside(&self) -> Result<Vec<Finding>> {
        let site = &self.inner.site;
        let name = site.name();
        let entries = match fs::read_dir(site.folder()) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(io_failed("list", site.folder())(e)),
        };
        let mut findings = Vec::new();
        for entry in entries {
            let entry = entry.map_err(io_failed("list", site.folder()))?;
            let file = entry.file_name().to_string_lossy().into_owned();
            let behind = file.strip_prefix(&name);
            let message = match behind {
                Some("" | "-wal" | "-shm" | "-leases") => continue,
                Some(b) if b.starts_with(NEW) => "a database whose making was broken off",
                Some(b) if b.starts_with(DAMAGED) => {
                    "the damaged database as it was before a repair, remove it when nobody needs it"
                }
                Some(b) if b.starts_with(SPOOL) => "a blob whose storing was broken off",
                Some(_) => "a foreign file",
                None if site.owns_folder => "a foreign file",
                None => continue,
            };
            findings.push(Finding::new(Severity::Note, Place::file(file), message));
        }
        Ok(findings)
    }
}

/// Rows that belong to no session.
fn orphans(conn: &Connection) -> Result<Vec<Finding>> {
    let queries = [
        (
            "event",
            "SELECT count(*) FROM event WHERE NOT EXISTS \
             (SELECT 1 FROM session WHERE number = event.key >> 36)",
        ),
        (
            "snapshot",
            "SELECT count(*) FROM snapshot WHERE session NOT IN (SELECT number FROM session)",
        ),
        (
            "blob",
            "SELECT count(*) FROM blob WHERE session NOT IN (SELECT number FROM session)",
        ),
        (
            "piece",
            "SELECT count(*) FROM piece WHERE NOT EXISTS \
             (SELECT 1 FROM blob WHERE number = piece.key >> 24)",
        ),
    ];
    let mut findings = Vec::new();
    for (table, sql) in queries {
        let n: i64 = row(conn, table, sql, [], |row| row.get(0))?.unwrap_or(0);
        if n > 0 {
            let message = format!("rows that belong to no session: {n}");
            findings.push(Finding::new(Severity::Damage, Place::file(table), message));
        }
    }
    Ok(findings)
}

/// What SQLite itself finds in the file.
fn integrity(conn: &Connection) -> Result<Vec<Finding>> {
    let mut statement = conn
        .prepare("PRAGMA integrity_check(100)")
        .map_err(failed("check", "the database"))?;
    let rows = statement
        .query_map([], |row| row.get::<_, String>(0))
        .and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>)
        .map_err(failed("check", "the database"))?;
    let place = || Place::file("the database");
    let bad = rows.into_iter().filter(|line| line != "ok");
    Ok(bad
        .map(|line| Finding::new(Severity::Damage, place(), line))
        .collect())
}

#[async_trait]
impl Upkeep for Sqlite {
    async fn verify(&self, id: &SessionId) -> Result<Vec<Finding>> {
        let row = match self.row_of(id).await {
            Ok(row) => row,
            Err(error) if error.is_corrupt() => return Ok(vec![found(&error)]),
            Err(error) => return Err(error),
        };
        let survey = Survey::of(self, &row).await?;
        let mut findings = survey.findings(&row);
        take(self.snapshots_of(&row).await, &mut findings)?;
        take(self.blobs_of(&row).await, &mut findings)?;
        Ok(findings)
    }

    async fn repair(&self, id: &SessionId, write: bool) -> Result<Repair> {
        crate::repair::repair(self, id, write).await
    }

    async fn strays(&self) -> Result<Vec<Finding>> {
        let mut findings = self.beside()?;
        let inside = self.inner.read(|conn| {
            let mut all = Vec::new();
            take(integrity(conn), &mut all)?;
            let rows = census(conn).map(|found| {
                let damage = |(place, message)| Finding::new(Severity::Damage, place, message);
                found.into_iter().map(damage).collect()
            });
            take(rows, &mut all)?;
            take(orphans(conn), &mut all)?;
            Ok(all)
        });
        findings.extend(inside.await?.unwrap_or_default());
        Ok(findings)
    }
}
