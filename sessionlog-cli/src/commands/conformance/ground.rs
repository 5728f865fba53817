//! The folder or prefix that the suite has for itself below the place to test.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sessionlog::{Error, Result, SessionId, Store};
use sessionlog_conformance::{Medium, Options};

use super::interrupt;
use super::subjects::Kind;

/// What folders and prefixes of the suite begin with.
const PREFIX: &str = "sessionlog-conformance-";

/// Where the suite works. Removed by [`Ground::remove`], and by an interrupt.
#[derive(Clone)]
pub(super) enum Ground {
    /// A folder, for stores of the scheme.
    Folder(&'static str, PathBuf),
    /// A prefix.
    Prefix(String),
    /// Nothing outside of this process.
    Memory,
}

impl Ground {
    /// A new ground below the place of a URL.
    pub(super) fn below(url: &str, kind: Kind) -> Result<Self> {
        let place = url.split_once(':').map_or("", |(_, place)| place);
        let ground = match kind.medium {
            Medium::Memory => Self::Memory,
            Medium::Directory => Self::Folder(kind.scheme, make_folder(Path::new(place))?),
            _ => Self::Prefix(within(url, &format!("{PREFIX}{}", SessionId::generate()))),
        };
        interrupt::on(&ground)?;
        Ok(ground)
    }

    /// Makes a session and removes it again: what can't be used at all is an error, and no verdict.
    pub(super) async fn probe(&self) -> Result<()> {
        let url = match self {
            Self::Folder(scheme, folder) => folder_url(scheme, &folder.join("probe"))?,
            Self::Prefix(base) => within(base, "probe"),
            Self::Memory => return Ok(()),
        };
        let store = open(&url).await?;
        let id = SessionId::new("probe")?;
        store.create(id.clone()).await?;
        store.delete(&id).await
    }

    /// The options, with this as the suite's ground.
    pub(super) fn give(&self, options: Options) -> Options {
        match self {
            Self::Folder(_, folder) => options.with_place_root(folder),
            Self::Prefix(base) => options.with_base(base),
            Self::Memory => options,
        }
    }

    /// Removes what the suite made; what could not be removed, in words.
    pub(super) fn remove(&self) -> Option<String> {
        match self {
            Self::Folder(_, folder) => remove_folder(folder),
            Self::Prefix(base) => pollster::block_on(remove_objects(base)),
            Self::Memory => None,
        }
    }

    /// Where it is, for people.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Folder(_, folder) => folder.display().to_string(),
            Self::Prefix(base) => sessionlog::shown(base).to_owned(),
            Self::Memory => "memory".to_owned(),
        }
    }
}

/// The URL of a store in a folder.
pub(super) fn folder_url(scheme: &str, folder: &Path) -> Result<String> {
    match folder.to_str() {
        Some(path) => Ok(format!("{scheme}:{path}")),
        None => Err(Error::invalid(format!(
            "the path is not UTF-8: {}",
            folder.display()
        ))),
    }
}

/// A new folder in the given one; beside it, if it is a file; else where it would be made.
fn make_folder(place: &Path) -> Result<PathBuf> {
    let refused = |e| {
        Error::unavailable(format!("no folder can be made at {}", place.display())).with_source(e)
    };
    let place = std::path::absolute(place).map_err(refused)?;
    let Some(parent) = place.ancestors().find(|folder| folder.is_dir()) else {
        return Err(Error::invalid(format!(
            "no such folder: {}",
            place.display()
        )));
    };
    let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent);
    Ok(folder.map_err(refused)?.keep())
}

/// Behind an interrupt somebody may still write there for a moment. So it first goes out of the way as
/// a whole, and what is made anew at the old place goes too.
fn remove_folder(folder: &Path) -> Option<String> {
    let mut aside = folder.as_os_str().to_owned();
    aside.push(".removed");
    let aside = PathBuf::from(aside);
    drop(std::fs::rename(folder, &aside));
    let mut last = None;
    for _ in 0..50 {
        let gone = |folder: &Path| match std::fs::remove_dir_all(folder) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        };
        match gone(&aside).and_then(|()| gone(folder)) {
            Ok(()) => return None,
            Err(error) => last = Some(error),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    last.map(|error| format!("{}: {error}", folder.display()))
}

/// The URL of a place below that of another; options stay behind it.
pub(super) fn within(url: &str, name: &str) -> String {
    let place = sessionlog::shown(url);
    let options = url.get(place.len()..).unwrap_or_default();
    format!("{}/{name}{options}", place.trim_end_matches('/'))
}

/// Opens a store, here or in a child process, with the environment of the program.
pub(super) async fn open(url: &str) -> Result<Store> {
    let vars: Vec<_> = vars().collect();
    sessionlog::open_with_vars(url, vars).await
}

fn vars() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
}

/// Deletes every object below the prefix.
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
async fn remove_objects(base: &str) -> Option<String> {
    let place = sessionlog::s3::Location::parse(base).map(|place| place.vars(vars()));
    let cleared = async { place?.clear().await };
    let error = cleared.await.err()?;
    Some(format!("{}: {error}", sessionlog::shown(base)))
}

/// No build without object storage opens such a place.
#[cfg(not(any(feature = "s3", feature = "gcs", feature = "azure")))]
async fn remove_objects(base: &str) -> Option<String> {
    Some(sessionlog::shown(base).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_below_another_keeps_its_options() {
        for (url, below) in [
            ("s3:b", "s3:b/n"),
            ("s3:b/p/?region=x&a=/", "s3:b/p/n?region=x&a=/"),
            ("file:/a?b/", "file:/a?b/n"),
        ] {
            assert_eq!(within(url, "n"), below);
        }
    }
}
