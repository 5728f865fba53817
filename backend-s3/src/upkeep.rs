//! Looking for damage.

use async_trait::async_trait;
use sessionlog_core::{
    Error, EventLog, Finding, Place, Repair, Result, SessionId, Severity, Upkeep,
};

use crate::Bucket;

#[async_trait]
impl Upkeep for Bucket {
    async fn verify(&self, id: &SessionId) -> Result<Vec<Finding>> {
        sessionlog_core::verify_by_reading(self, id).await
    }

    async fn repair(&self, id: &SessionId, _apply: bool) -> Result<Repair> {
        let (_, head) = self.head(id).await?;
        match self.verify(id).await?.is_empty() {
            true => Ok(Repair::new(head.tail.get(), 0)),
            false => Err(Error::unsupported("objects can't be mended")),
        }
    }

    async fn strays(&self) -> Result<Vec<Finding>> {
        let keys = &self.env.keys;
        let listed = self.env.objects.list(keys.root().as_ref()).await?;
        let foreign = listed
            .iter()
            .filter(|listed| keys.named(&listed.key).is_none());
        let finding = |listed: &crate::objects::Listed| {
            let place = Place::file(keys.relative(&listed.key));
            let message = "an object that is not the store's, it is left alone";
            Finding::new(Severity::Note, place, message).with_len(listed.len)
        };
        Ok(foreign.map(finding).collect())
    }
}
