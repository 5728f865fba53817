//! Whether a store does what every session in it depends on.

use bytes::Bytes;
use futures_util::TryStreamExt;
use futures_util::future::join_all;
use object_store::path::Path;
use object_store::{Error as StoreError, ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use sessionlog_core::{Error, Result};
use uuid::Uuid;

use super::told::told;

/// How many creates of one key are in flight at once: with the list, one more create, the read and
/// the delete, a probe has 12 requests.
const RACERS: usize = 8;

/// The bytes of each of them: a server that looks first and takes the bytes then has the more time
/// to be wrong.
const RACED: usize = 256 << 10;

/// What a probe says of a store. A store that could not be asked is an error instead, and is asked
/// again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Sessions are safe in it.
    Fit,
    /// They are not, for this reason.
    Unfit(&'static str),
}

/// Probes a store below `prefix`, with at most 12 requests: of several creates at once exactly one
/// must succeed, a list must show at once what was written, a later create must be refused, and the
/// object must be the winner's.
///
/// It is a sample: it finds every server that does not know conditional writes, and most of those
/// that look and write in two steps. What it leaves behind where it is interrupted lies below
/// `v1/probe/`.
pub(crate) async fn probe(store: &dyn ObjectStore, prefix: &Path) -> Result<Verdict> {
    let folder = prefix.clone().join("v1").join("probe");
    let key = folder.clone().join(Uuid::now_v7().simple().to_string());
    let verdict = ask(store, &folder, &key).await;
    // Without the right to delete, the probe's object stays; it harms nothing.
    drop(store.delete(&key).await);
    verdict
}

async fn ask(store: &dyn ObjectStore, folder: &Path, key: &Path) -> Result<Verdict> {
    // They come first, so that none has a connection before the others.
    let racers = (0..RACERS).map(|n| create(store, key, body(n)));
    let mut winners = Vec::new();
    for (n, created) in join_all(racers).await.into_iter().enumerate() {
        match created? {
            Created::Yes => winners.push(n),
            Created::No => {}
            Created::Impossible => {
                return Ok(Verdict::Unfit("it can't create an object on a condition"));
            }
        }
    }
    if winners.len() > 1 {
        return Ok(Verdict::Unfit(
            "several creates of one object at once succeed, they are not atomic",
        ));
    }
    let listed: Vec<_> = store
        .list(Some(folder))
        .map_ok(|object| object.location)
        .try_collect()
        .await
        .map_err(|e| told(e, "probe the store: list its probe objects"))?;
    if let Created::Yes = create(store, key, body(RACERS)).await? {
        if winners.is_empty() {
            return Err(Error::unavailable(
                "can't probe the store: it refused or lost every one of several creates, try again",
            ));
        }
        return Ok(Verdict::Unfit(
            "a conditional create writes over an object that is there",
        ));
    }
    let kept = read(store, key).await?;
    // A winner whose answer was lost counts as refused.
    let right = match (winners.first(), &kept) {
        (Some(winner), Some(kept)) => *kept == body(*winner),
        (None, Some(kept)) => (0..RACERS).any(|n| *kept == body(n)),
        (_, None) => {
            return Ok(Verdict::Unfit(
                "an object that was written can't be read at once",
            ));
        }
    };
    Ok(match (right, listed.contains(key)) {
        (true, true) => Verdict::Fit,
        (true, false) => Verdict::Unfit("a list does not show what was written before it"),
        (false, _) => Verdict::Unfit("a create that was refused changed the object"),
    })
}

/// What the racer of this number writes.
fn body(racer: usize) -> String {
    racer.to_string().repeat(RACED)
}

enum Created {
    Yes,
    No,
    Impossible,
}

async fn create(store: &dyn ObjectStore, at: &Path, body: String) -> Result<Created> {
    let payload = PutPayload::from(body);
    match store.put_opts(at, payload, PutMode::Create.into()).await {
        Ok(_) => Ok(Created::Yes),
        Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => Ok(Created::No),
        Err(StoreError::NotImplemented { .. } | StoreError::NotSupported { .. }) => {
            Ok(Created::Impossible)
        }
        Err(error) => Err(told(error, "probe the store: create an object")),
    }
}

async fn read(store: &dyn ObjectStore, at: &Path) -> Result<Option<Bytes>> {
    let got = async { store.get(at).await?.bytes().await };
    match got.await {
        Ok(bytes) => Ok(Some(bytes)),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(told(error, "probe the store: read an object")),
    }
}

#[cfg(test)]
mod tests;
