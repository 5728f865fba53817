//! G9: what a lease says of time.

use std::time::Duration;

use futures_timer::Delay;
use sessionlog_core::{ErrorKind, Holder, Lease, Liveness, SessionRef, Timestamp};

use crate::Law;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{End, Held, breach, ensure, ensure_eq, ensure_err, shown};
use crate::law::law;
use crate::make::{fresh, request};

pub(super) const LAWS: &[Law] = &[
    law!(
        g09_a_lease_lasts_as_long_as_it_says,
        "A lease that says when it lapses is held until then, renewed ones until the later time, and is free for all behind it; any other outlasts its time to live."
    ),
    law!(
        g09_a_holder_is_told_with_the_time_of_its_grant,
        "Probes and refusals tell when the lease was granted, all the same, also once it was renewed."
    ),
];

/// A grant to somebody, for so many milliseconds.
async fn granted(store: &Handle, session: &SessionRef, ttl: u64) -> sessionlog_core::Result<Lease> {
    let owner = sessionlog_core::Owner::new(format!("for {ttl} ms"))?;
    let request = sessionlog_core::LeaseRequest::new(owner);
    store
        .acquire(session, request.with_ttl(Duration::from_millis(ttl)))
        .await
}

/// A breach unless others are told that this lease is held.
async fn is_held(store: &Handle, lease: &Lease, when: &str) -> Held {
    let other = store.acquire(&lease.session, request("other")?).await;
    ensure_err!(other, ErrorKind::LeaseHeld { holder, expires_at } if holder.token == lease.token && expires_at.is_some() == lease.expires_at.is_some(), "a request {when}");
    let probe = store.holder(&lease.session).await?;
    ensure!(
        matches!(&probe, Liveness::Live(Some(holder)) if holder.token == lease.token),
        "the probe {when} says {probe:?}"
    );
    let delete = store.delete(&lease.session, None).await;
    ensure_err!(delete, ErrorKind::LeaseHeld { .. }, "a delete {when}");
    Ok(())
}

/// Asks again until the answer is there, for as long as what nobody wakes is waited for.
async fn until<T>(
    bench: &Bench,
    what: &str,
    mut ask: impl AsyncFnMut() -> Held<Option<T>>,
) -> Held<T> {
    for _ in 0..bench.options.patience.div_ceil(2) {
        if let Some(answer) = ask().await? {
            return Ok(answer);
        }
        Delay::new(Duration::from_millis(10)).await;
    }
    Err(breach(format!("it never happened that {what}")))
}

/// Waits until a clock shows a time.
async fn wait_for(time: Timestamp) {
    while let Ok(left) = u64::try_from(time.as_micros() - Timestamp::now().as_micros()) {
        Delay::new(Duration::from_micros(left + 1)).await;
    }
}

async fn g09_a_lease_lasts_as_long_as_it_says(bench: &Bench) -> Held {
    let store = bench.open().await?;
    for ttl in [60, 240, 960] {
        let session = fresh(&format!("s-{ttl}"))?;
        store.create(&session).await?;
        let lease = granted(&store, &session, 10).await?;
        if lease.expires_at.is_none() {
            Delay::new(Duration::from_millis(15)).await;
            let when = "behind the time to live of a lease that has no end";
            return is_held(&store, &lease, when).await;
        }
        if lapses(bench, &store, &lease, ttl).await? {
            return Ok(());
        }
    }
    Err(End::NotMeasured(
        "the machine stood still for longer than leases last".into(),
    ))
}

/// Whether it could be seen that leases last as long as they say. Nobody gives any of them back.
async fn lapses(bench: &Bench, store: &Handle, short: &Lease, ttl: u64) -> Held<bool> {
    let session = &short.session;
    let asked = async || match granted(store, session, ttl).await {
        Err(error) if matches!(error.kind(), ErrorKind::LeaseHeld { .. }) => Ok(None),
        granted => Ok(Some(granted?)),
    };
    let mut lease = until(bench, "a lease that lapsed was granted to another", asked).await?;
    ensure!(
        lease.token > short.token,
        "a lease that lapsed was granted with its old token"
    );
    let first = lease.expires_at;
    store
        .renew(&mut lease, Duration::from_millis(ttl * 3))
        .await?;
    let (Some(first), Some(last)) = (first, lease.expires_at) else {
        return Err(breach(
            "of two grants one says when it lapses, and one does not",
        ));
    };
    ensure!(
        first < last,
        "a renewed lease lapses at {last}, and at {first} before it was renewed"
    );
    wait_for(first).await;
    let held = is_held(store, &lease, "behind the first end of a renewed lease").await;
    if Timestamp::now() >= last {
        return Ok(false);
    }
    held?;
    wait_for(last).await;
    let idle = async || {
        let probe = store.holder(session).await?;
        Ok((probe == Liveness::Idle).then_some(()))
    };
    until(bench, "the probe of a lease that lapsed said idle", idle).await?;
    let deleted = store.delete(session, None).await;
    ensure!(
        deleted.is_ok(),
        "a delete behind the end of the lease was refused: {}",
        shown(&deleted)
    );
    Ok(true)
}

async fn probed(store: &Handle, session: &SessionRef) -> Held<Holder> {
    match store.holder(session).await? {
        Liveness::Live(Some(holder)) => Ok(holder),
        other => Err(breach(format!("the probe of a held lease says {other:?}"))),
    }
}

async fn g09_a_holder_is_told_with_the_time_of_its_grant(bench: &Bench) -> Held {
    // Clocks are set now and then, but not by as much while this runs.
    const MICROS: i64 = 3_600_000_000;
    let (store, session) = bench.session("s").await?;
    for owner in ["first", "second"] {
        let mut lease = store.lease(&session, owner).await?;
        let told = probed(&store, &session).await?;
        let ago = Timestamp::now().as_micros() - told.since.as_micros();
        ensure!(
            ago.abs() < MICROS,
            "a lease that was just granted is told since {}",
            told.since
        );
        store.renew(&mut lease, Duration::from_secs(60)).await?;
        let second = store.acquire(&session, request("other")?).await;
        ensure_err!(second, ErrorKind::LeaseHeld { holder, .. } if *holder == told, "a request beside {told:?}");
        ensure_eq!(
            probed(&store, &session).await?,
            told,
            "the holder that a later probe tells"
        );
        store.release(&lease).await?;
    }
    Ok(())
}
