//! A session is deleted while others are about to put its content: none of it stays.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_conformance::objects::{Request, Slow};
use sessionlog_core::{
    AppendCondition, BlobStore, Error, EventLog, Head, Kind, NewEvent, Result, SeqNum, SessionRef,
    Snapshot, SnapshotStore,
};

const CONTENT: &str = "a secret";

fn options() -> Options {
    let mut options = Options::default();
    options.seal_bytes = 256;
    options.pause = Duration::ZERO;
    options
}

fn event() -> NewEvent {
    NewEvent::json(Kind::from_static("note"), format!("\"{CONTENT}\"")).unwrap()
}

async fn append(bucket: &Bucket, session: &SessionRef) -> Result<()> {
    let condition = AppendCondition::NONE;
    bucket
        .append(session, vec![event()], condition)
        .await
        .map(drop)
}

/// What is left of a session that another handle deletes before the first change that `at` picks,
/// when `writes` was refused.
fn left(
    at: impl Fn(&Request) -> bool + Send + Sync + 'static,
    writes: &impl AsyncFn(&Bucket, &SessionRef) -> Result<()>,
) -> (Error, Vec<String>) {
    pollster::block_on(async {
        let store = Arc::new(InMemory::new());
        let plain = Bucket::new(Arc::clone(&store) as _, "", options());
        let session = SessionRef::fresh("s".parse().unwrap());
        plain.create(&session).await.unwrap();
        let (armed, deleted) = (Arc::new(AtomicBool::new(false)), session.clone());
        let arm = Arc::clone(&armed);
        let slow = Slow::new(Arc::clone(&store) as _, move |r| {
            if r.op.changes() && at(r) && armed.swap(false, Ordering::Relaxed) {
                pollster::block_on(plain.delete(&deleted, None)).unwrap();
            }
            Duration::ZERO
        });
        let writer = Bucket::new(Arc::new(slow), "", options());
        append(&writer, &session).await.unwrap();
        arm.store(true, Ordering::Relaxed);
        let error = writes(&writer, &session).await.unwrap_err();
        assert!(!arm.load(Ordering::Relaxed), "nothing was deleted");
        let all: Vec<_> = store.list(None).try_collect().await.unwrap();
        let mut left = Vec::new();
        for object in all {
            let key = object.location.to_string();
            let bytes = store.get(&object.location).await.unwrap();
            let bytes = bytes.bytes().await.unwrap();
            let names = key.contains("/d/");
            if names
                || bytes
                    .windows(CONTENT.len())
                    .any(|w| w == CONTENT.as_bytes())
            {
                left.push(key);
            }
        }
        (error, left)
    })
}

fn nothing_is_left((error, left): (Error, Vec<String>)) {
    assert!(error.is_not_found(), "{error}");
    assert!(left.is_empty(), "{left:?}");
}

fn pieces(content: &'static str) -> sessionlog_core::Pieces {
    Box::pin(futures_util::stream::iter([Ok(Bytes::from(content))]))
}

async fn many(writer: &Bucket, session: &SessionRef) -> Result<()> {
    for _ in 0..200 {
        append(writer, session).await?;
    }
    Ok(())
}

#[test]
fn a_chunk_of_a_writer_that_is_sealing_goes() {
    nothing_is_left(left(|r| r.key.contains("/c/"), &many));
}

#[test]
fn a_chunk_goes_whose_head_comes_too_late() {
    let chunks = std::sync::atomic::AtomicU32::new(0);
    let behind = move |r: &Request| {
        if r.key.contains("/c/") {
            return chunks.fetch_add(1, Ordering::Relaxed) == u32::MAX;
        }
        r.key.contains("/h/") && chunks.load(Ordering::Relaxed) > 0
    };
    nothing_is_left(left(behind, &many));
}

#[test]
fn chunks_that_a_merge_puts_go() {
    nothing_is_left(left(
        |r| r.key.contains("/c/"),
        &async |writer: &Bucket, session: &SessionRef| writer.compact(&session.id).await,
    ));
}

#[test]
fn a_late_blob_goes() {
    nothing_is_left(left(
        |r| r.key.contains("/b/"),
        &async |writer: &Bucket, session: &SessionRef| {
            let put = writer.put(session, pieces(CONTENT), None).await;
            put.map(drop)
        },
    ));
}

#[test]
fn a_late_snapshot_goes_and_with_it_the_one_before() {
    let snapshot = |session: &SessionRef, covers| {
        let (projection, state) = (Kind::from_static("fold"), Bytes::from(CONTENT));
        Snapshot {
            projection,
            version: 1,
            covers: SeqNum::new(covers),
            log: Head::genesis(&session.id, session.incarnation).sum,
            state,
        }
    };
    nothing_is_left(left(
        |r| r.key.contains("/p/"),
        &async move |writer: &Bucket, session: &SessionRef| {
            writer.save(session, snapshot(session, 1), None).await
        },
    ));
}
