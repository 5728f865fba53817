//! Places in a log, found by bisection: there is no index to keep.

use std::fs::File;
use std::io;
use std::ops::Range;

use crate::format::Envelope;
use sessionlog_local::files::{read_range, wide};

/// Below this, lines are looked at one after the other.
const SMALL: u64 = 16 << 10;
/// How much is read to look for a newline.
const BLOCK: u64 = 8 << 10;

/// Why a place was not found.
#[derive(Debug)]
pub(crate) enum Lost {
    /// The line at this byte is no event.
    Damaged(u64),
    /// The file can't be read.
    Failed(io::Error),
}

impl From<io::Error> for Lost {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Where the first line begins for which `reached` holds; the end of `lines` if there is none.
/// `reached` must go from false to true once along the log. `guess` is tried first.
pub(crate) fn first(
    file: &File,
    lines: Range<u64>,
    guess: Option<u64>,
    reached: impl Fn(&Envelope<'_>) -> Option<bool>,
) -> Result<u64, Lost> {
    let search = Search { file, reached };
    let Range {
        start: mut low,
        end: mut answer,
    } = lines;
    // Lines that begin in `low..high` may be the answer; `low` begins one that is not known.
    let mut high = answer;
    let mut guesses = guess
        .into_iter()
        .flat_map(|at| [at.saturating_sub(SMALL), at.saturating_add(SMALL)]);
    while high.saturating_sub(low) > SMALL {
        let middle = guesses
            .find(|at| (low..high).contains(at))
            .unwrap_or(low + (high - low) / 2);
        match search.line_behind(middle, high)? {
            None => high = middle + 1,
            Some(start) if search.reached(start)? => (high, answer) = (start, start),
            Some(start) => low = start,
        }
    }
    let window = read_range(file, low, high + wide(Envelope::MAX_LEN))?;
    let mut line = window.as_slice();
    while low < high {
        if search.judge(line, low)? {
            return Ok(low);
        }
        let Some(newline) = memchr::memchr(b'\n', line) else {
            break;
        };
        line = line.get(newline + 1..).unwrap_or_default();
        low += wide(newline) + 1;
    }
    Ok(answer)
}

struct Search<'a, F> {
    file: &'a File,
    reached: F,
}

impl<F: Fn(&Envelope<'_>) -> Option<bool>> Search<'_, F> {
    fn reached(&self, start: u64) -> Result<bool, Lost> {
        let line = read_range(self.file, start, start + wide(Envelope::MAX_LEN))?;
        self.judge(&line, start)
    }

    fn judge(&self, line: &[u8], start: u64) -> Result<bool, Lost> {
        Envelope::read(line)
            .and_then(|(envelope, _)| (self.reached)(&envelope))
            .ok_or(Lost::Damaged(start))
    }

    /// The first line that begins behind `at` and before `end`.
    fn line_behind(&self, at: u64, end: u64) -> Result<Option<u64>, Lost> {
        let mut from = at;
        while from < end {
            let bytes = read_range(self.file, from, (from + BLOCK).min(end))?;
            if bytes.is_empty() {
                break;
            }
            if let Some(newline) = memchr::memchr(b'\n', &bytes) {
                let start = from + wide(newline) + 1;
                return Ok((start < end).then_some(start));
            }
            from += wide(bytes.len());
        }
        Ok(None)
    }
}
