//! From a URL to a store.

use sessionlog_core::{Error, Memory, Result, Store};

/// A scheme that this version of the library knows.
struct Scheme {
    /// The name, which is that of the Cargo feature too.
    name: &'static str,
    compiled: bool,
}

const SCHEMES: &[Scheme] = &[
    Scheme {
        name: "jsonl",
        compiled: cfg!(feature = "jsonl"),
    },
    Scheme {
        name: "redb",
        compiled: cfg!(feature = "redb"),
    },
    Scheme {
        name: "sqlite",
        compiled: cfg!(feature = "sqlite"),
    },
    Scheme {
        name: "memory",
        compiled: true,
    },
];

/// The schemes that [`open`] takes in this build.
pub fn schemes() -> impl Iterator<Item = &'static str> {
    SCHEMES.iter().filter(|s| s.compiled).map(|s| s.name)
}

/// Opens a store by its URL: `jsonl:path`, `sqlite:path`, `redb:path` or `memory:`.
///
/// The path is taken as it is, relative to the working directory, without escapes. A store that is
/// not there yet is empty, and is made by its first write. Each `memory:` is a new store.
///
/// # Errors
/// `InvalidInput` for a URL without a scheme, or with one that is not known: the message lists
/// those that are. `Unsupported` for a scheme that is known but not compiled in (the message names
/// the Cargo feature), and for a store of another backend or a newer format. `Unavailable`.
pub async fn open(url: &str) -> Result<Store> {
    let Some((name, rest)) = url.split_once(':').filter(|(name, _)| is_scheme(name)) else {
        return Err(Error::invalid(format!(
            "a store is given as scheme:place, such as jsonl:{}: {url:?}",
            if url.is_empty() { "sessions" } else { url }
        )));
    };
    let Some(scheme) = SCHEMES.iter().find(|s| s.name == name) else {
        let known: Vec<_> = schemes().map(|s| format!("{s}:")).collect();
        return Err(Error::invalid(format!(
            "the scheme {name:?} is not known, use one of {}: {url:?}",
            known.join(", ")
        )));
    };
    if !scheme.compiled {
        return Err(Error::unsupported(format!(
            "{name}: is not compiled in, enable the feature {:?} of the crate sessionlog",
            scheme.name
        )));
    }
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
        _ => Err(Error::internal(format!(
            "the scheme {name:?} has no backend"
        ))),
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
        #[cfg(not(feature = "jsonl"))]
        assert!(message("jsonl:x").contains("enable the feature \"jsonl\""));
    }
}
