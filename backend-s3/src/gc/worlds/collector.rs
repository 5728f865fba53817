//! Who collects: a sound one, and those with a fault, which must be caught.

use std::collections::HashMap;
use std::time::Duration;

use sessionlog_core::{BlobId, Result, SessionId};

use super::options;
use crate::head::decode;
use crate::key::{Named, Part, dir_of};
use crate::{Bucket, Options};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Collector {
    Sound,
    /// Looks at no age.
    Ageless,
    /// Takes fences while writers still believe that nobody took over.
    Hasty,
    /// Takes the fences of take-overs whatever their age.
    Unfenced,
    /// Of the copies of a blob it keeps the one that was put first.
    Backward,
}

pub(super) const BROKEN: [Collector; 4] = [
    Collector::Ageless,
    Collector::Hasty,
    Collector::Unfenced,
    Collector::Backward,
];

impl Collector {
    pub(super) fn options(self) -> Options {
        let age = match self {
            Self::Ageless => Duration::ZERO,
            Self::Hasty => Duration::from_secs(600),
            _ => return options(),
        };
        Options {
            retention: age,
            reader_grace: age,
            ..options()
        }
    }

    pub(super) async fn collect(self, bucket: &Bucket, id: &SessionId) -> Result<()> {
        match self {
            Self::Unfenced => take_fences(bucket, id).await?,
            Self::Backward => take_copies(bucket, id).await?,
            _ => {}
        }
        bucket.gc(false, |_, _| ()).await.map(drop)
    }
}

async fn take_fences(bucket: &Bucket, id: &SessionId) -> Result<()> {
    let (env, dir) = (&bucket.env, dir_of(id));
    let Some(newest) = bucket.seat(id).slots().await?.first().copied() else {
        return Ok(());
    };
    let Some(bytes) = env.objects.get(&env.keys.head(&dir, newest)).await? else {
        return Ok(());
    };
    let state = decode(&bytes, "", &dir, newest)?.state;
    let kept = |slot: u64| slot == 0 || slot + 2 >= newest || slot == state.tail.slot;
    let fences = state.fences.iter().filter(|slot| !kept(**slot));
    let keys = fences.map(|slot| env.keys.head(&dir, *slot)).collect();
    env.objects.delete(keys).await
}

async fn take_copies(bucket: &Bucket, id: &SessionId) -> Result<()> {
    let env = &bucket.env;
    let mut copies: HashMap<BlobId, Vec<_>> = HashMap::new();
    let folder = env.keys.session(&dir_of(id));
    for object in env.objects.list(Some(&folder)).await? {
        if let Some(Named::Of(_, Part::Blob(_, blob))) = env.keys.named(&object.key) {
            let copies = copies.entry(blob).or_default();
            copies.push((object.modified, object.key));
        }
    }
    let mut keys = Vec::new();
    for mut copies in copies.into_values() {
        copies.sort();
        keys.extend(copies.into_iter().skip(1).map(|(_, key)| key));
    }
    env.objects.delete(keys).await
}
