//! G17: delete is whole, and each life of an id is apart from the others.

use std::time::Duration;

use futures_util::TryStreamExt;
use sessionlog_core::{BlobId, BlobInfo, ErrorKind, Lease, Liveness, SeqNum, SessionRef, Snapshot};

use crate::Law;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{Held, ensure, ensure_eq, ensure_err};
use crate::dump::Dump;
use crate::files::Files;
use crate::law::law;
use crate::make::{FOLD, at, events, fresh, pieces, request, snapshot, with_data};

pub(super) const LAWS: &[Law] = &[
    law!(
        g17_a_deleted_session_is_gone,
        "After a delete nothing of the session can be read or listed, also after a reopen."
    ),
    law!(
        g17_no_byte_of_a_deleted_session_stays,
        "After a delete no file of the store holds its name, its events, snapshots or blobs.",
        Folder,
        ErasesBytes
    ),
    law!(
        g17_the_name_can_be_used_again,
        "The next life of an id starts empty, with the first position and no blob or snapshot of the one before, also where it is the same life made again."
    ),
    law!(
        g17_a_deleted_life_is_refused_by_the_next,
        "Every handle of a deleted life is refused by the next, which stays as it is."
    ),
    law!(
        g17_a_lease_of_a_deleted_life_frees_nobody,
        "Renewing, giving back or dropping a lease of a deleted life leaves the next life's holder in place."
    ),
    law!(
        g17_a_driven_session_is_not_deleted_by_others,
        "Deleting a session that somebody drives is refused with the holder; the holder itself can."
    ),
    law!(
        g17_delete_twice_is_not_found,
        "A second delete is `NotFound`."
    ),
];

/// A marker that stands in everything of the session and nowhere else.
const MARK: &str = "zq7-marker-of-the-deleted";

pub(super) async fn marked(store: &Handle, session: &SessionRef) -> Held<BlobId> {
    store.create(session).await?;
    store.put_events(session, events(0..2)).await?;
    store
        .put_events(session, vec![with_data(2, format!("\"{MARK}\""))])
        .await?;
    let sum = store.end(session).await?.sum;
    store.save(session, snapshot(3, sum, MARK), None).await?;
    Ok(store
        .put(session, pieces(MARK.as_bytes(), 7), None)
        .await?
        .id)
}

pub(super) async fn gone(store: &Handle, session: &SessionRef, when: &str) -> Held {
    let head = store.head(&session.id).await;
    ensure_err!(head, ErrorKind::NotFound, "the head {when}");
    let ids = store.ids().await?;
    ensure!(!ids.contains(&session.id), "the session is listed {when}");
    let scanned: Vec<(_, Snapshot)> = store.scan(&FOLD, 1).try_collect().await?;
    ensure!(
        scanned.iter().all(|(id, _)| *id != session.id),
        "a scan gives its snapshot {when}"
    );
    let verify = store.verify(&session.id).await;
    ensure_err!(verify, ErrorKind::NotFound, "verifying {when}");
    let read = store.log(session).await;
    ensure_err!(read, ErrorKind::NotFound, "reading {when}");
    let blob = store.blob(session, BlobId::of(MARK.as_bytes()), 0..9).await;
    ensure_err!(blob, ErrorKind::NotFound, "reading its blob {when}");
    Ok(())
}

async fn g17_a_deleted_session_is_gone(bench: &Bench) -> Held {
    let store = bench.open().await?;
    let (session, other) = (fresh("gone")?, fresh("stays")?);
    marked(&store, &other).await?;
    let before = Dump::of(&store).await?;
    let blob = marked(&store, &session).await?;
    // What was read may be in some cache now.
    store.blob(&session, blob, 0..9).await?;
    store.delete(&session, None).await?;
    gone(&store, &session, "after a delete").await?;
    let store = bench.reopen(store).await?;
    gone(&store, &session, "after a delete and a reopen").await?;
    before.same(&Dump::of(&store).await?, "after another was deleted")
}

async fn g17_no_byte_of_a_deleted_session_stays(bench: &Bench) -> Held {
    const NAME: &str = "a-name-that-goes";
    let store = bench.open().await?;
    let session = fresh(NAME)?;
    let blob = marked(&store, &session).await?;
    store.delete(&session, None).await?;
    let blob = blob.to_string();
    for text in [NAME, MARK, blob.as_str()] {
        let found = Files::below(bench.place.dir())?.find(text);
        ensure!(
            found.is_none(),
            "{text:?} still stands in {found:?} after the delete"
        );
    }
    drop(store);
    drop(bench.open().await?);
    let found = Files::below(bench.place.dir())?.find(NAME);
    ensure!(
        found.is_none(),
        "the name stands in {found:?} after a reopen"
    );
    Ok(())
}

async fn g17_the_name_can_be_used_again(bench: &Bench) -> Held {
    used_again(bench, "s", false).await?;
    used_again(bench, "copy", true).await
}

/// A name is used again: for another life, or for the same one, as a copy that is made again.
async fn used_again(bench: &Bench, name: &str, same: bool) -> Held {
    let store = bench.open().await?;
    let first = fresh(name)?;
    let blob = marked(&store, &first).await?;
    store.blob(&first, blob, 0..9).await?;
    let lease = store.lease(&first, "driver").await?;
    store.delete(&first, Some(lease.token)).await?;
    let second = if same { first.clone() } else { fresh(name)? };
    store.create(&second).await?;
    ensure_eq!(
        store.end(&second).await?.tail,
        at(0),
        "the tail of the next life"
    );
    ensure_eq!(
        store.log(&second).await?.len(),
        0,
        "events of the next life"
    );
    let blobs: Vec<BlobInfo> = store.list(&second).try_collect().await?;
    ensure_eq!(blobs, vec![], "blobs of the next life");
    let read = store.blob(&second, blob, 0..9).await;
    ensure_err!(read, ErrorKind::NotFound, "the blob of the life before");
    let latest = store.latest(&second, &FOLD, 1, SeqNum::MAX).await?;
    ensure_eq!(latest, None, "a snapshot of the next life");
    ensure_eq!(
        store.holder(&second).await?,
        Liveness::Idle,
        "who drives the next life"
    );
    let lease = store.lease(&second, "next").await?;
    ensure_eq!(lease.token.get(), 1, "the next life's first token");
    store.release(&lease).await?;
    // The ids of the life before are free.
    let range = store.put_events(&second, events(0..2)).await?;
    ensure_eq!(
        range.start,
        at(0),
        "where the next life's first append starts"
    );
    drop(lease);
    let store = bench.reopen(store).await?;
    ensure_eq!(
        store.head(&first.id).await?.0,
        second,
        "the life after a reopen"
    );
    ensure_eq!(store.log(&second).await?.len(), 2, "events after a reopen");
    Ok(())
}

async fn g17_a_deleted_life_is_refused_by_the_next(bench: &Bench) -> Held {
    let store = bench.open().await?;
    let old = fresh("s")?;
    let blob = marked(&store, &old).await?;
    store.delete(&old, None).await?;
    let new = fresh("s")?;
    marked(&store, &new).await?;
    let before = Dump::of(&store).await?;
    let append = store.put_events(&old, events(5..6)).await;
    ensure_err!(append, ErrorKind::NotFound, "an append of the old life");
    let repeat = store.put_events(&old, events(0..2)).await;
    ensure_err!(
        repeat,
        ErrorKind::NotFound,
        "a repeated append of the old life"
    );
    let read = store.log(&old).await;
    ensure_err!(read, ErrorKind::NotFound, "a read of the old life");
    let changed = store.changed(&old, SeqNum::ZERO).await;
    ensure_err!(changed, ErrorKind::NotFound, "waiting on the old life");
    let save = store
        .save(
            &old,
            snapshot(1, sessionlog_core::Sum::from_u64(1), "x"),
            None,
        )
        .await;
    ensure_err!(save, ErrorKind::NotFound, "a snapshot of the old life");
    let latest = store.latest(&old, &FOLD, 1, SeqNum::MAX).await;
    ensure_err!(
        latest,
        ErrorKind::NotFound,
        "the latest snapshot of the old life"
    );
    let acquire = store.acquire(&old, request("x")?).await;
    ensure_err!(acquire, ErrorKind::NotFound, "a lease of the old life");
    let holder = store.holder(&old).await;
    ensure_err!(holder, ErrorKind::NotFound, "the probe of the old life");
    let put = store.put(&old, pieces(b"x", 1), None).await;
    ensure_err!(put, ErrorKind::NotFound, "a blob of the old life");
    let get = store.blob(&old, blob, 0..9).await;
    ensure_err!(get, ErrorKind::NotFound, "reading a blob of the old life");
    let list: Result<Vec<_>, _> = store.list(&old).try_collect().await;
    ensure_err!(
        list,
        ErrorKind::NotFound,
        "listing the blobs of the old life"
    );
    let remove = store.remove(&old, blob, None).await;
    ensure_err!(
        remove,
        ErrorKind::NotFound,
        "removing a blob of the old life"
    );
    let delete = store.delete(&old, None).await;
    ensure_err!(delete, ErrorKind::NotFound, "deleting the old life");
    before.same(
        &Dump::of(&store).await?,
        "after all that the old life tried",
    )
}

async fn held_by(store: &Handle, lease: &Lease) -> Held {
    let other = store.acquire(&lease.session, request("other")?).await;
    ensure_err!(other, ErrorKind::LeaseHeld { holder, .. } if holder.owner == lease.owner, "a request beside the next life's holder");
    Ok(())
}

async fn g17_a_lease_of_a_deleted_life_frees_nobody(bench: &Bench) -> Held {
    let (store, old) = bench.session("s").await?;
    let mut late = store.lease(&old, "late").await?;
    store.delete(&old, Some(late.token)).await?;
    let new = fresh("s")?;
    store.create(&new).await?;
    let lease = store.lease(&new, "new").await?;
    let renew = store.renew(&mut late, Duration::from_secs(30)).await;
    ensure_err!(
        renew,
        ErrorKind::NotFound,
        "renewing a lease of the deleted life"
    );
    held_by(&store, &lease).await?;
    // Giving it back may say that it is gone, or nothing.
    drop(store.release(&late).await);
    held_by(&store, &lease).await?;
    drop(late);
    held_by(&store, &lease).await?;
    store.put_under(&new, events(0..1), &lease).await?;
    Ok(())
}

async fn g17_a_driven_session_is_not_deleted_by_others(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    store.put_events(&session, events(0..2)).await?;
    let lease = store.lease(&session, "driver").await?;
    let before = Dump::of(&store).await?;
    let delete = store.delete(&session, None).await;
    ensure_err!(delete, ErrorKind::LeaseHeld { holder, .. } if holder.owner == lease.owner && holder.token == lease.token, "a delete beside a driver");
    before.same(&Dump::of(&store).await?, "after the refused delete")?;
    store.delete(&session, Some(lease.token)).await?;
    ensure_eq!(
        store.ids().await?.len(),
        0,
        "sessions after the driver's delete"
    );
    let again = fresh("s")?;
    store.create(&again).await?;
    let lease = store.lease(&again, "driver").await?;
    store.release(&lease).await?;
    store.delete(&again, None).await?;
    Ok(())
}

async fn g17_delete_twice_is_not_found(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    store.delete(&session, None).await?;
    let again = store.delete(&session, None).await;
    ensure_err!(again, ErrorKind::NotFound, "a second delete");
    let store = bench.reopen(store).await?;
    let again = store.delete(&session, None).await;
    ensure_err!(again, ErrorKind::NotFound, "a second delete after a reopen");
    Ok(())
}
