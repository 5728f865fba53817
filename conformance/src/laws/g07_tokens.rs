//! G7: tokens grow with every grant.

use crate::Law;
use crate::bench::{Ask, Bench};
use crate::breach::{Held, ensure};
use crate::law::law;
use crate::make::request;
use sessionlog_core::FencingToken;

pub(super) const LAWS: &[Law] = &[
    law!(
        g07_tokens_grow_with_every_grant,
        "Each grant has a larger token than all before it, however the one before ended."
    ),
    law!(
        g07_tokens_grow_over_a_reopen,
        "The first grant after a reopen has a larger token than all before it."
    ),
    law!(
        g07_tokens_grow_by_force,
        "A grant by force has a larger token than the one that it takes the lease from.",
        ForcedLeases
    ),
];

fn grown(before: FencingToken, now: FencingToken) -> Held {
    ensure!(
        now > before,
        "a grant has token {now}, the one before it had {before}"
    );
    Ok(())
}

async fn g07_tokens_grow_with_every_grant(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let mut newest = FencingToken::NONE;
    for n in 0..6 {
        let lease = store.lease(&session, &format!("owner {n}")).await?;
        grown(newest, lease.token)?;
        newest = lease.token;
        store.release(&lease).await?;
    }
    Ok(())
}

async fn g07_tokens_grow_over_a_reopen(bench: &Bench) -> Held {
    let (mut store, session) = bench.session("s").await?;
    let mut newest = FencingToken::NONE;
    for _ in 0..4 {
        let lease = store.lease(&session, "somebody").await?;
        grown(newest, lease.token)?;
        newest = lease.token;
        store.release(&lease).await?;
        drop(lease);
        store = bench.reopen(store).await?;
    }
    Ok(())
}

async fn g07_tokens_grow_by_force(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let mut held = vec![store.lease(&session, "first").await?];
    for n in 0..4 {
        let forced = request(&format!("force {n}"))?.forced();
        let lease = store.acquire(&session, forced).await?;
        let newest = held.iter().map(|l| l.token).max().unwrap_or_default();
        grown(newest, lease.token)?;
        held.push(lease);
    }
    Ok(())
}
