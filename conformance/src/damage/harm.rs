//! What is done to a file.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::built::Built;
use super::tree::Tree;
use crate::make::noise;

/// Which folder is harmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Image {
    /// That of a store that was closed.
    Closed,
    /// That of a store whose process was killed.
    Killed,
}

/// One harm to one file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Harm {
    pub(crate) image: Image,
    pub(crate) file: PathBuf,
    pub(crate) what: What,
}

/// The kinds of harm.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum What {
    /// One bit is another.
    Flip { at: usize, bit: u8 },
    /// A run of bytes is NUL.
    Zero { at: usize, len: usize },
    /// Two blocks have changed places.
    Swap {
        one: usize,
        other: usize,
        len: usize,
    },
    /// The file ends here.
    Cut { len: usize },
    /// NUL bytes are behind the end.
    Grow { by: usize },
    /// Something is behind the end.
    Garbage { by: usize },
    /// The file is not there.
    Missing,
    /// It has no byte.
    Empty,
    /// It holds something else.
    Foreign,
    /// It holds what another file of the store does.
    OfFile { other: PathBuf },
    /// It is the file of that name of another store.
    OfStore,
    /// It is as it was after an earlier stage.
    Older { stage: usize },
}

/// Content of no store.
const FOREIGN: &[u8] = b"Dear diary,\ntoday somebody copied me over a file of a store.\n";

impl Harm {
    /// The folder with the harm done, or `None` if that changes nothing.
    pub(crate) fn done(&self, built: &Built) -> Option<Tree> {
        let mut tree = built.image(self.image).clone();
        let before = tree.files.get(&self.file)?;
        let after = self.what.applied(before, &self.file, &tree, built)?;
        if after.as_ref() == Some(before) {
            return None;
        }
        match after {
            None => drop(tree.files.remove(&self.file)),
            Some(after) => drop(tree.files.insert(self.file.clone(), after)),
        }
        Some(tree)
    }
}

impl What {
    /// The file's bytes afterwards; `Some(None)` if it is gone, `None` if the harm can't be done.
    fn applied(
        &self,
        before: &[u8],
        file: &Path,
        tree: &Tree,
        built: &Built,
    ) -> Option<Option<Vec<u8>>> {
        let mut bytes = before.to_vec();
        match self {
            Self::Flip { at, bit } => *bytes.get_mut(*at)? ^= 1_u8.checked_shl(u32::from(*bit))?,
            Self::Zero { at, len } => {
                let end = at.saturating_add(*len).min(bytes.len());
                bytes.get_mut(*at..end)?.fill(0);
            }
            Self::Swap { one, other, len } => {
                let (low, high) = (*one.min(other), *one.max(other));
                if high < low.checked_add(*len)? || high.checked_add(*len)? > bytes.len() {
                    return None;
                }
                let (front, back) = bytes.split_at_mut_checked(high)?;
                let first = front.get_mut(low..low + len)?;
                first.swap_with_slice(back.get_mut(..*len)?);
            }
            Self::Cut { len } => bytes.truncate(*len),
            Self::Grow { by } => bytes.resize(bytes.len() + by, 0),
            Self::Garbage { by } => bytes.extend(noise(77, *by)),
            Self::Missing => return Some(None),
            Self::Empty => bytes.clear(),
            Self::Foreign => bytes = FOREIGN.to_vec(),
            Self::OfFile { other } => bytes = tree.files.get(other)?.clone(),
            Self::OfStore => bytes = built.other.files.get(file)?.clone(),
            Self::Older { stage } => {
                bytes = built.stages.get(*stage)?.tree.files.get(file)?.clone();
            }
        }
        Some(Some(bytes))
    }
}

impl fmt::Display for Harm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match &self.what {
            What::Flip { at, bit } => write!(f, "bit {bit} of byte {at} of {file} was flipped"),
            What::Zero { at, len } => write!(f, "{len} bytes of {file} from byte {at} became NUL"),
            What::Swap { one, other, len } => {
                write!(
                    f,
                    "the {len} bytes of {file} at byte {one} and at byte {other} were swapped"
                )
            }
            What::Cut { len } => write!(f, "{file} was cut to {len} bytes"),
            What::Grow { by } => write!(f, "{file} got {by} NUL bytes behind its end"),
            What::Garbage { by } => write!(f, "{file} got {by} bytes of garbage behind its end"),
            What::Missing => write!(f, "{file} was removed"),
            What::Empty => write!(f, "{file} was cut to nothing"),
            What::Foreign => write!(f, "{file} was replaced by a text"),
            What::OfFile { other } => write!(f, "{file} was replaced by {}", other.display()),
            What::OfStore => write!(f, "{file} was replaced by that of another store"),
            What::Older { stage } => {
                write!(f, "{file} was replaced by what it was after stage {stage}")
            }
        }?;
        f.write_str(match self.image {
            Image::Closed => ", in a store that was closed",
            Image::Killed => ", in a store whose process was killed",
        })
    }
}
