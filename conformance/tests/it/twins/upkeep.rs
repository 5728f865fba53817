//! Faults of verification and repair, and of what lies in the folder.

use std::sync::atomic::Ordering::SeqCst;

use async_trait::async_trait;
use sessionlog_core::{
    AppendCondition, Error, Finding, Kind, NewEvent, Place, Repair, Result, SessionId, Severity,
    Upkeep,
};

use super::files::{private, private_file};
use super::{Fault, Faulty};

impl Faulty {
    /// A damaged journal is refused until it is repaired.
    pub(super) fn readable(&self) -> Result<()> {
        let refuses = matches!(
            self.fault,
            Fault::RepairMiscounts | Fault::RepairCutsTheJournal
        );
        if refuses && self.shared.busy.load(SeqCst) {
            return Err(Error::corrupt(
                Place::file("journal"),
                "lines behind damage",
            ));
        }
        Ok(())
    }

    /// Makes an empty file of a session's own, or removes it.
    pub(super) fn tag(&self, session: &sessionlog_core::SessionRef, there: bool) {
        let tags = matches!(
            self.fault,
            Fault::OneSpoilsAll | Fault::ListReadsTags | Fault::RepairLeavesWritesRefused
        );
        let Some(dir) = self.dir.as_ref().filter(|_| tags) else {
            return;
        };
        let path = dir.join(format!("tag-{}", session.id));
        // A disk that fails leaves no tag, which nobody misses.
        if there {
            drop(private_file(&path));
        } else {
            drop(std::fs::remove_file(path));
        }
    }

    /// Writes a file where a fault says so.
    pub(super) fn touch(&self, when: &str) {
        let Some(dir) = &self.dir else {
            return;
        };
        match (self.fault, when) {
            (Fault::ReadsTouchAFile, "read") => {
                let path = dir.join("times");
                let before = std::fs::read(&path).unwrap_or_default();
                private(&path, &[before, vec![b'x']].concat());
            }
            (Fault::ReadsRewriteAFile, "probe") => private(&dir.join("probe"), b"x"),
            _ => {}
        }
    }
}

#[async_trait]
impl Upkeep for Faulty {
    async fn verify(&self, id: &SessionId) -> Result<Vec<Finding>> {
        if let Err(error) = self.readable() {
            let place = Place::session(id);
            return Ok(vec![Finding::new(Severity::Damage, place, error.message())]);
        }
        let mut found = self.inner.verify(&self.folded_id(id)).await?;
        if self.is(Fault::VerifyCriesWolf) {
            found.push(Finding::new(Severity::Damage, Place::session(id), "a wolf"));
        }
        Ok(self.told_findings(found))
    }

    async fn repair(&self, id: &SessionId, apply: bool) -> Result<Repair> {
        let id = &self.folded_id(id);
        if self.is(Fault::RepairsDriven) && apply {
            self.free(&self.inner.head(id).await?.0).await?;
        }
        if self.is(Fault::RepairLosesAnEvent) && apply {
            let (session, _) = self.inner.head(id).await?;
            let lost = NewEvent::json(Kind::from_static("repair.lost"), "null")?;
            self.inner
                .append(&session, vec![lost], AppendCondition::NONE)
                .await?;
        }
        if self.is(Fault::RepairCutsTheJournal) && self.shared.opened.load(SeqCst) > 0 {
            return self.cut_journal(id, apply).await;
        }
        if self.is(Fault::RepairLeavesWritesRefused) {
            let mut repair = Repair::default();
            repair.events = self.inner.head(id).await?.1.tail.get();
            return Ok(repair);
        }
        if self.readable().is_err() {
            self.shared.busy.store(!apply, SeqCst);
            let mut repair = Repair::default();
            repair.events = u64::MAX;
            return Ok(repair);
        }
        self.mended(id, apply).await
    }

    async fn strays(&self) -> Result<Vec<Finding>> {
        self.inner.strays().await
    }
}

impl Faulty {
    fn folded_id(&self, id: &SessionId) -> SessionId {
        match self.fault {
            Fault::CaseFolds => id.as_str().to_lowercase().parse().unwrap(),
            _ => id.clone(),
        }
    }
}
