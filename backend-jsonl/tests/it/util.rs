//! What the tests have in common.

use std::path::PathBuf;

use sessionlog_backend_jsonl::{Jsonl, Options};
pub(crate) use sessionlog_core::*;
pub(crate) use sessionlog_testkit::*;
pub(crate) use tempfile::TempDir;

pub(crate) fn open(dir: &TempDir) -> Jsonl {
    Jsonl::open(dir.path().join("store"), Options::default()).unwrap()
}

/// A store with one session that has `n` events, each a commit of its own.
pub(crate) fn with_events(n: u64) -> (TempDir, Jsonl, SessionRef) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let session = filled(&store, "s", n);
    (dir, store, session)
}

pub(crate) fn log_path(store: &Jsonl, folder: &str) -> PathBuf {
    store.path().join(folder).join("events.jsonl")
}
