//! The copies of blobs, and which of them count.
//!
//! Each try of a put has a name of its own. What became of a try that was not answered nobody knows: it
//! may still arrive when the blob is removed. So once another try is there, a doubt is put, and none of
//! the tries before that one counts any more.

use std::collections::HashMap;
use std::time::Instant;

use bytes::Bytes;
use object_store::path::Path;
use sessionlog_core::{BlobId, Incarnation, Result, SessionRef};

use crate::codec::random;
use crate::key::{Keys, Named, Part, name_of};
use crate::objects::{Answer, Listed, Objects, absurd, unsettled};

/// The last two digits of a copy's name are of the try.
const TRIES: u64 = 0xff;
/// The content of a doubt: its name says all.
const DOUBT: &[u8] = b"-";

/// Which copies do not count.
#[derive(Default)]
pub(crate) struct Doubts(HashMap<(Incarnation, BlobId, u64), u64>);

impl Doubts {
    /// What a list tells.
    pub(crate) fn of<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Self {
        let mut doubts = Self::default();
        for part in parts {
            if let Part::Doubt(life, id, name) = part {
                let first = doubts.0.entry((*life, *id, name & !TRIES)).or_default();
                *first = (*first).max(*name);
            }
        }
        doubts
    }

    /// Whether a copy of a blob does not count.
    pub(crate) fn cover(&self, part: &Part, copy: &Path) -> bool {
        let (Part::Blob(life, id), Some(name)) = (part, name_of(copy)) else {
            return false;
        };
        let first = self.0.get(&(*life, *id, name & !TRIES));
        first.is_some_and(|first| name < *first)
    }
}

/// What a list has of blobs.
pub(crate) struct Copies {
    all: Vec<(Part, Listed)>,
    doubts: Doubts,
}

impl Copies {
    pub(crate) fn new(keys: &Keys, listed: Vec<Listed>) -> Self {
        let part = |listed: Listed| match keys.named(&listed.key) {
            Some(Named::Of(_, part)) => Some((part, listed)),
            _ => None,
        };
        let all: Vec<_> = listed.into_iter().filter_map(part).collect();
        let doubts = Doubts::of(all.iter().map(|(part, _)| part));
        Self { all, doubts }
    }

    /// The copies that count.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (BlobId, &Listed)> {
        self.all.iter().filter_map(|(part, copy)| match part {
            Part::Blob(_, id) if !self.doubts.cover(part, &copy.key) => Some((*id, copy)),
            _ => None,
        })
    }

    /// All copies of a blob.
    pub(crate) fn into_keys(self, id: BlobId) -> impl Iterator<Item = Path> {
        self.all
            .into_iter()
            .filter_map(move |(part, copy)| match part {
                Part::Blob(_, of) if of == id => Some(copy.key),
                _ => None,
            })
    }
}

/// Puts a copy of a blob. Cost: 1 PUT; for each try that was not answered 1 more, and then 1 for the
/// doubt.
///
/// # Errors
/// `Indeterminate` if one may be there, or come.
pub(crate) async fn put(
    objects: &Objects,
    keys: &Keys,
    session: &SessionRef,
    id: BlobId,
    content: &Bytes,
) -> Result<Path> {
    let first = random() & !TRIES;
    let (mut tries, begun) = (0, Instant::now());
    loop {
        let name = first + u64::from(tries);
        let key = keys.copy(session, id, name);
        let error = match objects.create(&key, content).await {
            Answer::Made if tries == 0 => return Ok(key),
            Answer::Made => {
                let doubt = keys.doubt(session, id, name);
                objects.put(&doubt, &Bytes::from_static(DOUBT)).await?;
                return Ok(key);
            }
            Answer::Refused(error) if tries == 0 => return Err(error),
            Answer::Refused(error) => return Err(unsettled(error)),
            Answer::Unknown(error) => error,
            Answer::Taken => absurd(&key),
        };
        tries += 1;
        if objects.is_enough(tries, begun) || u64::from(tries) == TRIES {
            return Err(unsettled(error));
        }
        objects.pause(tries).await;
    }
}
