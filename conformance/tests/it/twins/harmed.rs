//! Faults in what is told of damaged sessions and in how they are mended. The twins are of JSONL,
//! where each session has files of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use futures_util::{StreamExt, TryStreamExt};
use sessionlog_backend_jsonl::{Jsonl, Options};
use sessionlog_conformance::{Capability, Medium, Place, Subject};
use sessionlog_core::{
    Backend, BlobInfo, Chunks, Error, EventLog, Finding, Head, LeaseRequest, Owner, Repair, Result,
    SeqNum, SessionId, SessionRef, Severity,
};

use super::{Fault, Faulty, twins};

async fn open(place: &Place, fault: Fault) -> Result<Faulty> {
    let jsonl = Jsonl::open(place.dir(), Options::default())?;
    if fault == Fault::OpeningCollects {
        let ids: Vec<SessionId> = jsonl.sessions().try_collect().await?;
        for id in ids {
            let head = jsonl.head(&id).await;
            if head.is_err_and(|e| e.is_corrupt()) {
                let blobs = place.dir().join(id.as_str()).join("blobs");
                drop(fs::remove_dir_all(blobs));
            }
        }
    }
    let mut twin = Faulty::new(Arc::new(jsonl) as Arc<dyn Backend>, fault);
    twin.dir = Some(place.dir().to_owned());
    Ok(twin)
}

/// Whether a finding is of damage in a file whose name has this part.
fn is_damage_in(found: &Finding, part: &str) -> bool {
    let file = found.place.file.as_deref().unwrap_or_default();
    found.severity != Severity::Note && file.contains(part)
}

impl Faulty {
    /// The head, as the inner backend knows it; a log that is to be cut is refused until it is.
    pub(super) async fn looked(&self, id: &SessionId) -> Result<(SessionRef, Head)> {
        if self.is(Fault::RepairCutsTheLog) && self.first_damage(id).await?.is_some() {
            let place = sessionlog_core::Place::session(id);
            return Err(Error::corrupt(place, "it is to be repaired"));
        }
        self.inner.head(id).await.map_err(|e| self.told(e))
    }

    /// What becomes of an error that tells of damage.
    pub(super) fn told(&self, error: Error) -> Error {
        if !error.is_corrupt() {
            return error;
        }
        match self.fault {
            Fault::DamageIsUnavailable => Error::unavailable(error.message()),
            Fault::DamageHasNoPlace => Error::corrupt(Default::default(), error.message()),
            _ => error,
        }
    }

    pub(super) fn told_of_a_blob(&self, error: Error) -> Error {
        match self.fault {
            Fault::DamagedBlobsVanish if error.is_corrupt() => Error::not_found(error.message()),
            _ => self.told(error),
        }
    }

    pub(super) fn told_chunks(&self, chunks: Chunks) -> Chunks {
        match self.fault {
            Fault::DamageIsUnavailable | Fault::DamageHasNoPlace => {
                let this = self.clone();
                chunks.map_err(move |e| this.told(e)).boxed()
            }
            _ => chunks,
        }
    }

    pub(super) fn told_findings(&self, mut found: Vec<Finding>) -> Vec<Finding> {
        match self.fault {
            Fault::DamagedBlobsVanish => found.retain(|f| !is_damage_in(f, "/blobs/")),
            Fault::DamageIsElsewhere => {
                let other: SessionId = "another".parse().unwrap();
                let damage = found.iter_mut().filter(|f| f.severity == Severity::Damage);
                damage.for_each(|f| {
                    f.place = sessionlog_core::Place::file("elsewhere")
                        .with_session(&other)
                        .with_seq(SeqNum::ZERO);
                });
            }
            _ => {}
        }
        found
    }

    /// Those of the blobs that can be read.
    pub(super) async fn readable_blobs(
        &self,
        session: &SessionRef,
        all: Vec<BlobInfo>,
    ) -> Vec<BlobInfo> {
        let mut whole = Vec::new();
        for blob in all {
            let pieces = self.inner.get(session, blob.id, 0..u64::MAX);
            if pieces.try_for_each(|_| async { Ok(()) }).await.is_ok() {
                whole.push(blob);
            }
        }
        whole
    }

    /// Refuses all snapshots of a session because one of them is damaged.
    pub(super) async fn snapshots_are_whole(&self, session: &SessionRef) -> Result<()> {
        if !self.is(Fault::DamagedSnapshotsFail) {
            return Ok(());
        }
        let found = self.inner.verify(&session.id).await?;
        match found.into_iter().find(|f| is_damage_in(f, "/snapshots/")) {
            Some(found) => Err(Error::corrupt(found.place, found.message)),
            None => Ok(()),
        }
    }

    /// The file of a damaged log, and the first position that is damaged in it.
    async fn first_damage(&self, id: &SessionId) -> Result<Option<(PathBuf, SeqNum)>> {
        let found = self.inner.verify(id).await?;
        let log = found.iter().filter(|f| is_damage_in(f, "/events.jsonl"));
        let first = log.filter_map(|f| f.place.seq.zip(f.place.file.as_ref()));
        let dir = self.dir.as_deref().unwrap_or(Path::new(""));
        Ok(first.map(|(seq, file)| (dir.join(file), seq)).next())
    }

    /// A repair, with what it should leave alone.
    pub(super) async fn mended(&self, id: &SessionId, apply: bool) -> Result<Repair> {
        if self.is(Fault::RepairCutsTheLog)
            && let Some((path, first)) = self.first_damage(id).await?
        {
            if !apply {
                let mut would = Repair::default();
                would.steps.push("end the log before the damage".into());
                return Ok(would);
            }
            let text = fs::read(&path).unwrap();
            let lines = text.split_inclusive(|byte| *byte == b'\n');
            let lines: Vec<_> = lines.zip(0..=first.get()).map(|(line, _)| line).collect();
            let cut = path.with_extension("cut");
            super::files::private(&cut, &lines.concat());
            fs::rename(cut, path).unwrap();
        }
        let repair = self.inner.repair(id, apply).await?;
        if !apply {
            return Ok(repair);
        }
        match self.fault {
            Fault::RepairDropsBlobs => {
                let (life, _) = self.inner.head(id).await?;
                let blobs: Vec<_> = self.inner.list(&life).try_collect().await?;
                for blob in blobs {
                    self.inner.remove(&life, blob.id, None).await?;
                }
            }
            Fault::RepairForgetsTokens => {
                let (life, _) = self.inner.head(id).await?;
                let newest = self.granted_newly(&life).await?;
                self.known().base.insert(life, newest);
            }
            _ => {}
        }
        Ok(repair)
    }

    /// The token of a grant that is given back at once.
    async fn granted_newly(&self, life: &SessionRef) -> Result<u64> {
        let request = LeaseRequest::new(Owner::new("repair")?).forced();
        Ok(self.inner.acquire(life, request).await?.token.get())
    }

    /// Ends a journal before its damage: what is behind is lost, of whatever session.
    pub(super) async fn cut_journal(&self, id: &SessionId, apply: bool) -> Result<Repair> {
        let head = self.inner.head(id).await;
        let (life, head) = head.map_err(|_| Error::unsupported("nothing is left of it"))?;
        let mut repair = Repair::new(head.tail.get(), 0);
        if self.shared.busy.load(SeqCst) {
            repair
                .steps
                .push("end the journal before the damage".into());
        }
        if apply {
            self.shared.busy.store(false, SeqCst);
            // Grants that are lost are made up for.
            while self.granted_newly(&life).await? < 9 {}
        }
        Ok(repair)
    }
}

macro_rules! over_sessions {
    ($twin:ident, $fault:ident) => {
        impl Subject for $twin {
            type Backend = Faulty;
            const MEDIUM: Medium = Medium::Directory;
            const FINDS_LOST_ENDS: Capability = Capability::No("a log is one file that grows");
            async fn open(place: &Place) -> Result<Faulty> {
                open(place, Fault::$fault).await
            }
        }
    };
}

twins! { "harmed", over_sessions, must_fail_damaged;
    damage_has_no_place DamageHasNoPlace [
        g15_verify_names_the_damage,
    ]
    damage_is_elsewhere DamageIsElsewhere [
        g15_verify_names_the_damage,
    ]
    damage_is_unavailable DamageIsUnavailable [
        g15_verify_names_the_damage,
    ]
    damaged_blobs_vanish DamagedBlobsVanish [
        g15_verify_names_the_damage,
    ]
    damaged_snapshots_fail DamagedSnapshotsFail [
        g15_verify_names_the_damage,
    ]
    opening_collects OpeningCollects [
        g16_damaged_files_stay_as_they_are,
    ]
    repair_cuts_the_log RepairCutsTheLog [
        g15_repair_salvages_what_is_whole,
    ]
    repair_drops_blobs RepairDropsBlobs [
        g15_repair_salvages_what_is_whole,
    ]
    repair_forgets_tokens RepairForgetsTokens [
        g15_repair_salvages_what_is_whole,
    ]
}
