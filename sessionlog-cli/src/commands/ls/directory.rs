//! Which directory is meant.

use std::path::{Component, Path, PathBuf};

use sessionlog::{Error, Listed, Result};

/// A directory to compare others with.
pub(super) struct Directory {
    asked: String,
    plain: PathBuf,
    real: Option<PathBuf>,
}

impl Directory {
    pub(super) fn new(path: &Path) -> Result<Self> {
        let absolute = std::path::absolute(path).map_err(|e| {
            Error::invalid(format!("not a directory: {}", path.display())).with_source(e)
        })?;
        Ok(Self {
            asked: path.to_string_lossy().into_owned(),
            real: absolute.canonicalize().ok(),
            plain: plain(&absolute),
        })
    }

    /// Whether it is the working directory of this session.
    pub(super) fn holds(&self, listed: &Listed) -> bool {
        let Some(directory) = listed
            .card
            .as_ref()
            .ok()
            .and_then(|c| c.directory.as_deref())
        else {
            return false;
        };
        let path = Path::new(directory);
        directory == self.asked
            || path.is_absolute()
                && (plain(path) == self.plain
                    || self.real.is_some() && path.canonicalize().ok() == self.real)
    }
}

/// The path without `.`, `..` and trailing slashes, by its text alone.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use sessionlog::Card;

    fn holds(asked: &str, recorded: &str) -> bool {
        let mut card = Card::default();
        card.directory = Some(recorded.to_owned());
        let id = "s".parse().unwrap();
        Directory::new(Path::new(asked))
            .unwrap()
            .holds(&Listed::new(id, Ok(card)))
    }

    #[test]
    fn directories_are_the_same_only_if_they_are() {
        assert!(holds("/w/a", "/w/a/"));
        assert!(holds("/w/./b/../a", "/w/a"));
        assert!(holds("C:\\Users\\me", "C:\\Users\\me"));
        for other in ["/w/a-b", "/w/a/b", "/w", "/w/A", "w/a", "/w/漢"] {
            assert!(!holds("/w/a", other), "{other}");
        }
        assert!(!holds("/w/字", "/w/漢"));
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_is_found_through_a_symbolic_link() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(holds(link.to_str().unwrap(), real.to_str().unwrap()));
        assert!(holds(real.to_str().unwrap(), link.to_str().unwrap()));
    }
}
