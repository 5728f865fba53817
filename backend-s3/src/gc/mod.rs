//! Garbage: what nobody needs and no writer collects.

mod folder;
mod folders;
mod index;
#[cfg(test)]
mod worlds;

use std::pin::pin;
use std::time::{Duration, SystemTime};

use futures_util::{StreamExt, TryStreamExt, stream};
use sessionlog_core::Result;

use crate::Bucket;
use crate::key::Named;
use crate::moment::Moment;
use crate::objects::Listed;

pub(crate) use index::lives_of;

use folder::Swept;
use index::Batch;

/// Sessions that are looked at at once.
const AT_ONCE: usize = 16;
/// Sessions that are remembered until the index was read.
const SESSIONS: usize = 100_000;
/// Objects that are deleted with one request.
const DELETED: usize = 1000;

/// What a collection found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Garbage {
    /// Objects that nobody needs.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sessions that were deleted long ago, of which the next collection leaves the first head and
    /// the last.
    pub closed: u64,
}

impl Bucket {
    /// Collects what nobody needs: old heads and fences, what broken-off writes and deletes left,
    /// and the traces of sessions that were deleted long ago, but for two heads that say nothing of
    /// them. With `dry_run` it only says what. `found` gets the key of each such object, relative
    /// to the store, and its bytes: once it is deleted, if it is to be.
    ///
    /// Only what is older than [`Options::retention`](crate::Options::retention) goes, old heads
    /// after [`Options::reader_grace`](crate::Options::reader_grace). Foreign objects are left
    /// alone. Nothing is in its way: sessions may be read and written meanwhile.
    ///
    /// Cost: 1 LIST for each 1,000 objects of sessions, and for each 1,000 sessions as often as
    /// there are 100,000 of them; 1 GET for each session, 16 at once; 1 DELETE for each 1,000
    /// objects. A store that lists in no order takes a LIST for each session besides. It holds the
    /// names of the objects of 16 sessions, of 1,000 that nobody needs, and a few bytes for each of
    /// 100,000 sessions, with the names of their notices; where there is no order, the names of all.
    ///
    /// # Errors
    /// `Unavailable`; `Indeterminate`: some of it may be collected.
    pub async fn gc(&self, dry_run: bool, found: impl FnMut(&str, u64)) -> Result<Garbage> {
        let sweep = Sweep {
            bucket: self,
            now: Moment::now().wall(),
            dry_run,
        };
        let mut bin = Bin {
            sweep,
            waste: Vec::new(),
            garbage: Garbage::default(),
            found,
        };
        sweep.probes(&mut bin).await?;
        let folders = self.session_folders();
        let mut swept = pin!(
            folders
                .map(|folder| async move { sweep.look(folder?).await })
                .buffered(AT_ONCE)
        );
        let mut batch = Batch::default();
        while let Some(session) = swept.try_next().await? {
            let session = batch.add(session);
            bin.take(session).await?;
            if batch.len() >= SESSIONS {
                let next = batch.next();
                sweep
                    .index(std::mem::replace(&mut batch, next), &mut bin)
                    .await?;
            }
        }
        sweep.index(batch.last(), &mut bin).await?;
        bin.empty().await?;
        Ok(bin.garbage)
    }
}

/// A collection that is under way.
#[derive(Clone, Copy)]
struct Sweep<'a> {
    bucket: &'a Bucket,
    now: SystemTime,
    dry_run: bool,
}

impl Sweep<'_> {
    /// What probes left.
    async fn probes(&self, bin: &mut Bin<'_, impl FnMut(&str, u64)>) -> Result<()> {
        let (keys, objects) = (&self.bucket.env.keys, &self.bucket.env.objects);
        let folder = keys.probes();
        let mut pages = objects.pages(&folder);
        while let Some(page) = pages.try_next().await? {
            let old = page.into_iter().filter(|object| {
                matches!(keys.named(&object.key), Some(Named::Probe)) && self.is_old(object)
            });
            bin.put(old).await?;
        }
        Ok(())
    }

    /// Reads the index for a batch of sessions.
    async fn index(
        &self,
        mut batch: Batch,
        bin: &mut Bin<'_, impl FnMut(&str, u64)>,
    ) -> Result<()> {
        let (keys, objects) = (&self.bucket.env.keys, &self.bucket.env.objects);
        let folder = keys.index();
        let mut pages = objects.pages(&folder);
        let mut notices = Vec::new();
        while let Some(page) = pages.try_next().await? {
            for object in page {
                match keys.named(&object.key) {
                    Some(Named::Marker(session))
                        if !batch.needs(&session, &object) && self.is_old(&object) =>
                    {
                        bin.put([object]).await?;
                    }
                    Some(Named::Notice(dir, _)) if batch.has(&dir) && self.is_over(&object) => {
                        notices.push(object);
                    }
                    _ => {}
                }
            }
        }
        // As long as a marker may be there, its notice is: no list has what was deleted.
        bin.empty().await?;
        bin.put(notices).await?;
        let begun = batch.begun().map(|begun| self.look_again(begun));
        let mut swept = pin!(stream::iter(begun).buffered(AT_ONCE));
        while let Some(session) = swept.try_next().await? {
            bin.take(session).await?;
        }
        Ok(())
    }

    fn is_old(&self, object: &Listed) -> bool {
        self.age_of(object) >= self.bucket.env.objects.options.retention
    }

    /// Whether a notice, or a doubt, is so old that what came behind it is old as well.
    fn is_over(&self, notice: &Listed) -> bool {
        let retention = self.bucket.env.objects.options.retention;
        self.age_of(notice) >= retention + retention / 4
    }

    /// How old an object is, by the clock here. One from the future is new.
    fn age_of(&self, object: &Listed) -> Duration {
        self.now.duration_since(object.modified).unwrap_or_default()
    }
}

/// What is to be deleted.
struct Bin<'a, F> {
    sweep: Sweep<'a>,
    waste: Vec<Listed>,
    garbage: Garbage,
    found: F,
}

impl<F: FnMut(&str, u64)> Bin<'_, F> {
    async fn take(&mut self, session: Swept) -> Result<()> {
        self.garbage.closed += u64::from(session.closed);
        self.put(session.waste).await
    }

    async fn put(&mut self, waste: impl IntoIterator<Item = Listed>) -> Result<()> {
        for object in waste {
            self.waste.push(object);
            if self.waste.len() >= DELETED {
                self.empty().await?;
            }
        }
        Ok(())
    }

    async fn empty(&mut self) -> Result<()> {
        let env = &self.sweep.bucket.env;
        if !self.sweep.dry_run {
            let keys = self.waste.iter().map(|object| object.key.clone());
            env.objects.delete(keys.collect()).await?;
        }
        for object in self.waste.drain(..) {
            self.garbage.objects += 1;
            self.garbage.bytes += object.len;
            (self.found)(env.keys.relative(&object.key), object.len);
        }
        Ok(())
    }
}
