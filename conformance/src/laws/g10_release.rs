//! G10: release is idempotent, and never frees a newer holder.

use sessionlog_core::{ErrorKind, Lease};

use crate::Law;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{Held, ensure_err};
use crate::law::law;
use crate::make::{events, request};

pub(super) const LAWS: &[Law] = &[
    law!(
        g10_release_twice_changes_nothing,
        "Giving a lease back a second time is no error and changes nothing."
    ),
    law!(
        g10_release_after_a_newer_grant_frees_nobody,
        "Giving back a lease, or dropping it, after a newer grant leaves the newer holder in place."
    ),
    law!(
        g10_release_after_a_forced_grant_frees_nobody,
        "The same after the lease was taken by force.",
        ForcedLeases
    ),
];

async fn still_held(store: &Handle, lease: &Lease) -> Held {
    let other = store.acquire(&lease.session, request("third")?).await;
    ensure_err!(other, ErrorKind::LeaseHeld { holder, .. } if holder.token == lease.token, "a request beside the newer holder");
    Ok(())
}

async fn g10_release_twice_changes_nothing(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let lease = store.lease(&session, "first").await?;
    store.release(&lease).await?;
    store.release(&lease).await?;
    drop(lease);
    let next = store.lease(&session, "second").await?;
    store.put_under(&session, events(0..1), &next).await?;
    Ok(())
}

async fn g10_release_after_a_newer_grant_frees_nobody(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let (stale, new) = store.stale_and_new(&session).await?;
    store.release(&stale).await?;
    still_held(&store, &new).await?;
    drop(stale);
    still_held(&store, &new).await?;
    store.put_under(&session, events(0..1), &new).await?;
    Ok(())
}

async fn g10_release_after_a_forced_grant_frees_nobody(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let first = store.lease(&session, "first").await?;
    let second = store.acquire(&session, request("second")?.forced()).await?;
    still_held(&store, &second).await?;
    store.release(&first).await?;
    still_held(&store, &second).await?;
    drop(first);
    still_held(&store, &second).await?;
    store.put_under(&session, events(0..1), &second).await?;
    Ok(())
}
