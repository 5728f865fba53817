//! A look at a store as it is.

use futures_util::TryStreamExt;
use object_store::{Error, ObjectStore, ObjectStoreExt};

use crate::breach::{End, Held};

fn broken(error: &Error) -> End {
    End::Broken(format!("the suite's own object store: {error}"))
}

/// Every object with its content.
pub(super) async fn objects(store: &dyn ObjectStore) -> Held<Vec<(String, Vec<u8>)>> {
    let listed: Vec<_> = store
        .list(None)
        .try_collect()
        .await
        .map_err(|e| broken(&e))?;
    let mut all = Vec::new();
    for meta in listed {
        let got = store.get(&meta.location).await.map_err(|e| broken(&e))?;
        let content = got.bytes().await.map_err(|e| broken(&e))?;
        all.push((meta.location.to_string(), content.to_vec()));
    }
    Ok(all)
}
