//! Garbage of stores in object storage.

use sessionlog_core::{Error, Result};

use crate::{open_with_vars, shown};

/// What a collection found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Garbage {
    /// The names of objects that nobody needs, relative to the store.
    pub objects: Vec<String>,
    /// Their bytes.
    pub bytes: u64,
    /// Sessions that were deleted long ago, of which the next collection leaves two small objects that
    /// say nothing of them.
    pub closed: u64,
}

/// Collects what writes that broke off left in object storage, and the traces of sessions that were
/// deleted more than a day ago; with `dry_run` it only says what. Sessions may be read and written
/// meanwhile. `vars` as for [`open_with_vars`].
///
/// Cost: a LIST for each 1,000 objects, a GET for each session, a DELETE for each 1,000 objects.
///
/// # Errors
/// As [`open`](crate::open); `Unsupported` for a store that is no object storage: it leaves nothing
/// to collect.
pub async fn gc(url: &str, vars: Vec<(String, String)>, dry_run: bool) -> Result<Garbage> {
    // Tells what is wrong with a URL, in the words of everybody.
    drop(open_with_vars(url, vars.clone()).await?);
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    match scheme {
        #[cfg(feature = "_objects")]
        "s3" | "gs" | "az" | "file" => {
            use sessionlog_backend_s3::{Bucket, Location, Options};
            let location = Location::parse(url)?.vars(vars);
            let bucket = Bucket::open(&location, Options::default())?;
            let found = bucket.gc(dry_run).await?;
            Ok(Garbage {
                objects: found.keys,
                bytes: found.bytes,
                closed: found.closed,
            })
        }
        _ => {
            let _ = dry_run;
            Err(Error::unsupported(format!(
                "only stores in object storage have garbage to collect: {}",
                shown(url)
            )))
        }
    }
}
