//! Calls of verification and repair.

use async_trait::async_trait;
use sessionlog_core::{Finding, Repair, Result, SessionId, Upkeep};

use super::Traced;

#[async_trait]
impl Upkeep for Traced {
    async fn verify(&self, id: &SessionId) -> Result<Vec<Finding>> {
        let result = self.inner.verify(id).await;
        self.note(&format!("verify {id}"), &result, |f| found(f));
        result
    }

    async fn repair(&self, id: &SessionId, apply: bool) -> Result<Repair> {
        let result = self.inner.repair(id, apply).await;
        let call = format!("repair {id}{}", if apply { "" } else { " (only say)" });
        self.note(&call, &result, |r| {
            format!("{} whole, {} lost", r.events, r.lost)
        });
        result
    }

    async fn strays(&self) -> Result<Vec<Finding>> {
        let result = self.inner.strays().await;
        self.note("strays", &result, |f| found(f));
        result
    }
}

fn found(findings: &[Finding]) -> String {
    format!("{} findings", findings.len())
}
