//! What the tests have in common.

use sessionlog_backend_redb::{Options, Redb};
pub(crate) use sessionlog_core::*;
pub(crate) use sessionlog_testkit::*;
pub(crate) use tempfile::TempDir;

pub(crate) fn open(dir: &TempDir) -> Redb {
    Redb::open(dir.path().join("store.redb"), Options::default()).unwrap()
}

/// A store with one session that has `n` events, each a commit of its own.
pub(crate) fn with_events(n: u64) -> (TempDir, Redb, SessionRef) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let session = filled(&store, "s", n);
    (dir, store, session)
}
