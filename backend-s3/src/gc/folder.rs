//! The folder of a session, and what of it nobody needs.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use object_store::path::Path;
use sessionlog_core::{Error, EventId, Incarnation, Result};

use super::Sweep;
use crate::codec::wide;
use crate::copies::Doubts;
use crate::head::{Sort, Stamp, State, decode};
use crate::key::Part;
use crate::objects::Listed;
use crate::put::{Slot, put_slot};

/// Heads before the newest that are left for readers.
const SPARED: u64 = 2;

/// The objects of one session's folder.
#[derive(Default)]
pub(super) struct Folder {
    pub(super) dir: String,
    heads: BTreeMap<u64, Listed>,
    others: Vec<(Part, Listed)>,
}

/// What the newest head says of a session.
#[derive(Clone, Copy)]
pub(super) enum Fate {
    Lives(Incarnation),
    Dead,
    /// It is for verification and repair.
    Unreadable,
}

/// A session that was looked at.
pub(super) struct Swept {
    pub(super) dir: String,
    pub(super) fate: Fate,
    pub(super) waste: Vec<Listed>,
    pub(super) closed: bool,
    pub(super) begun: Option<Begun>,
}

/// A session to which nothing was written since it was made: the index tells whether its creation
/// was broken off.
pub(super) struct Begun {
    folder: Folder,
    state: State,
    pub(super) listed: bool,
}

impl Swept {
    pub(super) fn new(dir: String, fate: Fate) -> Self {
        Self {
            dir,
            fate,
            waste: Vec::new(),
            closed: false,
            begun: None,
        }
    }
}

impl Folder {
    pub(super) fn of(dir: String) -> Self {
        Self {
            dir,
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, part: Part, object: Listed) {
        match part {
            Part::Head(slot) => drop(self.heads.insert(slot, object)),
            part => self.others.push((part, object)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.heads.is_empty() && self.others.is_empty()
    }
}

impl Sweep<'_> {
    /// Looks at a session. Cost: 1 GET, and 1 PUT of one that was deleted long ago.
    pub(super) async fn look(&self, folder: Folder) -> Result<Swept> {
        let dir = folder.dir.clone();
        let swept = |fate| Swept::new(dir, fate);
        match self.newest(&folder).await {
            Err(_) => Ok(swept(Fate::Unreadable)),
            Ok(Some(state)) if state.is_unfinished(|_| false) => Ok(Swept {
                begun: Some(Begun {
                    folder,
                    state: state.clone(),
                    listed: false,
                }),
                ..swept(Fate::Lives(state.incarnation))
            }),
            Ok(Some(state)) => {
                let fate = match state.lives() {
                    true => Fate::Lives(state.incarnation),
                    false => Fate::Dead,
                };
                self.sweep(folder, Some(&state), swept(fate)).await
            }
            Ok(None) => self.sweep(folder, None, swept(Fate::Dead)).await,
        }
    }

    /// Looks at a session of which it is known now whether it is in the index. One whose creation
    /// nobody finishes ends as one that was deleted. Cost: as [`Self::look`], but no GET.
    pub(super) async fn look_again(&self, begun: Begun) -> Result<Swept> {
        let Begun {
            folder,
            mut state,
            listed,
        } = begun;
        if !listed {
            state.sort = Sort::Deleted;
        }
        let swept = Swept::new(folder.dir.clone(), Fate::Lives(state.incarnation));
        self.sweep(folder, Some(&state), swept).await
    }

    async fn newest(&self, folder: &Folder) -> Result<Option<State>> {
        let env = &self.bucket.env;
        let Some((slot, listed)) = folder.heads.last_key_value() else {
            return Ok(None);
        };
        // Its slot may have been used once more, by somebody who took over too late. Where the store
        // does not tell, the length does: what takes over holds no events.
        let got = env.objects.get_listed(listed).await?;
        let same = |(bytes, is_sure): &(Bytes, bool)| *is_sure || wide(bytes.len()) == listed.len;
        let Some((bytes, _)) = got.filter(same) else {
            return Err(Error::unavailable("the head was collected meanwhile"));
        };
        let name = env.keys.relative(&listed.key);
        Ok(Some(decode(&bytes, name, &folder.dir, *slot)?.state))
    }

    /// Finds what a session does not need.
    async fn sweep(
        &self,
        folder: Folder,
        state: Option<&State>,
        mut swept: Swept,
    ) -> Result<Swept> {
        swept.waste = self.others(folder.others, state);
        let Some(state) = state else {
            return Ok(swept);
        };
        let options = &self.bucket.env.objects.options;
        let newest = folder.heads.get(&state.slot);
        let age = newest.map_or(Duration::ZERO, |newest| self.age_of(newest));
        let needed = |slot: u64, object: &Listed| match state.sort {
            // The next life begins behind it: no slot is used twice, so that no delete which comes
            // late, or is sent by who listed them before, takes anything of that life.
            Sort::Closed => age < options.reader_grace || slot == 0 || slot == state.slot,
            Sort::Deleted if age >= options.retention => true,
            _ => {
                let spared = slot == 0 || slot + SPARED >= state.slot || slot == state.tail.slot;
                let young = if state.fences.contains(&slot) {
                    !self.is_old(object)
                } else {
                    self.age_of(object) < options.reader_grace
                };
                spared || young
            }
        };
        let heads = folder.heads.into_iter();
        let heads = heads.filter(|(slot, object)| !needed(*slot, object));
        swept.waste.extend(heads.map(|(_, object)| object));
        swept.closed = state.sort == Sort::Deleted && age >= options.retention;
        if swept.closed && !self.dry_run {
            self.close(&swept.dir, state).await?;
        }
        Ok(swept)
    }

    /// What but heads a session does not need.
    fn others(&self, others: Vec<(Part, Listed)>, state: Option<&State>) -> Vec<Listed> {
        let doubts = Doubts::of(others.iter().map(|(part, _)| part));
        let covered = |(part, object): &(Part, Listed)| doubts.cover(part, &object.key);
        // A doubt goes when there is nothing that it speaks of, and nothing will come.
        let in_doubt = others.iter().any(covered);
        let old: Vec<_> = others
            .into_iter()
            .filter(|(part, object)| match part {
                Part::Doubt(..) => self.is_over(object) && !in_doubt,
                _ => self.is_old(object),
            })
            .collect();
        let lives = state.filter(|state| state.lives());
        let copies = newest_copies(old.iter().filter(|copy| !covered(copy)));
        let needed = |it: &(Part, Listed)| {
            let (part, object) = it;
            let newest = copies.get(part);
            lives.is_some_and(|state| needs(state, part))
                && !covered(it)
                && newest.is_none_or(|(time, key)| (object.modified, &object.key) >= (*time, key))
        };
        old.into_iter()
            .filter(|it| !needed(it))
            .map(|(_, object)| object)
            .collect()
    }

    /// Puts the last head of a deleted session, behind which the next life may begin.
    async fn close(&self, dir: &str, stone: &State) -> Result<()> {
        let env = &self.bucket.env;
        let stamp = Stamp {
            writer: env.writer,
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
        let key = env.keys.head(dir, state.slot);
        let name = env.keys.relative(&key).to_owned();
        let bytes = state.encode(dir, &[]);
        let slot = state.slot;
        let put = put_slot(
            &env.objects,
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
        Part::Doubt(..) => false,
    }
}
