//! The first pass over a file: what the mapping of its records needs to know of all of them.

use std::path::Path;

use sessionlog::{Result, Timestamp};

use super::clock::{Clock, is_sane};
use super::dialect::{Dialect, Identity};
use super::feed::Feed;
use super::fields::Fields;
use super::lines::{Content, Lines};
use super::parts::{Part, split};
use super::{Format, io_error};

/// What is known of a file after the first pass.
pub(crate) struct Survey {
    format: Format,
    dialect: Box<dyn Dialect>,
    /// The first time in the file, for the records in front of it.
    first: Timestamp,
    /// Whether there is anything in the file.
    pub(crate) empty: bool,
}

const TIMES: &[&str] = &["timestamp", "ts", "at", "time", "created_at"];

impl Survey {
    /// Reads a file once, or as much of it as its format needs.
    pub(crate) fn of(path: &Path, format: Format) -> Result<Self> {
        let mut lines = Lines::open(path)?;
        let mut dialect = format.dialect();
        let mut first = None;
        let mut empty = true;
        loop {
            let next = lines.next();
            let next = next.map_err(|e| io_error("the file can't be read", path, e))?;
            let Some(line) = next else { break };
            empty = false;
            let Content::Held(bytes) = &line.content else {
                continue;
            };
            for part in split(bytes, line.number == 1, &|fields| format.recognizes(fields)) {
                if let Part::Record { fields, .. } = part {
                    first = first.or_else(|| time(&fields));
                    dialect.survey(line.number, &fields);
                }
            }
            if first.is_some() && !dialect.needs_all() {
                break;
            }
        }
        Ok(Self {
            format,
            dialect,
            first: first.unwrap_or_else(|| fallback(path)),
            empty,
        })
    }

    pub(crate) fn identity(&self) -> Identity {
        self.dialect.identity()
    }

    /// The second pass.
    pub(crate) fn feed<'a>(&self, path: &'a Path) -> Result<Feed<'a>> {
        let clock = Clock::new(self.first);
        Feed::new(path, self.format, self.dialect.restart(), clock)
    }
}

fn time(fields: &Fields<'_>) -> Option<Timestamp> {
    TIMES
        .iter()
        .find_map(|name| fields.time(name))
        .filter(is_sane)
}

/// For a file that says no time at all: the date in its name, or when it was last changed.
fn fallback(path: &Path) -> Timestamp {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let date = name
        .get(..10)
        .and_then(|date| format!("{date}T00:00:00Z").parse().ok());
    let changed = || {
        let modified = std::fs::metadata(path).and_then(|meta| meta.modified());
        modified.ok().map(Timestamp::from)
    };
    date.or_else(changed)
        .filter(is_sane)
        .unwrap_or(Timestamp::EPOCH)
}
