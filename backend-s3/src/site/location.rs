//! Where a store is, and how to reach it.

use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::path::Path;
use sessionlog_core::{Error, Result};

use super::folder::Folder;
use super::guard::{Desk, Guarded};
use super::settings::Settings;

/// The place of a store in an object storage, and the options to reach it.
///
/// ```
/// use sessionlog_backend_s3::Location;
///
/// let location = Location::parse("s3:bucket/team/sessions?region=eu-central-1")?;
/// assert_eq!(location.to_string(), "s3:bucket/team/sessions");
/// // The library reads no environment: the program hands it over, if it wants to.
/// let location = location.vars([("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret")]);
/// # let _ = location;
/// # Ok::<(), sessionlog_core::Error>(())
/// ```
///
/// Neither `Debug` nor `Display` shows an option, since options can be secrets.
#[derive(Clone)]
pub struct Location {
    scheme: Scheme,
    bucket: String,
    prefix: Path,
    settings: Settings,
    probe: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    S3,
    Gcs,
    Azure,
    File,
}

impl Scheme {
    const ALL: [Self; 4] = [Self::S3, Self::Gcs, Self::Azure, Self::File];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Gcs => "gs",
            Self::Azure => "az",
            Self::File => "file",
        }
    }
}

impl Location {
    /// Reads a URL: `s3:bucket/prefix`, `gs:bucket/prefix`, `az:container/prefix` or `file:path`, the
    /// first three with options as a query: `?region=eu-central-1&endpoint=https://host`.
    ///
    /// Two slashes behind the scheme's colon are allowed. The prefix is taken as it is, without
    /// escapes; option values are percent-decoded. The path of `file:` is relative to the working
    /// directory and has no query.
    ///
    /// # Errors
    /// `InvalidInput` for another scheme, without a bucket, and for a prefix that can't be part of a
    /// key. Options are checked by [`connect`](Self::connect).
    pub fn parse(url: &str) -> Result<Self> {
        let parts = url.split_once(':');
        let Some((scheme, rest)) = parts.and_then(|(name, rest)| {
            let scheme = Scheme::ALL.into_iter().find(|s| s.name() == name)?;
            Some((scheme, rest))
        }) else {
            return Err(Error::invalid(
                "the place of sessions in object storage is given as s3:bucket/prefix, \
                 gs:bucket/prefix, az:container/prefix or file:path",
            ));
        };
        let name = scheme.name();
        if scheme == Scheme::File {
            // What an absolute URL has in front of its path.
            let path = rest.strip_prefix("//").filter(|p| p.starts_with('/'));
            let path = path.unwrap_or(rest);
            return Self::new(scheme, path, folder(path)?, Settings::default());
        }
        let rest = rest.strip_prefix("//").unwrap_or(rest);
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        if bucket.contains(['@', ':', ' ']) {
            return Err(Error::invalid(format!(
                "{name}: takes a bucket and a prefix; accounts, endpoints and credentials are \
                 options, such as {name}:bucket/prefix?endpoint=https://host"
            )));
        }
        let prefix = Path::parse(prefix).map_err(|e| {
            Error::invalid(format!("{name}: the prefix can't be part of a key")).with_source(e)
        })?;
        Self::new(scheme, bucket, prefix, Settings::parse(query)?)
    }

    fn new(scheme: Scheme, bucket: &str, prefix: Path, mut settings: Settings) -> Result<Self> {
        let name = scheme.name();
        if bucket.is_empty() {
            return Err(Error::invalid(format!(
                "{name}: needs a place, such as {name}:sessions"
            )));
        }
        let probe = match settings.take("probe").as_deref() {
            None | Some("true") => true,
            Some("false") => false,
            Some(_) => return Err(Error::invalid("the option probe is true or false")),
        };
        Ok(Self {
            scheme,
            bucket: bucket.to_owned(),
            prefix,
            settings,
            probe,
        })
    }

    /// Sets an option, as the query of a URL does; it goes before one of the URL.
    #[must_use]
    pub fn option(mut self, name: &str, value: impl Into<String>) -> Self {
        self.settings.set(name, value.into());
        self
    }

    /// Takes credentials and options from environment variables, which this library doesn't read by
    /// itself: give it `std::env::vars()`. Options of the URL go before them.
    ///
    /// Those that every user of the crate `object_store` knows count: `AWS_*`; `GOOGLE_*` and
    /// `SERVICE_ACCOUNT`; `AZURE_*`. For S3, where they give no credentials, the files of the AWS
    /// tools are read: `AWS_PROFILE` or the option `profile`, otherwise the profile `default`.
    #[must_use]
    pub fn vars<K, V>(mut self, vars: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: Into<String>,
        V: Into<String>,
    {
        let vars = vars.into_iter().map(|(k, v)| (k.into(), v.into()));
        self.settings.vars = vars.collect::<BTreeMap<_, _>>();
        self
    }

    /// Whether the first write probes the store, by default. Without the probe, sessions are lost in
    /// a store whose conditional writes are not atomic.
    #[must_use]
    pub fn probe(mut self, wanted: bool) -> Self {
        self.probe = wanted;
        self
    }

    /// The client for this place, and the prefix of its keys. Sends no request.
    ///
    /// The client is one for any executor, or none: its connections live on a thread of its own.
    /// Before its first write it probes the store, once a process and store, with at most 12
    /// requests; where sessions would not be safe, every write is refused as `Unsupported`, with the
    /// reason. A request has 10 seconds, and one retry within 20, unless options say otherwise.
    ///
    /// # Errors
    /// `InvalidInput` for an option that is wrong, unknown or missing; `Unsupported` for a scheme
    /// whose Cargo feature is off, and for a folder
    /// that holds something else; `Unavailable` if the thread can't be started.
    pub fn connect(&self) -> Result<(Arc<dyn ObjectStore>, Path)> {
        let inner = self.client()?;
        let store = match self.probe {
            true => {
                let desk = Desk::of(&self.identity());
                Arc::new(Guarded::new(inner, self.prefix.clone(), desk))
            }
            false => inner,
        };
        Ok((store, self.prefix.clone()))
    }

    /// Whether the store is known to list objects in the order of their keys: S3 Express and file
    /// systems don't.
    pub(crate) fn lists_in_order(&self) -> bool {
        match self.scheme {
            Scheme::S3 => !self.bucket.ends_with("--x-s3"),
            Scheme::Gcs | Scheme::Azure => true,
            Scheme::File => false,
        }
    }

    fn client(&self) -> Result<Arc<dyn ObjectStore>> {
        match self.scheme {
            Scheme::File => files(&self.bucket, &self.prefix),
            #[cfg(feature = "s3")]
            Scheme::S3 => super::clouds::s3(&self.bucket, &self.settings),
            #[cfg(feature = "gcs")]
            Scheme::Gcs => super::clouds::gcs(&self.bucket, &self.settings),
            #[cfg(feature = "azure")]
            Scheme::Azure => super::clouds::azure(&self.bucket, &self.settings),
            #[cfg(not(all(feature = "s3", feature = "gcs", feature = "azure")))]
            other => Err(Error::unsupported(format!(
                "{}: is not compiled in, enable its feature of the crate sessionlog-backend-s3",
                other.name()
            ))),
        }
    }

    /// What tells this store from others, for the memory of its probe.
    fn identity(&self) -> String {
        format!("{self}\n{}", self.settings.endpoint().unwrap_or_default())
    }
}

/// Files from the root of the file system, so that opening a folder that is not there makes nothing.
/// A folder with something else in it, such as a store of another backend, is not mixed with.
fn files(path: &str, prefix: &Path) -> Result<Arc<dyn ObjectStore>> {
    let foreign = || {
        Error::unsupported(format!(
            "this is no folder of objects but something else, give one of its own: {path}"
        ))
    };
    match std::fs::read_dir(path) {
        Ok(entries) => {
            let mut names = entries.flatten().map(|entry| entry.file_name()).peekable();
            if names.peek().is_some() && !names.any(|name| name == "v1") {
                return Err(foreign());
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) if error.kind() == ErrorKind::NotADirectory => return Err(foreign()),
        Err(error) => {
            let told = format!("can't read the folder: {path}");
            return Err(Error::unavailable(told).with_source(error));
        }
    }
    Ok(Arc::new(Folder::below(prefix)?))
}

fn folder(path: &str) -> Result<Path> {
    let absolute = std::path::absolute(path)
        .map_err(|e| Error::unavailable("can't tell the working directory").with_source(e))?;
    let invalid = || Error::invalid(format!("file: can't take this path: {path}"));
    let plain = without_parents(&absolute).map_err(|e| invalid().with_source(e))?;
    Path::from_absolute_path(plain).map_err(|e| invalid().with_source(e))
}

/// A path without `..`, each of which is the parent of the folder that a link before it leads to.
fn without_parents(path: &std::path::Path) -> std::io::Result<std::path::PathBuf> {
    let mut plain = std::path::PathBuf::new();
    for part in path.components() {
        if part == std::path::Component::ParentDir {
            plain = plain.canonicalize()?;
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    Ok(plain)
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.scheme.name(), self.bucket)?;
        match self.prefix.as_ref() {
            "" => Ok(()),
            _ if self.scheme == Scheme::File => Ok(()),
            prefix => write!(f, "/{prefix}"),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Location({self})")
    }
}
