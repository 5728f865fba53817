//! The format of a file, told by its records.

use std::path::Path;

use sessionlog::Result;

use super::lines::{Content, Lines};
use super::parts::{Part, split};
use super::{Format, io_error};

/// What a file looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looks {
    /// Records of this format.
    Like(Format),
    /// JSON Lines of an unknown format.
    Records,
    /// Nothing at all.
    Empty,
    /// No JSON Lines.
    Other,
}

/// So many objects that no format knows are enough.
const OBJECTS: usize = 1000;
/// So many lines without any object are enough.
const OTHERS: usize = 16;
/// A longer line is not held to find out what it is.
const LONGEST: usize = 4 << 20;

/// Reads records until one tells the format. Neither their number in front of it nor their length
/// is bounded by a buffer; damaged lines are passed over.
pub(crate) fn looks(path: &Path) -> Result<Looks> {
    let mut lines = Lines::with_longest(path, LONGEST)?;
    let (mut objects, mut others) = (0, 0);
    let surely = |fields: &super::fields::Fields<'_>| detect(fields).is_some();
    while objects < OBJECTS && (objects > 0 || others < OTHERS) {
        let next = lines.next();
        let next = next.map_err(|e| io_error("the file can't be read", path, e))?;
        let Some(line) = next else { break };
        let Content::Held(bytes) = &line.content else {
            others += 1;
            continue;
        };
        for part in split(bytes, line.number == 1, &surely) {
            match part {
                Part::Record { fields, .. } if !fields.is_empty() => {
                    if let Some(format) = detect(&fields) {
                        return Ok(Looks::Like(format));
                    }
                    objects += 1;
                }
                Part::Blank(_) => {}
                _ => others += 1,
            }
        }
    }
    Ok(match (objects, others) {
        (0, 0) => Looks::Empty,
        (0, _) => Looks::Other,
        _ => Looks::Records,
    })
}

fn detect(fields: &super::fields::Fields<'_>) -> Option<Format> {
    Format::ALL
        .into_iter()
        .find(|format| format.recognizes(fields))
}
