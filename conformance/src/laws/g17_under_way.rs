//! G17: what a life has begun ends with it.

use futures_util::TryStreamExt;
use sessionlog_core::{BlobInfo, ErrorKind};

use crate::Law;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{Held, ensure_eq, ensure_err};
use crate::law::law;
use crate::make::{at, events, fresh, request};
use crate::under_way::{Gate, POLLS, UnderWay};

pub(super) const LAWS: &[Law] = &[
    law!(
        g17_what_is_under_way_stays_in_its_life,
        "An append or a blob that is under way while its session is deleted and made again leaves nothing in the next life."
    ),
    law!(
        g17_a_delete_under_way_ends_no_lease,
        "A delete that is under way when somebody takes the lease comes before the grant, which finds no session, or is refused."
    ),
];

async fn g17_what_is_under_way_stays_in_its_life(bench: &Bench) -> Held {
    let store = bench.open().await?;
    for polls in POLLS {
        let old = fresh("s")?;
        store.create(&old).await?;
        let append = store.put_events(&old, events(0..2));
        let mut append = UnderWay::polled(append, polls).await;
        let ended = append.is_done();
        let new = append.beside(next_life(&store, &old)).await?;
        let appended = append.end().await?;
        if appended.is_err() {
            ensure_err!(
                appended,
                ErrorKind::NotFound,
                "an append that was polled {polls} times before its session was deleted"
            );
        }
        let tail = store.end(&new).await?.tail;
        ensure_eq!(
            tail,
            at(0),
            "the tail of the next life, behind an append of {polls} polls"
        );
        store.delete(&new, None).await?;
        if ended {
            break;
        }
    }
    let old = fresh("s")?;
    store.create(&old).await?;
    let gate = Gate::default();
    let content = gate.between(&b"begun"[..], b"and done");
    let mut put = UnderWay::at(store.put(&old, content, None), &gate).await;
    let new = put.beside(next_life(&store, &old)).await?;
    let before_it = !put.stood_still();
    let ended = put.end().await?;
    if ended.is_err() || !before_it {
        ensure_err!(
            ended,
            ErrorKind::NotFound,
            "a blob whose content still came when its session was deleted"
        );
    }
    let blobs: Vec<BlobInfo> = store.list(&new).try_collect().await?;
    ensure_eq!(blobs, vec![], "the blobs of the next life");
    Ok(())
}

/// Deletes a session, and makes it again as another life.
async fn next_life(
    store: &Handle,
    old: &sessionlog_core::SessionRef,
) -> Held<sessionlog_core::SessionRef> {
    store.delete(old, None).await?;
    let new = fresh(old.id.as_str())?;
    store.create(&new).await?;
    Ok(new)
}

async fn g17_a_delete_under_way_ends_no_lease(bench: &Bench) -> Held {
    let store = bench.open().await?;
    for polls in POLLS {
        let session = fresh(&format!("s-{polls}"))?;
        store.create(&session).await?;
        store.put_events(&session, events(0..2)).await?;
        let mut delete = UnderWay::polled(store.delete(&session, None), polls).await;
        let ended = delete.is_done();
        let granted = store.acquire(&session, request("driver")?);
        match delete.beside(granted).await {
            Ok(lease) => {
                ensure_err!(delete.end().await?, ErrorKind::LeaseHeld { holder, .. } if holder.token == lease.token, "a delete that was polled {polls} times before somebody took the lease");
                store.put_under(&session, events(2..3), &lease).await?;
                store.release(&lease).await?;
            }
            refused => {
                ensure_err!(refused, ErrorKind::NotFound, "a request behind a delete");
                delete.end().await??;
            }
        }
        if ended {
            break;
        }
    }
    Ok(())
}
