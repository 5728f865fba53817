//! Listing sessions, from the index alone, which is in the order of its keys: the newest first.

use std::collections::HashSet;

use sessionlog_core::{EventLog, Result, SessionRef};

use crate::Bucket;
use crate::key::{Named, dir_of};
use crate::marker::is_void;
use crate::objects::Listed;

/// Keys that a store lists with one request.
const PAGE: usize = 1000;

impl Bucket {
    /// Sessions, each once, the newest first, and no more than so many. Cost: 1 LIST for each 1,000
    /// that are asked for, where the store lists in order, else for each 1,000 that there are; 1 LIST
    /// and 1 GET for each whose marker is there although its deletion was begun.
    pub(crate) async fn listed(&self, most: usize) -> Result<Vec<SessionRef>> {
        if most == 0 {
            return Ok(Vec::new());
        }
        let env = &self.env;
        let in_order = env.objects.options.lists_in_order == Some(true);
        let mut pages = if in_order {
            most.div_ceil(PAGE)
        } else {
            usize::MAX
        };
        loop {
            let wanted = pages.saturating_mul(PAGE);
            let index = env.keys.index();
            let mut markers = env.objects.first(Some(&index), wanted).await?;
            markers.sort_unstable_by(|a, b| a.key.cmp(&b.key));
            let sessions = self.of_markers(&markers, most).await?;
            if sessions.len() >= most || markers.len() < wanted {
                return Ok(sessions);
            }
            // Some markers were of no session.
            pages = pages.saturating_mul(2);
        }
    }

    /// The sessions of markers, no more than so many.
    async fn of_markers(&self, markers: &[Listed], most: usize) -> Result<Vec<SessionRef>> {
        let env = &self.env;
        let (mut all, mut seen, mut noticed) = (Vec::new(), HashSet::new(), HashSet::new());
        for marker in markers {
            if all.len() >= most {
                break;
            }
            let session = match env.keys.named(&marker.key) {
                Some(Named::Marker(session)) => session,
                Some(Named::Notice(dir, life)) => {
                    noticed.insert((dir, life));
                    continue;
                }
                _ => continue,
            };
            if seen.contains(&session.id) || is_void(marker) {
                continue;
            }
            // It may have been put, or may have come, behind its deletion.
            let unsure = !noticed.is_empty()
                && noticed.contains(&(dir_of(&session.id), session.incarnation));
            if unsure && !self.is_there(&session).await? {
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
