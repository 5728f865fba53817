//! Listing sessions, from the index alone.

use std::collections::HashSet;

use sessionlog_core::{EventLog, Result, SessionRef};

use crate::Bucket;
use crate::key::Named;
use crate::marker::is_unsure;

impl Bucket {
    /// Every session once, the newest first. Cost: 1 LIST for each 1,000 sessions; 1 LIST and 1 GET
    /// for each whose deletion was broken off.
    pub(crate) async fn listed(&self) -> Result<Vec<SessionRef>> {
        let env = &self.env;
        let mut markers = env.objects.list(Some(&env.keys.index())).await?;
        markers.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        let (mut all, mut seen) = (Vec::with_capacity(markers.len()), HashSet::new());
        for marker in &markers {
            let Some(Named::Marker(session)) = env.keys.named(&marker.key) else {
                continue;
            };
            if seen.contains(&session.id) || is_unsure(marker) && !self.is_there(&session).await? {
                continue;
            }
            seen.insert(session.id.clone());
            all.push(session);
        }
        Ok(all)
    }

    /// Whether there is this life of a session, be it readable or not.
    async fn is_there(&self, session: &SessionRef) -> Result<bool> {
        match self.head(&session.id).await {
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) if error.is_corrupt() => Ok(true),
            head => head.map(|(present, _)| present == *session),
        }
    }
}
