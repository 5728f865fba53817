//! Looking for damage.

use std::collections::BTreeSet;

use async_trait::async_trait;
use futures_util::TryStreamExt;
use redb::{ReadTransaction, ReadableTable};
use sessionlog_core::{
    BlobStore, Error, Finding, Head, Kinds, Place, Repair, Result, SeqNum, SessionId, SessionRef,
    Severity, Snapshot, Upkeep,
};

use crate::Redb;
use crate::failure::{FILE, failed};
use crate::format::{
    BLOBS, CHUNKS, EVENTS, LEASES, Row, SESSIONS, SNAPSHOTS, UPLOADS, decode_holder,
};
use crate::locks::of_upload;
use crate::rows::{Rows, ascending, disorder};
use crate::salvage::Salvage;

#[async_trait]
impl Upkeep for Redb {
    async fn verify(&self, id: &SessionId) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        let row = match self.row(id) {
            Ok(row) => row,
            Err(error) if error.is_corrupt() => {
                findings.push(Finding::new(
                    Severity::Damage,
                    Place::session(id),
                    error.message(),
                ));
                match self.salvaged_row(id)? {
                    Some(row) => row,
                    None => return Ok(findings),
                }
            }
            Err(error) => return Err(error),
        };
        let incarnation = row.incarnation;
        let session = SessionRef {
            id: id.clone(),
            incarnation,
        };
        self.verify_events(&session, &row, &mut findings)?;
        self.verify_beside(&session, &row, &mut findings)?;
        self.verify_blobs(&session, &mut findings).await?;
        Ok(findings)
    }

    async fn repair(&self, id: &SessionId, apply: bool) -> Result<Repair> {
        crate::repair::repair(self, id, apply).await
    }

    async fn strays(&self) -> Result<Vec<Finding>> {
        let mut found = Vec::new();
        let stray = |name: &str, message: &str| {
            Finding::new(Severity::Note, Place::file(name.to_owned()), message)
        };
        let strays = self.shared.engine.file.strays()?;
        for name in strays.leftovers {
            found.push(stray(
                &name,
                "a store that was being made when something died; the next write removes it",
            ));
        }
        for name in strays.damaged {
            found.push(stray(
                &name,
                "the damaged store as it was before a repair, remove it when nobody needs it",
            ));
        }
        for name in strays.foreign {
            found.push(stray(&name, "a foreign file; it is left alone"));
        }
        let uploads = self.shared.engine.read(|txn| {
            let what = "read uploads";
            let table = txn.open_table(UPLOADS).map_err(failed(what))?;
            ascending(table.iter().map_err(failed(what))?, what)
                .map(|entry| Ok(entry?.0.value()))
                .collect::<Result<Vec<_>>>()
        })?;
        let nameless = self.shared.engine.read(nameless)?;
        for upload in nameless.unwrap_or_default() {
            let message = format!("the content of a blob whose name is lost: number {upload}");
            found.push(Finding::new(Severity::Damage, Place::file(FILE), message));
        }
        let unlocked = self.shared.locks.unlocked();
        for upload in uploads.unwrap_or_default() {
            let name = of_upload(upload);
            if unlocked.contains(&name) {
                found.push(stray(
                    &name,
                    "an upload whose writer died; the next one removes it",
                ));
            }
        }
        Ok(found)
    }
}

impl Redb {
    /// What a damaged session row says, as far as it can be read.
    fn salvaged_row(&self, id: &SessionId) -> Result<Option<Row>> {
        let row = self.shared.engine.read(|txn| {
            let what = "read the session";
            let table = txn.open_table(SESSIONS).map_err(failed(what))?;
            let row = table.get(id.as_str().as_bytes()).map_err(failed(what))?;
            let Some(mut row) = row.and_then(|row| Row::salvage(row.value())) else {
                return Ok(None);
            };
            // It is not believed that its tail is far behind the last event.
            let events = txn.open_table(EVENTS).map_err(failed("read events"))?;
            row.head.tail = crate::repair::last(&events, row.number)?;
            Ok(Some(row))
        })?;
        Ok(row.flatten())
    }

    fn verify_events(
        &self,
        session: &SessionRef,
        row: &Row,
        findings: &mut Vec<Finding>,
    ) -> Result<()> {
        let id = &session.id;
        let mut salvage = Salvage::new(session);
        let mut damage = |seq: SeqNum, message: &str, len: Option<u64>| {
            let mut found = Finding::new(
                Severity::Damage,
                Place::file(FILE).with_session(id).with_seq(seq),
                format!("{message}; repair puts a note in its place"),
            );
            found.len = len;
            findings.push(found);
        };
        let mut next = SeqNum::ZERO;
        let mut kinds = Kinds::default();
        while next < row.head.tail {
            let rows = self.shared.engine.read(|txn| {
                let events = txn.open_table(EVENTS).map_err(failed("read events"))?;
                Rows::collect(&events, row.number, next..row.head.tail)
            });
            let rows = match rows {
                Ok(rows) => rows,
                Err(error) if error.is_corrupt() => {
                    damage(next, error.message(), None);
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            let rows = rows.filter(|rows| !rows.is_empty());
            let Some(rows) = rows else { break };
            for (seq, bytes) in rows.raw() {
                while next < seq {
                    salvage.missing();
                    damage(next, "the event is missing", None);
                    next = next.plus(1);
                }
                if salvage.take(seq, &bytes, &mut kinds).is_none() {
                    let len = u64::try_from(bytes.len()).ok();
                    damage(seq, "the event does not match its checksum", len);
                }
                next = seq.plus(1);
            }
        }
        while next < row.head.tail {
            damage(next, "the event is missing", None);
            next = next.plus(1);
        }
        if let Some(end) = salvage.head()
            && end != row.head
            && findings.is_empty()
        {
            let place = Place::file(FILE)
                .with_session(id)
                .with_seq(row.head.tail.minus(1));
            let message = "the last event is not the one at the tail";
            findings.push(Finding::new(Severity::Damage, place, message));
        }
        Ok(())
    }

    /// Snapshots and the lease: derived, or mended by the next grant.
    fn verify_beside(
        &self,
        session: &SessionRef,
        row: &Row,
        findings: &mut Vec<Finding>,
    ) -> Result<()> {
        let place = || Place::file(FILE).with_session(&session.id);
        let id = session.id.as_str().as_bytes();
        let looked = self.shared.engine.read(|txn| {
            let what = "read snapshots";
            let mut found = Vec::new();
            let table = txn.open_table(SNAPSHOTS).map_err(failed(what))?;
            for entry in ascending(table.iter().map_err(failed(what))?, what) {
                let (key, value) = entry?;
                let bytes = bytes::Bytes::copy_from_slice(value.value());
                if key.value().2 == id && Snapshot::from_bytes(&bytes).is_err() {
                    found.push("a snapshot is damaged; it is passed over and made anew");
                }
            }
            let what = "read the lease";
            let leases = txn.open_table(LEASES).map_err(failed(what))?;
            if let Some(said) = leases.get(row.number).map_err(failed(what))?
                && decode_holder(row.number, said.value()).is_none()
            {
                found.push("the row that names the holder is damaged; the next grant replaces it");
            }
            Ok(found)
        });
        match looked {
            Ok(found) => findings.extend(
                found
                    .into_iter()
                    .flatten()
                    .map(|message| Finding::new(Severity::Derived, place(), message)),
            ),
            Err(error) if error.is_corrupt() => {
                findings.push(Finding::new(Severity::Damage, place(), error.message()));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn verify_blobs(&self, session: &SessionRef, findings: &mut Vec<Finding>) -> Result<()> {
        let place = || Place::file(FILE).with_session(&session.id);
        let blobs: Result<Vec<_>> = self.list(session).try_collect().await;
        let blobs = match blobs {
            Ok(blobs) => blobs,
            // The session's row is damaged, which is a finding already.
            Err(error) if error.is_corrupt() => return Ok(()),
            Err(error) => return Err(error),
        };
        for blob in blobs {
            let read = self.get(session, blob.id, 0..u64::MAX);
            let read: Result<()> = read.try_for_each(|_| async { Ok(()) }).await;
            match read {
                Err(error) if error.is_corrupt() => {
                    let mut found = Finding::new(Severity::Damage, place(), error.message());
                    found.len = Some(blob.len);
                    findings.push(found);
                }
                other => other?,
            }
        }
        Ok(())
    }
}

/// The numbers of content that no blob has and no upload: blobs come and go with their content, so a
/// row that names it is lost.
fn nameless(txn: &ReadTransaction) -> Result<Vec<u64>> {
    let what = "read blobs";
    let mut named = BTreeSet::new();
    let blobs = txn.open_table(BLOBS).map_err(failed(what))?;
    for entry in ascending(blobs.iter().map_err(failed(what))?, what) {
        named.insert(entry?.1.value().0);
    }
    let uploads = txn.open_table(UPLOADS).map_err(failed(what))?;
    for entry in ascending(uploads.iter().map_err(failed(what))?, what) {
        named.insert(entry?.0.value());
    }
    let chunks = txn.open_table(CHUNKS).map_err(failed(what))?;
    let (mut lost, mut next) = (Vec::new(), Some(0));
    while let Some(from) = next {
        let behind = chunks.range((from, 0)..).map_err(failed(what))?.next();
        let Some(entry) = behind else { break };
        let (upload, _) = entry.map_err(failed(what))?.0.value();
        if upload < from {
            return Err(disorder(what));
        }
        if !named.contains(&upload) {
            lost.push(upload);
        }
        next = upload.checked_add(1);
    }
    Ok(lost)
}

/// Used by repair as well: where a log that can't be mended stands.
pub(crate) fn unmendable(id: &SessionId, why: &str) -> Error {
    Error::unsupported(format!("the session can't be mended, {why}: {id}"))
}

/// The head of an empty log.
pub(crate) fn genesis(session: &SessionRef) -> Head {
    Head::genesis(&session.id, session.incarnation)
}
