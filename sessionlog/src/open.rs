//! From a URL to a store.

use sessionlog_core::{Error, Memory, Result, Store};

/// A scheme that this version of the library knows.
struct Scheme {
    name: &'static str,
    /// The Cargo feature that brings it.
    feature: &'static str,
    compiled: bool,
}

impl Scheme {
    const fn new(name: &'static str, feature: &'static str, compiled: bool) -> Self {
        Self {
            name,
            feature,
            compiled,
        }
    }
}

const SCHEMES: &[Scheme] = &[
    Scheme::new("jsonl", "jsonl", cfg!(feature = "jsonl")),
    Scheme::new("redb", "redb", cfg!(feature = "redb")),
    Scheme::new("sqlite", "sqlite", cfg!(feature = "sqlite")),
    Scheme::new("s3", "s3", cfg!(feature = "s3")),
    Scheme::new("gs", "gcs", cfg!(feature = "gcs")),
    Scheme::new("az", "azure", cfg!(feature = "azure")),
    Scheme::new("file", "s3", cfg!(feature = "_objects")),
    Scheme::new("memory", "", true),
];

/// The schemes that [`open`] takes in this build.
pub fn schemes() -> impl Iterator<Item = &'static str> {
    SCHEMES.iter().filter(|s| s.compiled).map(|s| s.name)
}

/// Opens a store by its URL: `jsonl:path`, `sqlite:path`, `redb:path`, `s3:bucket/prefix`,
/// `gs:bucket/prefix`, `az:container/prefix`, `file:path` or `memory:`.
///
/// A path is taken as it is, relative to the working directory, without escapes. A store that is
/// not there yet is empty, and is made by its first write. Each `memory:` is a new store. What is
/// in object storage has options behind its place, `s3:bucket/prefix?region=eu-central-1`; the
/// environment is not read: see [`open_with_vars`].
///
/// # Errors
/// `InvalidInput` for a URL without a scheme, or with one that is not known: the message lists
/// those that are. `Unsupported` for a scheme that is known but not compiled in (the message names
/// the Cargo feature), and for a store of another backend or a newer format. `Unavailable`.
pub async fn open(url: &str) -> Result<Store> {
    open_with_vars(url, std::iter::empty::<(String, String)>()).await
}

/// [`open`] with environment variables, such as `std::env::vars()`: object storage takes
/// credentials, region and endpoint from them (`AWS_*`, `GOOGLE_*`, `AZURE_*`, and for S3 the files
/// of the profile) where the URL has none.
///
/// # Errors
/// As [`open`].
pub async fn open_with_vars<K, V>(
    url: &str,
    vars: impl IntoIterator<Item = (K, V)>,
) -> Result<Store>
where
    K: Into<String>,
    V: Into<String>,
{
    let Some((name, rest)) = url.split_once(':').filter(|(name, _)| is_scheme(name)) else {
        return Err(Error::invalid(format!(
            "a store is given as scheme:place, such as jsonl:{}: {:?}",
            if url.is_empty() {
                "sessions"
            } else {
                shown(url)
            },
            shown(url)
        )));
    };
    let Some(scheme) = SCHEMES.iter().find(|s| s.name == name) else {
        let known: Vec<_> = schemes().map(|s| format!("{s}:")).collect();
        return Err(Error::invalid(format!(
            "the scheme {name:?} is not known, use one of {}: {:?}",
            known.join(", "),
            shown(url)
        )));
    };
    if !scheme.compiled {
        return Err(Error::unsupported(format!(
            "{name}: is not compiled in, enable the feature {:?} of the crate sessionlog",
            scheme.feature
        )));
    }
    #[cfg(not(feature = "_objects"))]
    drop(vars);
    match name {
        "memory" if rest.is_empty() => Ok(Store::new(Memory::new())),
        "memory" => Err(Error::invalid(format!("memory: takes no place: {url:?}"))),
        _ if rest.is_empty() => Err(Error::invalid(format!(
            "{name}: needs a place, such as {name}:sessions"
        ))),
        #[cfg(feature = "jsonl")]
        "jsonl" => {
            use sessionlog_backend_jsonl::{Jsonl, Options};
            Ok(Store::new(Jsonl::open(rest, Options::default())?))
        }
        #[cfg(feature = "redb")]
        "redb" => {
            use sessionlog_backend_redb::{Options, Redb};
            Ok(Store::new(Redb::open(rest, Options::default())?))
        }
        #[cfg(feature = "sqlite")]
        "sqlite" => {
            use sessionlog_backend_sqlite::{Options, Sqlite};
            Ok(Store::new(Sqlite::open(rest, Options::default())?))
        }
        #[cfg(feature = "_objects")]
        "s3" | "gs" | "az" | "file" => {
            use sessionlog_backend_s3::{Bucket, Location, Options};
            let location = Location::parse(url)?.vars(vars);
            Ok(Store::new(Bucket::open(&location, Options::default())?))
        }
        _ => Err(Error::internal(format!(
            "the scheme {name:?} has no backend"
        ))),
    }
}

/// The URL of a store without its options, which can be secrets: for messages.
pub fn shown(url: &str) -> &str {
    let options = ["s3:", "gs:", "az:"].iter().any(|s| url.starts_with(s));
    match url.split_once('?') {
        Some((place, _)) if options => place,
        _ => url,
    }
}

/// Two letters at least, so that `C:\sessions` is a path.
fn is_scheme(name: &str) -> bool {
    name.len() > 1
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| matches!(c, 'a'..='z' | '0'..='9' | '+' | '-' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(url: &str) -> String {
        pollster::block_on(open(url)).map_or_else(|e| e.to_string(), |_| "opened".to_owned())
    }

    #[test]
    fn a_wrong_url_says_what_to_write_instead() {
        assert_eq!(message("memory:"), "opened");
        assert!(message("/w/p").contains("scheme:place, such as jsonl:/w/p"));
        assert!(message("C:\\x").contains("scheme:place"));
        assert!(message("ftp:x").contains("memory:"), "{}", message("ftp:x"));
        assert!(message("memory:x").contains("takes no place"));
        #[cfg(feature = "jsonl")]
        assert!(message("jsonl:").contains("needs a place"));
        assert_eq!(shown("s3:b/p?secret_access_key=x"), "s3:b/p");
        assert_eq!(shown("jsonl:a?b"), "jsonl:a?b");
        #[cfg(feature = "s3")]
        assert!(message("s3:").contains("needs a place"));
        #[cfg(not(feature = "gcs"))]
        assert!(message("gs:x").contains("enable the feature \"gcs\""));
        #[cfg(not(feature = "jsonl"))]
        assert!(message("jsonl:x").contains("enable the feature \"jsonl\""));
    }
}
