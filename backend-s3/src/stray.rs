//! What lies in a store and belongs to no session that a list has.

use std::collections::{BTreeMap, HashSet};

use futures_util::{StreamExt, TryStreamExt, stream};
use sessionlog_core::{ErrorKind, Finding, Place, Result, Severity};

use crate::Bucket;
use crate::gc::lives_of;
use crate::head::decode;
use crate::key::{Named, Part};
use crate::objects::Listed;
use crate::upkeep::finding;

/// Heads that are read at once.
const AT_ONCE: usize = 16;

impl Bucket {
    /// Foreign objects, and folders of sessions that are not in the index. Cost: 1 LIST for each
    /// 1,000 objects; 1 GET for each session that was deleted, or is not in the index.
    pub(crate) async fn found_beside(&self) -> Result<Vec<Finding>> {
        let keys = &self.env.keys;
        let (mut found, mut markers) = (Vec::new(), Vec::new());
        let mut newest: BTreeMap<String, (u64, Listed)> = BTreeMap::new();
        for object in self.env.objects.list(keys.root().as_ref()).await? {
            match keys.named(&object.key) {
                None => found.push(foreign(Place::file(keys.relative(&object.key)), &object)),
                Some(Named::Marker(session)) => markers.push((session, object)),
                Some(Named::Of(dir, Part::Head(slot))) => {
                    let head = newest.entry(dir).or_insert_with(|| (slot, object.clone()));
                    if slot > head.0 {
                        *head = (slot, object);
                    }
                }
                Some(Named::Of(..) | Named::Notice(..) | Named::Probe) => {}
            }
        }
        let listed = lives_of(&markers);
        let listed: HashSet<String> = listed.into_iter().map(|(dir, _)| dir).collect();
        let unlisted = newest.into_iter().filter(|(dir, _)| !listed.contains(dir));
        let looks = unlisted
            .map(|(dir, (slot, head))| async move { self.unlisted(&dir, slot, &head).await });
        let looks = stream::iter(looks).buffered(AT_ONCE);
        let more: Vec<Option<Finding>> = looks.try_collect().await?;
        found.extend(more.into_iter().flatten());
        Ok(found)
    }

    /// What is wrong with a session that is not in the index: nothing if it is deleted.
    async fn unlisted(&self, dir: &str, slot: u64, head: &Listed) -> Result<Option<Finding>> {
        let name = self.env.keys.relative(&head.key);
        let Some(bytes) = self.env.objects.get(&head.key).await? else {
            return Ok(None);
        };
        let state = match decode(&bytes, name, dir, slot) {
            Ok(head) => head.state,
            Err(error) if *error.kind() == ErrorKind::Unsupported => {
                let place = Place::file(name);
                return Ok(Some(Finding::new(Severity::Note, place, error.message())));
            }
            Err(error) => return finding(error).map(Some),
        };
        let (severity, message) = match state.lives() {
            false => return Ok(None),
            true if state.is_unfinished(|_| false) => (
                Severity::Note,
                "what a session left that was never made, it is collected in time",
            ),
            true => (
                Severity::Damage,
                "a session is not in the index, so no list has it: repair it by its name",
            ),
        };
        Ok(Some(Finding::new(severity, Place::file(name), message)))
    }
}

/// An object of somebody else.
pub(crate) fn foreign(place: Place, object: &Listed) -> Finding {
    let message = "an object that is not the store's, it is left alone";
    Finding::new(Severity::Note, place, message).with_len(object.len)
}
