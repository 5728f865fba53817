//! The trait of verification and repair.

use async_trait::async_trait;
use sessionlog_core::{Error, Finding, Place, Repair, Result, SessionId, Severity, Upkeep};

use crate::store::Jsonl;
use crate::{repair, verify};

impl Jsonl {
    /// What stands in the place of a session's folder.
    fn stands(&self, id: &SessionId) -> Result<bool> {
        if !self.root().is_there()? {
            return Err(verify::nothing(id));
        }
        let dir = self.dir(id);
        match std::fs::symlink_metadata(dir.path()) {
            Ok(meta) => Ok(meta.is_dir()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(verify::nothing(id)),
            Err(e) => Err(sessionlog_local::files::failed("look at", dir.path())(e)),
        }
    }
}

#[async_trait]
impl Upkeep for Jsonl {
    async fn verify(&self, id: &SessionId) -> Result<Vec<Finding>> {
        if self.stands(id)? {
            return verify::session(&self.dir(id), id);
        }
        let message =
            "a file or a link stands where the folder of a session should be: move it away";
        Ok(vec![Finding::new(
            Severity::Damage,
            Place::session(id),
            message,
        )])
    }

    async fn repair(&self, id: &SessionId, apply: bool) -> Result<Repair> {
        if !self.stands(id)? {
            return Err(Error::unsupported(format!(
                "a file or a link stands where the folder of a session should be, move it away: {}",
                self.dir(id).path().display()
            )));
        }
        let repaired = repair::session(&self.dir(id), id, apply).await;
        if apply {
            self.forget(id);
        }
        repaired
    }

    async fn strays(&self) -> Result<Vec<Finding>> {
        verify::strays(self)
    }
}
