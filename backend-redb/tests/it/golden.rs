//! Stores of every format version, opened for ever.

use std::path::PathBuf;

use futures_util::TryStreamExt;
use sessionlog_backend_redb::{Options, Redb};

use crate::util::*;

const FOLD: Kind = Kind::from_static("fold");

fn file(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden")).join(name)
}

/// A blob of two rows.
fn large() -> Vec<u8> {
    (0..300_000_u32).map(|n| n.to_le_bytes()[0]).collect()
}

/// Not a test but how the file came to be: it does nothing unless the variable is set.
#[test]
fn make() {
    let Some(target) = std::env::var_os("SESSIONLOG_TEST_GOLDEN") else {
        return;
    };
    let path = PathBuf::from(target).join("v1.redb");
    let store = Redb::open(&path, Options::default()).unwrap();
    let mut rest = golden::given();
    let batch = rest.split_off(1);
    golden::make(&store, vec![rest, batch], FOLD);
    golden::put(&store, large());
    block_on(store.compact()).unwrap();
}

#[test]
fn version_1() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.redb");
    std::fs::copy(file("v1.redb"), &path).unwrap();
    let store = Redb::open(&path, Options::default()).unwrap();
    let listed: Vec<_> = block_on(store.list(&golden::session()).try_collect()).unwrap();
    assert_eq!(listed.len(), 2);
    assert!(golden::blob(&store, &large()) == large());
    assert_eq!(golden::check(&store, &FOLD), "{\"n\":5}");
}
