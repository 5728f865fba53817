//! Upkeep of memory: there is nothing to mend.

use async_trait::async_trait;

use super::Memory;
use crate::{Error, EventLog, Finding, Repair, Result, SessionId, Upkeep};

#[async_trait]
impl Upkeep for Memory {
    async fn verify(&self, id: &SessionId) -> Result<Vec<Finding>> {
        crate::verify_by_reading(self, id).await
    }

    async fn repair(&self, id: &SessionId, _apply: bool) -> Result<Repair> {
        let (_, head) = self.head(id).await?;
        let events = head.tail.get();
        match self.verify(id).await?.is_empty() {
            true => Ok(Repair::new(events, 0)),
            false => Err(Error::unsupported("memory can't be mended")),
        }
    }

    async fn strays(&self) -> Result<Vec<Finding>> {
        Ok(Vec::new())
    }
}
