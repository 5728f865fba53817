//! G8: once a token was granted, nothing with a smaller one takes effect.

use std::time::Duration;

use sessionlog_core::{AppendCondition, BlobId, ErrorKind, FencingToken, Lease, SessionRef};

use crate::Law;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{Held, ensure_eq, ensure_err};
use crate::dump::Dump;
use crate::law::law;
use crate::make::{events, pieces, request, snapshot, span};

pub(super) const LAWS: &[Law] = &[
    law!(
        g08_fencing_stale_append_is_refused,
        "An append under a token that is not the newest is refused with the newest, and changes nothing."
    ),
    law!(
        g08_fencing_stale_snapshot_is_refused,
        "The same for a snapshot."
    ),
    law!(
        g08_fencing_stale_put_is_refused,
        "The same for storing a blob."
    ),
    law!(
        g08_fencing_stale_remove_is_refused,
        "The same for removing a blob."
    ),
    law!(
        g08_fencing_stale_delete_is_refused,
        "The same for deleting the session."
    ),
    law!(
        g08_fencing_stale_renew_is_refused,
        "The same for renewing the lease."
    ),
    law!(
        g08_fencing_outlives_a_reopen,
        "A stale token is refused after a reopen, and the newest still works."
    ),
    law!(
        g08_fencing_outlives_the_lease,
        "A stale token is refused also when nobody holds the lease any more."
    ),
    law!(
        g08_a_grant_on_another_handle_fences_the_holder,
        "A lease that another handle grants fences the one before in everything, also on the handle that granted that one.",
        SeveralHandles
    ),
    law!(
        g08_a_forced_grant_fences_the_holder,
        "A lease that is taken by force fences the one that it was taken from, at once and in everything.",
        ForcedLeases
    ),
    law!(
        g08_a_token_that_never_was_is_refused,
        "A token larger than any that was granted is invalid input, everywhere."
    ),
    law!(
        g08_plain_appends_go_on_beside_a_lease,
        "Appends without a token work while somebody drives the session."
    ),
];

/// A session with an event, a blob, a stale lease and the newest one.
struct Scene {
    store: Handle,
    session: SessionRef,
    blob: BlobId,
    stale: Lease,
    new: Lease,
}

async fn scene(bench: &Bench) -> Held<Scene> {
    let (store, session) = bench.session("s").await?;
    store.put_events(&session, events(0..2)).await?;
    let blob = store.put(&session, pieces(b"kept", 9), None).await?.id;
    let (stale, new) = store.stale_and_new(&session).await?;
    Ok(Scene {
        store,
        session,
        blob,
        stale,
        new,
    })
}

async fn g08_fencing_stale_append_is_refused(bench: &Bench) -> Held {
    let s = scene(bench).await?;
    let before = Dump::of(&s.store).await?;
    let refused = s.store.put_under(&s.session, events(2..4), &s.stale).await;
    ensure_err!(refused, ErrorKind::Fenced { token } if *token == s.new.token, "an append under a stale token");
    before.same(&Dump::of(&s.store).await?, "after a fenced append")?;
    let range = s.store.put_under(&s.session, events(2..4), &s.new).await?;
    ensure_eq!(range, span(2, 4), "the same append under the newest token");
    Ok(())
}

async fn g08_fencing_stale_snapshot_is_refused(bench: &Bench) -> Held {
    let s = scene(bench).await?;
    let log = s.store.end(&s.session).await?.sum;
    let before = Dump::of(&s.store).await?;
    let (stale, new) = (Some(s.stale.token), Some(s.new.token));
    let refused = s
        .store
        .save(&s.session, snapshot(2, log, "old"), stale)
        .await;
    ensure_err!(refused, ErrorKind::Fenced { token } if *token == s.new.token, "a snapshot under a stale token");
    before.same(&Dump::of(&s.store).await?, "after a fenced snapshot")?;
    s.store
        .save(&s.session, snapshot(2, log, "new"), new)
        .await?;
    Ok(())
}

async fn g08_fencing_stale_put_is_refused(bench: &Bench) -> Held {
    let s = scene(bench).await?;
    let before = Dump::of(&s.store).await?;
    let (stale, new) = (Some(s.stale.token), Some(s.new.token));
    let refused = s.store.put(&s.session, pieces(b"late", 9), stale).await;
    ensure_err!(refused, ErrorKind::Fenced { token } if *token == s.new.token, "a blob under a stale token");
    before.same(&Dump::of(&s.store).await?, "after a fenced blob")?;
    s.store.put(&s.session, pieces(b"late", 9), new).await?;
    Ok(())
}

async fn g08_fencing_stale_remove_is_refused(bench: &Bench) -> Held {
    let s = scene(bench).await?;
    let before = Dump::of(&s.store).await?;
    let (stale, new) = (Some(s.stale.token), Some(s.new.token));
    let refused = s.store.remove(&s.session, s.blob, stale).await;
    ensure_err!(refused, ErrorKind::Fenced { token } if *token == s.new.token, "removing a blob under a stale token");
    before.same(&Dump::of(&s.store).await?, "after a fenced removal")?;
    s.store.remove(&s.session, s.blob, new).await?;
    Ok(())
}

async fn g08_fencing_stale_delete_is_refused(bench: &Bench) -> Held {
    let s = scene(bench).await?;
    let before = Dump::of(&s.store).await?;
    let refused = s.store.delete(&s.session, Some(s.stale.token)).await;
    ensure_err!(refused, ErrorKind::Fenced { token } if *token == s.new.token, "a delete under a stale token");
    before.same(&Dump::of(&s.store).await?, "after a fenced delete")
}

async fn g08_fencing_stale_renew_is_refused(bench: &Bench) -> Held {
    let mut s = scene(bench).await?;
    let ttl = Duration::from_secs(30);
    let refused = s.store.renew(&mut s.stale, ttl).await;
    ensure_err!(refused, ErrorKind::Fenced { token } if *token == s.new.token, "renewing a stale lease");
    s.store.renew(&mut s.new, ttl).await?;
    let again = s.store.put_under(&s.session, events(2..3), &s.stale).await;
    ensure_err!(
        again,
        ErrorKind::Fenced { .. },
        "an append under the lease that could not be renewed"
    );
    Ok(())
}

/// A breach unless all that is tried under a stale token is refused with the newest, and changes
/// nothing. The session has two events.
async fn late(
    store: &Handle,
    (session, blob): (&SessionRef, BlobId),
    (stale, newest): (FencingToken, FencingToken),
    when: &str,
) -> Held {
    let log = store.end(session).await?.sum;
    let before = Dump::of(store).await?;
    let (old, with) = (Some(stale), AppendCondition::with(stale));
    let append = store.append(session, events(7..8), with).await;
    ensure_err!(append, ErrorKind::Fenced { token } if *token == newest, "an append under a stale token, {when}");
    let save = store.save(session, snapshot(2, log, "x"), old).await;
    ensure_err!(save, ErrorKind::Fenced { token } if *token == newest, "a snapshot under a stale token, {when}");
    let put = store.put(session, pieces(b"x", 1), old).await;
    ensure_err!(put, ErrorKind::Fenced { token } if *token == newest, "a blob under a stale token, {when}");
    let remove = store.remove(session, blob, old).await;
    ensure_err!(remove, ErrorKind::Fenced { token } if *token == newest, "removing a blob under a stale token, {when}");
    let delete = store.delete(session, old).await;
    ensure_err!(delete, ErrorKind::Fenced { token } if *token == newest, "a delete under a stale token, {when}");
    before.same(
        &Dump::of(store).await?,
        "after all that was tried under a stale token",
    )
}

async fn g08_fencing_outlives_a_reopen(bench: &Bench) -> Held {
    let Scene {
        store,
        session,
        blob,
        stale,
        new,
    } = scene(bench).await?;
    let (stale, newest) = (stale.token, new.token);
    store.release(&new).await?;
    drop(new);
    let store = bench.reopen(store).await?;
    let tokens = (stale, newest);
    late(&store, (&session, blob), tokens, "after a reopen").await?;
    let under = AppendCondition::with(newest);
    store.append(&session, events(2..3), under).await?;
    Ok(())
}

async fn g08_fencing_outlives_the_lease(bench: &Bench) -> Held {
    let s = scene(bench).await?;
    s.store.release(&s.new).await?;
    let tokens = (s.stale.token, s.new.token);
    let when = "while nobody holds the lease";
    late(&s.store, (&s.session, s.blob), tokens, when).await
}

async fn g08_a_grant_on_another_handle_fences_the_holder(bench: &Bench) -> Held {
    let (a, session) = bench.session("s").await?;
    let b = bench.open().await?;
    let mut first = a.lease(&session, "first").await?;
    a.put_under(&session, events(0..2), &first).await?;
    let blob = a.put(&session, pieces(b"kept", 9), Some(first.token));
    let blob = blob.await?.id;
    a.release(&first).await?;
    let second = b.lease(&session, "second").await?;
    let tokens = (first.token, second.token);
    late(&a, (&session, blob), tokens, "on the handle before").await?;
    let renew = a.renew(&mut first, Duration::from_secs(9)).await;
    ensure_err!(
        renew,
        ErrorKind::Fenced { .. },
        "a renewal behind another handle's grant"
    );
    a.put_under(&session, events(2..3), &second).await?;
    Ok(())
}

async fn g08_a_forced_grant_fences_the_holder(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let mut first = store.lease(&session, "hangs").await?;
    store.put_under(&session, events(0..2), &first).await?;
    let blob = store.put(&session, pieces(b"kept", 9), Some(first.token));
    let blob = blob.await?.id;
    let second = store
        .acquire(&session, request("operator")?.forced())
        .await?;
    let tokens = (first.token, second.token);
    late(&store, (&session, blob), tokens, "behind a forced grant").await?;
    let renew = store.renew(&mut first, Duration::from_secs(9)).await;
    ensure_err!(
        renew,
        ErrorKind::Fenced { .. },
        "a renewal of the holder that was replaced"
    );
    store.put_under(&session, events(2..3), &second).await?;
    Ok(())
}

async fn g08_a_token_that_never_was_is_refused(bench: &Bench) -> Held {
    let s = scene(bench).await?;
    let before = Dump::of(&s.store).await?;
    let token = FencingToken::new(s.new.token.get() + 1);
    let log = s.store.end(&s.session).await?.sum;
    let with = AppendCondition::with(token);
    let append = s.store.append(&s.session, events(2..3), with).await;
    ensure_err!(
        append,
        ErrorKind::InvalidInput,
        "an append under a token that never was"
    );
    let save = s
        .store
        .save(&s.session, snapshot(2, log, "x"), Some(token))
        .await;
    ensure_err!(
        save,
        ErrorKind::InvalidInput,
        "a snapshot under a token that never was"
    );
    let put = s.store.put(&s.session, pieces(b"x", 1), Some(token)).await;
    ensure_err!(
        put,
        ErrorKind::InvalidInput,
        "a blob under a token that never was"
    );
    let remove = s.store.remove(&s.session, s.blob, Some(token)).await;
    ensure_err!(
        remove,
        ErrorKind::InvalidInput,
        "removing a blob under a token that never was"
    );
    let delete = s.store.delete(&s.session, Some(token)).await;
    ensure_err!(
        delete,
        ErrorKind::InvalidInput,
        "a delete under a token that never was"
    );
    before.same(&Dump::of(&s.store).await?, "after all of them")
}

async fn g08_plain_appends_go_on_beside_a_lease(bench: &Bench) -> Held {
    let (store, session) = bench.session("s").await?;
    let lease = store.lease(&session, "driver").await?;
    for n in 0..6 {
        let batch = events(n..n + 1);
        let range = if n % 2 == 0 {
            store.put_events(&session, batch).await?
        } else {
            store.put_under(&session, batch, &lease).await?
        };
        ensure_eq!(range, span(n, n + 1), "the positions of append {n}");
    }
    Ok(())
}
