//! What a large blob costs in memory, on each local store.

use std::process::Command;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use pollster::block_on;
use sessionlog::BlobId;

const URL: &str = "SESSIONLOG_TEST_BLOB";
const PIECE: usize = 1 << 20;
/// How much more than before the process may have had in memory at its most.
const MOST: u64 = 64 << 20;

/// The most that this process had in memory so far.
fn most() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib: u64 = line
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    kib << 10
}

#[test]
fn a_large_blob_goes_through_in_pieces() {
    for scheme in ["jsonl", "sqlite", "redb"] {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("{scheme}:{}", folder.path().join("store").display());
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "blobs::child_with_a_large_blob", "--nocapture"])
            .env(URL, url)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success(), "{scheme}: {told}");
    }
}

#[test]
fn child_with_a_large_blob() {
    let Ok(url) = std::env::var(URL) else {
        return;
    };
    // Each piece is another one, and made when it is asked for.
    let piece = |n: usize| {
        let mut piece = vec![b'.'; PIECE];
        piece[..8].copy_from_slice(&n.to_le_bytes());
        Bytes::from(piece)
    };
    // Each takes some times its size of traffic: what is twice the limit tells as well.
    let pieces = if url.starts_with("sqlite:") { 256 } else { 128 };
    let before = most();
    block_on(async {
        let store = sessionlog::open(&url).await.unwrap();
        let session = store.create("s".parse().unwrap()).await.unwrap();
        let content = stream::iter((0..pieces).map(move |n| Ok(piece(n)))).boxed();
        let put = session.put_blob_pieces(content).await.unwrap();
        assert_eq!(put.len, (PIECE * pieces) as u64);
        let mut read = session.blob(put.id, 0..u64::MAX);
        let mut len = 0;
        while let Some(piece) = read.next().await {
            len += piece.unwrap().len();
        }
        assert_eq!(len, PIECE * pieces);
        assert_eq!(session.blobs().await.unwrap(), [put]);
        assert!(
            session
                .blob(BlobId::of(b"other"), 0..1)
                .next()
                .await
                .unwrap()
                .is_err()
        );
    });
    let grown = most() - before;
    assert!(grown < MOST, "{} MiB", grown >> 20);
}
