//! A1: artifacts beside the log, named by their content.

use std::task::Poll;

use bytes::Bytes;
use futures_util::future::poll_fn;
use futures_util::{StreamExt, TryStreamExt, stream};
use sessionlog_core::{BlobId, BlobInfo, Error, ErrorKind, Pieces};

use crate::Law;
use crate::bench::{Ask, Bench};
use crate::breach::{Held, ensure, ensure_eq, ensure_err};
use crate::dump::Dump;
use crate::law::law;
use crate::make::{fresh, noise, pieces};
use crate::under_way::{Gate, UnderWay};

pub(super) const LAWS: &[Law] = &[
    law!(
        a01_a_blob_is_named_by_its_content,
        "However content is cut into pieces, its name is its SHA-256, and it comes back byte for byte."
    ),
    law!(
        a01_ranges_of_a_blob_are_cut_at_its_end,
        "Each range of a blob gives the bytes that are there, and no error."
    ),
    law!(
        a01_the_same_content_twice_is_one_blob,
        "Content that is stored twice is listed once."
    ),
    law!(
        a01_blobs_are_listed_and_removed,
        "The list has each blob with its length; a removed one is gone; removing one that is not there is no error."
    ),
    law!(
        a01_blobs_belong_to_one_session,
        "A blob of one session is not another's, and goes when it is removed there alone."
    ),
    law!(
        a01_a_source_that_fails_leaves_nothing,
        "When the content's source fails, its error is given and no blob is left."
    ),
    law!(
        a01_a_dropped_put_leaves_all_or_nothing,
        "A put whose future is dropped after any number of polls leaves a whole blob or none."
    ),
    law!(
        a01_an_open_beside_a_put_takes_nothing_of_it,
        "A put during which another handle is opened and written to stores the whole blob, or fails and leaves nothing.",
        SeveralHandles
    ),
];

async fn listed(
    store: &crate::bench::Handle,
    session: &sessionlog_core::SessionRef,
) -> Held<Vec<(BlobId, u64)>> {
    let infos: Vec<BlobInfo> = store.list(session).try_collect().await?;
    let mut all: Vec<_> = infos.iter().map(|i| (i.id, i.len)).collect();
    all.sort_unstable();
    Ok(all)
}

async fn g_round_trip(bench: &Bench, size: usize, content: &[u8]) -> Held {
    let (store, session) = bench.session(&format!("s{size}-{}", content.len())).await?;
    let info = store.put(&session, pieces(content, size), None).await?;
    let expected = (BlobId::of(content), content.len() as u64);
    ensure_eq!(
        (info.id, info.len),
        expected,
        "name and length of content in pieces of {size}"
    );
    let back = store.blob(&session, info.id, 0..u64::MAX).await?;
    ensure!(
        back == content,
        "content in pieces of {size} came back changed"
    );
    let store = bench.reopen(store).await?;
    let back = store.blob(&session, info.id, 0..u64::MAX).await?;
    ensure!(
        back == content,
        "content in pieces of {size} came back changed after a reopen"
    );
    Ok(())
}

async fn a01_a_blob_is_named_by_its_content(bench: &Bench) -> Held {
    g_round_trip(bench, 1, b"").await?;
    g_round_trip(bench, 1, b"x").await?;
    g_round_trip(bench, 1, b"line\r\n\0\xff{\"a\":1}\n").await?;
    g_round_trip(bench, 70_000, &noise(3, 200_001)).await?;
    // Longer than any part that a store cuts content into.
    let long = bench
        .options
        .budget
        .of((1 << 20) + 1, (6 << 20) + 1, (6 << 20) + 1);
    let long = noise(4, usize::try_from(long).unwrap_or(0));
    g_round_trip(bench, 300_000, &long).await?;
    let (store, session) = bench.session("empty-pieces").await?;
    let parts = [&b""[..], b"ab", b"", b"c", b""].map(|p| Ok(Bytes::from_static(p)));
    let info = store
        .put(&session, stream::iter(parts).boxed(), None)
        .await?;
    ensure_eq!(
        (info.id, info.len),
        (BlobId::of(b"abc"), 3),
        "content with empty pieces"
    );
    Ok(())
}

async fn a01_ranges_of_a_blob_are_cut_at_its_end(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let content = noise(1, 100_000);
    let id = store
        .put(&session, pieces(&content, 33_333), None)
        .await?
        .id;
    for (from, to) in [
        (0, 100_000),
        (0, 1),
        (99_999, 100_000),
        (99_999, u64::MAX),
        (100_000, 100_001),
        (100_000, u64::MAX),
        (u64::MAX, u64::MAX),
        (5, 5),
        (9, 3),
        (65_535, 65_538),
        (4_093, 4_096),
        (4_096, 4_099),
        (65_533, 65_536),
        (65_536, 65_539),
        (65_534, 65_537),
        (65_537, 65_540),
        (12_345, 77_777),
    ] {
        let cut = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).min(content.len());
        let expected = content.get(cut(from)..cut(to)).unwrap_or_default();
        let back = store.blob(&session, id, from..to).await?;
        ensure_eq!(
            back.len(),
            expected.len(),
            "bytes in {from}..{to} of 100000"
        );
        ensure!(back == expected, "the bytes of {from}..{to} are others");
    }
    Ok(())
}

async fn a01_the_same_content_twice_is_one_blob(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let one = store.put(&session, pieces(b"same", 1), None).await?;
    let two = store.put(&session, pieces(b"same", 4), None).await?;
    ensure_eq!(two, one, "what the second put gave");
    ensure_eq!(
        listed(&store, &session).await?,
        vec![(one.id, 4)],
        "the list"
    );
    store.remove(&session, one.id, None).await?;
    ensure_eq!(
        listed(&store, &session).await?,
        vec![],
        "the list after one removal"
    );
    Ok(())
}

async fn a01_blobs_are_listed_and_removed(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    ensure_eq!(
        listed(&store, &session).await?,
        vec![],
        "the list of a new session"
    );
    let mut expected = Vec::new();
    for n in 0..9_u64 {
        let content = noise(n, usize::try_from(n).unwrap_or(0) * 100);
        let info = store.put(&session, pieces(&content, 64), None).await?;
        expected.push((info.id, n * 100));
    }
    expected.sort_unstable();
    ensure_eq!(listed(&store, &session).await?, expected, "the list");
    let removed: Vec<_> = expected.iter().map(|(id, _)| *id).collect();
    while let Some((id, len)) = expected.pop() {
        // What was read may be in some cache now.
        let back = store.blob(&session, id, 0..u64::MAX).await?;
        ensure_eq!(back.len() as u64, len, "the length of a listed blob");
        store.remove(&session, id, None).await?;
        ensure_eq!(
            listed(&store, &session).await?,
            expected,
            "the list after a removal"
        );
        let get = store.blob(&session, id, 0..u64::MAX).await;
        ensure_err!(get, ErrorKind::NotFound, "reading a removed blob");
        store.remove(&session, id, None).await?;
    }
    let store = bench.reopen(store).await?;
    ensure_eq!(
        listed(&store, &session).await?,
        vec![],
        "the list after all were removed, and a reopen"
    );
    for id in removed {
        let get = store.blob(&session, id, 0..u64::MAX).await;
        ensure_err!(get, ErrorKind::NotFound, "reading it after a reopen");
    }
    drop(store);
    long_list(bench).await
}

/// Lists more small blobs than a page may have, where they cost little.
async fn long_list(bench: &Bench) -> Held {
    let many = match bench.is_quick() {
        true => 70,
        false => bench.options.budget.of(12, 70, 1_100),
    };
    let place = bench.quick_place()?;
    let store = bench.open_at(&place).await?;
    let session = fresh("many")?;
    store.create(&session).await?;
    let mut expected = Vec::new();
    for n in 0..many {
        let info = store.put(&session, pieces(&n.to_be_bytes(), 8), None);
        expected.push((info.await?.id, 8));
    }
    expected.sort_unstable();
    ensure_eq!(
        listed(&store, &session).await?,
        expected,
        "the list of {many} blobs"
    );
    Ok(())
}

async fn a01_blobs_belong_to_one_session(bench: &Bench) -> Held {
    let (store, one) = bench.session("one").await?;
    let two = fresh("two")?;
    store.create(&two).await?;
    let id = store.put(&one, pieces(b"shared", 3), None).await?.id;
    let get = store.blob(&two, id, 0..9).await;
    ensure_err!(
        get,
        ErrorKind::NotFound,
        "reading a blob of another session"
    );
    ensure_eq!(
        listed(&store, &two).await?,
        vec![],
        "the list of the other session"
    );
    store.put(&two, pieces(b"shared", 3), None).await?;
    store.remove(&one, id, None).await?;
    let kept = store.blob(&two, id, 0..9).await?;
    ensure_eq!(kept, b"shared".to_vec(), "the other session's copy");
    Ok(())
}

async fn a01_a_source_that_fails_leaves_nothing(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    store.put(&session, pieces(b"kept", 3), None).await?;
    let before = Dump::of(&store).await?;
    let strays = store.strays().await?.len();
    let failing = stream::iter([
        Ok(Bytes::from_static(b"half")),
        Err(Error::unavailable("the source broke off")),
        Ok(Bytes::from_static(b"more")),
    ]);
    let put = store.put(&session, failing.boxed(), None).await;
    ensure_err!(put, ErrorKind::Unavailable, "a put whose source fails");
    before.same(&Dump::of(&store).await?, "after a put whose source failed")?;
    ensure_eq!(
        store.strays().await?.len(),
        strays,
        "strays after a put whose source failed"
    );
    Ok(())
}

/// Content whose every piece comes a poll late.
fn slow(content: &'static [u8]) -> Pieces {
    stream::iter(content.chunks(2))
        .then(|piece| async move {
            let mut late = false;
            poll_fn(|cx| {
                if std::mem::replace(&mut late, true) {
                    return Poll::Ready(());
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
            Ok(Bytes::from_static(piece))
        })
        .boxed()
}

async fn a01_a_dropped_put_leaves_all_or_nothing(bench: &Bench) -> Held {
    const CONTENT: &[u8] = b"0123456789";
    let (store, session) = bench.session("s").await?;
    for polls in 0..64 {
        let mut put = store.put(&session, slow(CONTENT), None);
        let mut left = polls;
        let finished = poll_fn(|cx| {
            if left == 0 {
                return Poll::Ready(false);
            }
            left -= 1;
            let polled = put.as_mut().poll(cx);
            cx.waker().wake_by_ref();
            polled.map(|_| true)
        })
        .await;
        drop(put);
        let list = listed(&store, &session).await?;
        let whole = vec![(BlobId::of(CONTENT), CONTENT.len() as u64)];
        ensure!(
            list == whole || list.is_empty() && !finished,
            "a put that was dropped after {polls} polls left {list:?}"
        );
        if !list.is_empty() {
            let back = store
                .blob(&session, BlobId::of(CONTENT), 0..u64::MAX)
                .await?;
            ensure_eq!(back, CONTENT.to_vec(), "the blob that a dropped put left");
        }
        store.remove(&session, BlobId::of(CONTENT), None).await?;
        if finished {
            break;
        }
    }
    Ok(())
}

async fn a01_an_open_beside_a_put_takes_nothing_of_it(bench: &Bench) -> Held {
    const REST: &[u8] = b"and done";
    let (a, session) = bench.session("s").await?;
    // What is long is kept somewhere before all of it is there.
    let len = bench.options.budget.of(70_000, 4_200_000, 4_200_000);
    let begun = noise(7, usize::try_from(len).unwrap_or(0));
    let content = [&begun, REST].concat();
    let gate = Gate::default();
    let put = a.put(&session, gate.between(begun, REST), None);
    let mut put = UnderWay::at(put, &gate).await;
    // Who opens a store, or writes to it, clears away what others have left.
    let b = put.beside(bench.open()).await?;
    let other = put.beside(b.put(&session, pieces(b"other", 2), None));
    let other = other.await?;
    put.beside(b.create(&fresh("t")?)).await?;
    let ended = put.end().await?;
    let mut expected = vec![(other.id, 5)];
    if let Ok(info) = ended {
        expected.push((BlobId::of(&content), content.len() as u64));
        let named = Some((info.id, info.len));
        ensure_eq!(named, expected.last().copied(), "the blob that was put");
        let back = b.blob(&session, info.id, 0..u64::MAX).await?;
        ensure!(back == content, "the blob came back changed");
    }
    expected.sort_unstable();
    for store in [&a, &b] {
        let listed = listed(store, &session).await?;
        ensure_eq!(listed, expected, "the blobs behind the put");
    }
    Ok(())
}
