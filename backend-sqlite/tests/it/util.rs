//! What the tests have in common.

use std::path::{Path, PathBuf};

use futures_util::TryStreamExt;
pub(crate) use sessionlog_backend_sqlite::{Options, Sqlite};
pub(crate) use sessionlog_core::*;
pub(crate) use sessionlog_testkit::*;
pub(crate) use tempfile::TempDir;

pub(crate) fn path(dir: &TempDir) -> PathBuf {
    dir.path().join("store.db")
}

pub(crate) fn open(dir: &TempDir) -> Sqlite {
    Sqlite::open(path(dir), Options::default()).unwrap()
}

/// A store with one session that has `n` events, each a commit of its own.
pub(crate) fn with_events(n: u64) -> (TempDir, Sqlite, SessionRef) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let session = filled(&store, "s", n);
    (dir, store, session)
}

/// All events of the session of that name, as the core hands them out: verified.
pub(crate) fn read(store: &Sqlite, name: &str) -> Result<Vec<Event>> {
    let store = Store::new(store.clone());
    block_on(async {
        let session = store.open(&id(name)).await?;
        session.read(SeqNum::all()).collect().await
    })
}

pub(crate) fn chunks(store: &Sqlite, session: &SessionRef) -> Result<Vec<Vec<Event>>> {
    block_on(store.read(session, SeqNum::all()).try_collect())
}

/// Makes a file look as if nobody had changed it for long.
pub(crate) fn settle(path: &Path) {
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    let past = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    file.set_modified(past).unwrap();
}
