//! G9: one holder at a time, and an honest answer about who it is.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use sessionlog_core::{ErrorKind, Lease, Liveness, SessionRef};

use crate::Law;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{Held, breach, ensure, ensure_eq, ensure_err, shown};
use crate::law::law;
use crate::make::request;

pub(super) const LAWS: &[Law] = &[
    law!(
        g09_the_second_is_told_who_holds_the_lease,
        "Who asks for a lease that is held is refused with the holder's name and token."
    ),
    law!(
        g09_the_second_handle_is_told_who_holds_the_lease,
        "The same from another handle.",
        SeveralHandles
    ),
    law!(
        g09_of_n_racing_requests_one_is_granted,
        "Of many concurrent requests for one lease, of tasks or of threads, exactly one is granted."
    ),
    law!(
        g09_leases_of_two_sessions_are_apart,
        "A lease of one session keeps nobody from another's."
    ),
    law!(
        g09_a_dropped_lease_is_free_at_once,
        "A lease whose value was dropped can be taken at once.",
        PromptLeases
    ),
    law!(
        g09_a_renewed_lease_is_still_held,
        "Renewing keeps the lease and its token; others are still refused."
    ),
    law!(
        g09_the_probe_tells_who_drives,
        "The probe says idle, names the holder while there is one, and says idle again."
    ),
    law!(
        g09_the_probe_takes_nothing,
        "Probes before, during and after a request never make it fail, and leave the lease as it is."
    ),
];

/// A breach unless the holder that is told is the lease's.
fn told(holder: &sessionlog_core::Holder, lease: &Lease) -> Held {
    let told = (holder.owner.as_str(), holder.token);
    ensure_eq!(
        told,
        (lease.owner.as_str(), lease.token),
        "the holder that is told"
    );
    Ok(())
}

async fn refused(store: &Handle, lease: &Lease) -> Held {
    let second = store.acquire(&lease.session, request("second")?).await;
    match second.as_ref().map_err(|e| e.kind().clone()) {
        Err(ErrorKind::LeaseHeld { holder, .. }) => told(&holder, lease),
        _ => Err(breach(format!(
            "a request for a lease that is held\nexpected: LeaseHeld\nobserved: {}",
            shown(&second)
        ))),
    }
}

async fn g09_the_second_is_told_who_holds_the_lease(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let lease = store.lease(&session, "host a, pid 1 \u{e9}").await?;
    refused(&store, &lease).await?;
    refused(&store, &lease).await?;
    store.release(&lease).await?;
    let next = store.lease(&session, "second").await?;
    refused(&store, &next).await
}

async fn g09_the_second_handle_is_told_who_holds_the_lease(bench: &Bench) -> Held {
    let (a, session) = bench.session("s").await?;
    let b = bench.open().await?;
    let lease = a.lease(&session, "first").await?;
    refused(&b, &lease).await?;
    match b.holder(&session).await? {
        Liveness::Live(Some(holder)) => told(&holder, &lease)?,
        other => {
            return Err(breach(format!(
                "the probe of the other handle says {other:?}"
            )));
        }
    }
    a.release(&lease).await?;
    let next = b.lease(&session, "second").await?;
    ensure!(
        next.token > lease.token,
        "the other handle's grant has no larger token"
    );
    refused(&a, &next).await
}

/// One of several requests; whether it was granted, and then held until all have an answer.
async fn asks(
    store: Handle,
    session: SessionRef,
    n: u64,
    granted: &Mutex<Vec<Lease>>,
) -> Held<bool> {
    let wanted = request(&format!("owner {n}"))?;
    match store.acquire(&session, wanted).await {
        Ok(lease) => {
            let mut granted = granted.lock().unwrap_or_else(PoisonError::into_inner);
            granted.push(lease);
            Ok(true)
        }
        Err(error) if matches!(error.kind(), ErrorKind::LeaseHeld { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

async fn g09_of_n_racing_requests_one_is_granted(bench: &Bench) -> Held {
    const ASK: u64 = 8;
    let (store, session) = bench.session("s").await?;
    for on_threads in [false, true] {
        let leases = Mutex::default();
        let requests = (0..ASK).map(|n| asks(Arc::clone(&store), session.clone(), n, &leases));
        let outcomes = if on_threads {
            bench.on_threads(requests)
        } else {
            join_all(requests).await
        };
        let mut granted = 0;
        for outcome in outcomes {
            granted += u64::from(outcome?);
        }
        ensure_eq!(granted, 1, "how many of {ASK} requests were granted");
        for lease in leases.into_inner().unwrap_or_else(PoisonError::into_inner) {
            store.release(&lease).await?;
        }
    }
    Ok(())
}

async fn g09_leases_of_two_sessions_are_apart(bench: &Bench) -> Held {
    let (store, one) = bench.session("one").await?;
    let two = crate::make::fresh("two")?;
    store.create(&two).await?;
    let first = store.lease(&one, "first").await?;
    let second = store.lease(&two, "second").await?;
    store.release(&second).await?;
    refused(&store, &first).await
}

async fn g09_a_dropped_lease_is_free_at_once(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    for n in 0..4 {
        let lease = store.lease(&session, &format!("owner {n}")).await?;
        refused(&store, &lease).await?;
        drop(lease);
        let probe = store.holder(&session).await?;
        ensure_eq!(
            probe,
            Liveness::Idle,
            "the probe after the lease was dropped"
        );
    }
    Ok(())
}

async fn g09_a_renewed_lease_is_still_held(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let mut lease = store.lease(&session, "first").await?;
    let token = lease.token;
    for _ in 0..3 {
        store.renew(&mut lease, Duration::from_secs(60)).await?;
        ensure_eq!(lease.token, token, "the token of a renewed lease");
        refused(&store, &lease).await?;
    }
    store
        .put_under(&session, crate::make::events(0..1), &lease)
        .await?;
    Ok(())
}

async fn g09_the_probe_tells_who_drives(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    ensure_eq!(
        store.holder(&session).await?,
        Liveness::Idle,
        "the probe of a new session"
    );
    for owner in ["first", "second"] {
        let lease = store.lease(&session, owner).await?;
        match store.holder(&session).await? {
            Liveness::Live(Some(holder)) => told(&holder, &lease)?,
            other => return Err(breach(format!("the probe of a held lease says {other:?}"))),
        }
        store.release(&lease).await?;
        let probe = store.holder(&session).await?;
        ensure_eq!(
            probe,
            Liveness::Idle,
            "the probe after the lease was given back"
        );
    }
    Ok(())
}

async fn g09_the_probe_takes_nothing(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    for n in 0..5 {
        store.holder(&session).await?;
        // Probes that are on their way, or were given up, while the request comes.
        let mut on_its_way = store.holder(&session);
        let early = on_its_way.as_mut().now_or_never();
        drop(store.holder(&session));
        let lease = store.lease(&session, &format!("owner {n}")).await?;
        if early.is_none() {
            on_its_way.await?;
        } else {
            drop(on_its_way);
        }
        store.holder(&session).await?;
        refused(&store, &lease).await?;
        store.release(&lease).await?;
    }
    let free = store.acquire(&session, request("last")?).await;
    ensure!(
        free.is_ok(),
        "a request after probes was refused: {}",
        shown(&free)
    );
    let held = store.acquire(&session, request("more")?).await;
    ensure_err!(
        held,
        ErrorKind::LeaseHeld { .. },
        "a request beside the last grant"
    );
    Ok(())
}
