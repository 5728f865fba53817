//! Snapshots: small files beside the log, renamed into place and never flushed. The newest one of a
//! projection is there twice if it is small, for lists: see `latest`.

use std::fs;
use std::io::ErrorKind as Io;
use std::path::Path;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use sessionlog_core::{
    FencingToken, Kind, Result, SeqNum, SessionRef, Snapshot, SnapshotStore, Snapshots, fence,
};

use crate::dir::{SNAPSHOTS, SessionDir, TEMPORARY};
use crate::latest;
use crate::root::holds_session;
use crate::slots::Slots;
use crate::store::Jsonl;
use sessionlog_local::files::{failed, make_dir, open_read, read_range, replace};

/// How many of a projection and version are kept.
const KEPT: usize = 2;

/// The name of a snapshot's file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    covers: SeqNum,
    projection: String,
    version: u32,
}

impl Name {
    fn of(snapshot: &Snapshot) -> Self {
        Self {
            covers: snapshot.covers,
            projection: snapshot.projection.as_str().to_owned(),
            version: snapshot.version,
        }
    }

    fn text(&self) -> String {
        format!(
            "{:020}-{}-v{}.snap",
            self.covers.get(),
            self.projection,
            self.version
        )
    }

    pub(crate) fn read(text: &str) -> Option<Self> {
        let (covers, rest) = text.strip_suffix(".snap")?.split_once('-')?;
        let (projection, version) = rest.rsplit_once("-v")?;
        let name = Self {
            covers: covers.parse().ok()?,
            projection: projection.to_owned(),
            version: version.parse().ok()?,
        };
        (name.text() == text).then_some(name)
    }
}

/// The names of all files in the folder of snapshots.
fn names(dir: &SessionDir) -> Result<Vec<String>> {
    let Some(path) = dir.folder(SNAPSHOTS) else {
        return Ok(Vec::new());
    };
    let listed = match fs::read_dir(&path) {
        Err(e) if e.kind() == Io::NotFound => return Ok(Vec::new()),
        listed => listed.map_err(failed("list", &path))?,
    };
    listed
        .map(|entry| {
            let name = entry.map_err(failed("list", &path))?.file_name();
            Ok(name.to_string_lossy().into_owned())
        })
        .collect()
}

/// The snapshots of one projection and version, the latest first.
fn of_projection(dir: &SessionDir, projection: &Kind, version: u32) -> Result<Vec<Name>> {
    let mut found: Vec<_> = names(dir)?
        .iter()
        .filter_map(|name| Name::read(name))
        .filter(|name| projection == name.projection.as_str() && name.version == version)
        .collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    Ok(found)
}

/// The snapshot in a file; `None` if it is damaged, or gone by now.
pub(crate) fn load(path: &Path, name: &Name) -> Option<Snapshot> {
    let file = open_read(path).ok()?;
    let len = file.metadata().ok()?.len();
    let bytes = Bytes::from(read_range(&file, 0, len).ok()?);
    let snapshot = Snapshot::from_bytes(&bytes).ok()?;
    (Name::of(&snapshot) == *name).then_some(snapshot)
}

fn latest(
    dir: &SessionDir,
    projection: &Kind,
    version: u32,
    at_or_before: SeqNum,
) -> Result<Option<Snapshot>> {
    let found = of_projection(dir, projection, version)?;
    Ok(found
        .iter()
        .filter(|name| name.covers <= at_or_before)
        .find_map(|name| load(&dir.join(SNAPSHOTS).join(name.text()), name)))
}

#[async_trait]
impl SnapshotStore for Jsonl {
    async fn save(
        &self,
        session: &SessionRef,
        snapshot: Snapshot,
        token: Option<FencingToken>,
    ) -> Result<()> {
        let life = self.life(session)?;
        let mut lock = life.lock().await?;
        life.is_current()?;
        // It stands for events that may be a killed process's.
        lock.prove(&life)?;
        if token.is_some() {
            fence(token, Slots::read(&life.dir)?.newest())?;
        }
        let path = life.dir.join(SNAPSHOTS);
        make_dir(&path).map_err(failed("make the folder", &path))?;
        let name = Name::of(&snapshot).text();
        replace(&path, &name, &snapshot.to_bytes(), false)?;
        latest::record(&life, &snapshot);
        // Under the lock, whatever is unfinished was left by a crash. It is in nobody's way, so
        // what can't be removed now stays.
        let unfinished = names(&life.dir)?.into_iter();
        let unfinished = unfinished.filter(|name| name.starts_with(TEMPORARY));
        let older = of_projection(&life.dir, &snapshot.projection, snapshot.version)?;
        let older = older.into_iter().skip(KEPT).map(|name| name.text());
        for name in unfinished.chain(older) {
            drop(fs::remove_file(path.join(name)));
        }
        Ok(())
    }

    async fn latest(
        &self,
        session: &SessionRef,
        projection: &Kind,
        version: u32,
        at_or_before: SeqNum,
    ) -> Result<Option<Snapshot>> {
        let life = self.life(session)?;
        latest(&life.dir, projection, version, at_or_before)
    }

    fn scan(&self, projection: &Kind, version: u32) -> Snapshots {
        let (store, projection) = (self.clone(), projection.clone());
        let folders = match self.folders() {
            Ok(folders) => folders,
            Err(error) => return stream::iter([Err(error)]).boxed(),
        };
        let recorded = latest::name(projection.as_str(), version);
        let found = folders.filter_map(move |folder| {
            let found = folder.and_then(|(id, path)| {
                let dir = store.dir(&id);
                if let Some((ended, snapshot)) = latest::load(&dir, &id, &recorded) {
                    store.saw(ended);
                    return Ok(Some((id, snapshot)));
                }
                if !holds_session(&path) {
                    return Ok(None);
                }
                let found = latest(&dir, &projection, version, SeqNum::MAX)?;
                Ok(found.map(|snapshot| (id, snapshot)))
            });
            found.transpose()
        });
        stream::iter(found).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        let name = Name {
            covers: SeqNum::new(12),
            projection: "a.b_c".into(),
            version: 3,
        };
        assert_eq!(name.text(), "00000000000000000012-a.b_c-v3.snap");
        assert_eq!(Name::read(&name.text()), Some(name));
        for bad in ["x", "12-a-v1.snap", "00000000000000000012-a-v01.snap"] {
            assert_eq!(Name::read(bad), None);
        }
    }
}
