//! Garbage: what nobody needs and no writer collects.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, SystemTime};

use object_store::path::Path;
use sessionlog_core::{EventId, Incarnation, Result, SessionRef};

use crate::Bucket;
use crate::head::{Sort, Stamp, State, decode};
use crate::key::{Named, Part, dir_of};
use crate::marker::is_void;
use crate::objects::Listed;
use crate::put::{Slot, put_slot};

/// Heads before the newest that are left for readers.
const SPARED: u64 = 2;

/// What a collection found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Garbage {
    /// The keys of objects that nobody needs, relative to the store.
    pub keys: Vec<String>,
    /// Their bytes.
    pub bytes: u64,
    /// Sessions that were deleted long ago, of which the next collection leaves the first head and
    /// the last.
    pub closed: u64,
}

/// The objects of one session's folder.
#[derive(Default)]
struct Folder {
    heads: BTreeMap<u64, Listed>,
    others: Vec<(Part, Listed)>,
}

/// What is to be deleted.
#[derive(Default)]
struct Waste {
    objects: Vec<Listed>,
    closed: u64,
}

impl Bucket {
    /// Collects what nobody needs: old heads and fences, what broken-off writes and deletes left,
    /// and the traces of sessions that were deleted long ago, but for two heads that say nothing of
    /// them. With `dry_run` it only says what.
    ///
    /// Only what is older than [`Options::retention`](crate::Options::retention) goes, old heads
    /// after [`Options::reader_grace`](crate::Options::reader_grace). Foreign objects are left
    /// alone. Nothing is in its way: sessions may be read and written meanwhile. Cost: 1 LIST for
    /// each 1,000 objects, 1 GET for each session, 1 DELETE for each 1,000 objects.
    ///
    /// # Errors
    /// `Unavailable`; `Indeterminate`: some of it may be collected.
    pub async fn gc(&self, dry_run: bool) -> Result<Garbage> {
        let env = &self.env;
        let listed = env.objects.list(env.keys.root().as_ref()).await?;
        let now = SystemTime::now();
        let mut folders: BTreeMap<String, Folder> = BTreeMap::new();
        let mut markers: Vec<(SessionRef, Listed)> = Vec::new();
        let mut waste = Waste::default();
        for object in listed {
            match env.keys.named(&object.key) {
                Some(Named::Of(dir, Part::Head(slot))) => {
                    folders.entry(dir).or_default().heads.insert(slot, object);
                }
                Some(Named::Of(dir, part)) => {
                    folders.entry(dir).or_default().others.push((part, object));
                }
                Some(Named::Marker(session)) => markers.push((session, object)),
                Some(Named::Probe) if self.is_old(&object, now) => waste.objects.push(object),
                Some(Named::Probe) | None => {}
            }
        }
        let mut lives = BTreeMap::new();
        let listed = lives_of(&markers);
        for (dir, folder) in folders {
            let mut newest = self.newest(&dir, &folder).await;
            if let Ok(Some(state)) = &mut newest
                && state.is_unfinished(|life| listed.contains(&(dir.clone(), life)))
            {
                // Nobody finishes it: it ends as one that was deleted.
                state.sort = Sort::Deleted;
            }
            match &newest {
                Ok(state) => {
                    let life = state.as_ref().filter(|state| state.lives());
                    lives.insert(dir.clone(), life.map(|state| state.incarnation));
                    self.sweep(&dir, folder, state.as_ref(), now, dry_run, &mut waste)
                        .await?;
                }
                // What can't be read is for verify and repair.
                Err(_) => drop(lives.insert(dir.clone(), None)),
            }
            if newest.is_err() {
                markers.retain(|(session, _)| dir_of(&session.id) != dir);
            }
        }
        for (session, object) in markers {
            let life = lives.get(&dir_of(&session.id)).copied().flatten();
            let needed = life == Some(session.incarnation) && !is_void(&object);
            if !needed && self.is_old(&object, now) {
                waste.objects.push(object);
            }
        }
        self.throw_away(waste, dry_run).await
    }

    async fn newest(&self, dir: &str, folder: &Folder) -> Result<Option<State>> {
        let Some((slot, listed)) = folder.heads.last_key_value() else {
            return Ok(None);
        };
        let Some(bytes) = self.env.objects.get(&listed.key).await? else {
            return Err(sessionlog_core::Error::unavailable(
                "the head was collected meanwhile",
            ));
        };
        let name = self.env.keys.relative(&listed.key);
        Ok(Some(decode(&bytes, name, dir, *slot)?.state))
    }

    /// Finds what a session does not need.
    async fn sweep(
        &self,
        dir: &str,
        folder: Folder,
        state: Option<&State>,
        now: SystemTime,
        dry_run: bool,
        waste: &mut Waste,
    ) -> Result<()> {
        let grace = self.env.objects.options.reader_grace;
        let lives = state.filter(|state| state.lives());
        let old = folder
            .others
            .iter()
            .filter(|(_, object)| self.is_old(object, now));
        let copies = newest_copies(old);
        let needed = |part: &Part, object: &Listed| {
            lives.is_some_and(|state| needs(state, part))
                && copies
                    .get(part)
                    .is_none_or(|newest| (object.modified, &object.key) >= (newest.0, &newest.1))
        };
        let others = folder.others.into_iter();
        let others = others.filter(|(part, object)| !needed(part, object));
        let others = others.map(|(_, object)| object);
        waste
            .objects
            .extend(others.filter(|object| self.is_old(object, now)));
        let Some(state) = state else {
            return Ok(());
        };
        let newest = folder.heads.get(&state.slot);
        let age = newest.map_or(Duration::ZERO, |newest| age_of(newest, now));
        match state.sort {
            // The next life begins behind it: no slot is used twice, so that no delete which comes
            // late, or is sent by who listed them before, takes anything of that life.
            Sort::Closed if age >= grace => {
                let kept = |slot: u64| slot == 0 || slot == state.slot;
                let heads = folder.heads.into_iter().filter(|(slot, _)| !kept(*slot));
                waste.objects.extend(heads.map(|(_, object)| object));
            }
            Sort::Closed => {}
            Sort::Deleted if age >= self.env.objects.options.retention => {
                waste.closed += 1;
                if !dry_run {
                    self.close(dir, state).await?;
                }
            }
            _ => {
                let old = |slot: u64, object: &Listed| {
                    let spared =
                        slot == 0 || slot + SPARED >= state.slot || slot == state.tail.slot;
                    let fence = state.fences.contains(&slot);
                    let long = if fence {
                        self.is_old(object, now)
                    } else {
                        age_of(object, now) >= grace
                    };
                    !spared && long
                };
                let heads = folder
                    .heads
                    .into_iter()
                    .filter(|(slot, object)| old(*slot, object));
                waste.objects.extend(heads.map(|(_, object)| object));
            }
        }
        Ok(())
    }

    /// Puts the last head of a deleted session, behind which the next life may begin.
    async fn close(&self, dir: &str, stone: &State) -> Result<()> {
        let stamp = Stamp {
            writer: self.env.writer,
            commit: *EventId::generate().as_bytes(),
        };
        let mut state = State {
            slot: stone.slot + 1,
            epoch: stone.epoch + 1,
            stamp,
            sort: Sort::Closed,
            ..stone.clone()
        };
        state.fences.push(state.slot);
        let key = self.env.keys.head(dir, state.slot);
        let name = self.env.keys.relative(&key).to_owned();
        let bytes = state.encode(dir, &[]);
        let slot = state.slot;
        let put = put_slot(
            &self.env.objects,
            &key,
            &bytes,
            stamp,
            || true,
            |bytes| decode(bytes, &name, dir, slot),
        );
        match put.await {
            // A new life was faster.
            Slot::Won | Slot::Lost | Slot::Old => Ok(()),
            Slot::Refused(error) | Slot::Unknown(error) => Err(error),
        }
    }

    async fn throw_away(&self, waste: Waste, dry_run: bool) -> Result<Garbage> {
        let mut garbage = Garbage {
            closed: waste.closed,
            ..Garbage::default()
        };
        for object in &waste.objects {
            garbage
                .keys
                .push(self.env.keys.relative(&object.key).to_owned());
            garbage.bytes += object.len;
        }
        if !dry_run {
            let keys = waste.objects.into_iter().map(|object| object.key);
            self.env.objects.delete(keys.collect()).await?;
        }
        Ok(garbage)
    }

    fn is_old(&self, object: &Listed, now: SystemTime) -> bool {
        age_of(object, now) >= self.env.objects.options.retention
    }
}

/// The folders and lives of the sessions that are in the index.
pub(crate) fn lives_of(markers: &[(SessionRef, Listed)]) -> HashSet<(String, Incarnation)> {
    let whole = markers.iter().filter(|(_, object)| !is_void(object));
    let of = |(session, _): &(SessionRef, _)| (dir_of(&session.id), session.incarnation);
    whole.map(of).collect()
}

/// Of each blob the copy that was put last, among these objects.
fn newest_copies<'a>(
    others: impl Iterator<Item = &'a (Part, Listed)>,
) -> BTreeMap<Part, (SystemTime, Path)> {
    let mut newest: BTreeMap<Part, (SystemTime, Path)> = BTreeMap::new();
    for (part, object) in others {
        if matches!(part, Part::Blob(..)) {
            let put = (object.modified, object.key.clone());
            let last = newest.entry(part.clone()).or_insert_with(|| put.clone());
            if put > *last {
                *last = put;
            }
        }
    }
    newest
}

fn needs(state: &State, part: &Part) -> bool {
    match part {
        Part::Head(_) => true,
        Part::Chunk(life, first, name) => {
            let same = |c: &crate::chunk::ChunkRef| c.first.get() == *first && c.name == *name;
            *life == state.incarnation && state.chunks.iter().any(same)
        }
        Part::Snapshot(life) | Part::Blob(life, _) => *life == state.incarnation,
    }
}

/// How old an object is, by the clock here. One from the future is new.
fn age_of(object: &Listed, now: SystemTime) -> Duration {
    now.duration_since(object.modified).unwrap_or_default()
}
