//! Garbage of stores in object storage.

use sessionlog_core::{Error, Result};

use crate::{open_with_vars, shown};

/// What a collection found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Garbage {
    /// Objects that nobody needs.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sessions that were deleted long ago, of which the next collection leaves two small objects that
    /// say nothing of them.
    pub closed: u64,
}

/// Collects what writes that broke off left in object storage, and the traces of sessions that were
/// deleted more than a day ago; with `dry_run` it only says what. `found` gets the name of each
/// object, relative to the store, and its bytes: once it is deleted, if it is to be. Sessions may be
/// read and written meanwhile. `vars` as for [`open_with_vars`].
///
/// Cost: a LIST for each 1,000 objects, a GET for each session, a DELETE for each 1,000 objects; in a
/// folder also a LIST for each session. However large the store is, it holds few names at once; of a
/// folder those of all its sessions.
///
/// # Errors
/// As [`open`](crate::open); `Unsupported` for a store that is no object storage: it leaves nothing
/// to collect.
pub async fn gc(
    url: &str,
    vars: Vec<(String, String)>,
    dry_run: bool,
    found: impl FnMut(&str, u64),
) -> Result<Garbage> {
    // Tells what is wrong with a URL, in the words of everybody.
    drop(open_with_vars(url, vars.clone()).await?);
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    match scheme {
        #[cfg(feature = "_objects")]
        "s3" | "gs" | "az" | "file" => {
            use sessionlog_backend_s3::{Bucket, Location, Options};
            let location = Location::parse(url)?.vars(vars);
            let bucket = Bucket::open(&location, Options::default())?;
            let garbage = bucket.gc(dry_run, found).await?;
            Ok(Garbage {
                objects: garbage.objects,
                bytes: garbage.bytes,
                closed: garbage.closed,
            })
        }
        _ => {
            let _ = (dry_run, found);
            Err(Error::unsupported(format!(
                "only stores in object storage have garbage to collect: {}",
                shown(url)
            )))
        }
    }
}
