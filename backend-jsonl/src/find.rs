//! Places in a log, found by bisection: there is no index to keep.

use std::fs::File;
use std::io;
use std::ops::Range;

use sessionlog_core::SeqNum;

use crate::format::Envelope;
use sessionlog_local::files::{read_range, wide};

/// Below this, lines are looked at one after the other.
const SMALL: u64 = 16 << 10;
/// How much is read to look for a newline.
const BLOCK: u64 = 8 << 10;

/// What [`first`] found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Where the line begins; the end of the lines if there is none.
    pub(crate) offset: u64,
    /// Its position.
    pub(crate) seq: Option<SeqNum>,
    /// Where lines that are no events begin, right before it: one of them may have been it.
    pub(crate) behind: Option<u64>,
    /// Whether a line that is no event was met on the way.
    pub(crate) damaged: Option<u64>,
}

/// Where the first line begins for which `reached` holds; the end of `lines` if there is none.
/// `reached` must go from false to true once along the log. `guess` is tried first. Lines that are no
/// events are passed over.
pub(crate) fn first(
    file: &File,
    lines: Range<u64>,
    guess: Option<u64>,
    reached: impl Fn(&Envelope<'_>) -> Option<bool>,
) -> io::Result<Found> {
    let search = Search { file, reached };
    let Range {
        start: mut low,
        end: mut high,
    } = lines;
    // Lines that begin in `low..high` may be it; `low` begins one that is not known.
    let mut found = Found {
        offset: high,
        seq: None,
        behind: None,
        damaged: None,
    };
    let mut guesses = guess
        .into_iter()
        .flat_map(|at| [at.saturating_sub(SMALL), at.saturating_add(SMALL)]);
    while high.saturating_sub(low) > SMALL {
        let middle = guesses
            .find(|at| (low..high).contains(at))
            .unwrap_or(low + (high - low) / 2);
        let mut from = middle;
        let mut behind = None;
        loop {
            let Some(start) = search.line_behind(from, high)? else {
                // Only lines that are no events, or the rest of one: nothing is known of them.
                found.behind = behind.or(found.behind);
                high = middle + 1;
                break;
            };
            match search.look(start)? {
                Some((true, seq)) => {
                    (found.offset, found.seq, found.behind) = (start, Some(seq), None);
                    high = start;
                    break;
                }
                Some((false, _)) => {
                    low = start;
                    break;
                }
                None => {
                    behind = behind.or(Some(start));
                    found.damaged = found.damaged.or(behind);
                    from = start;
                }
            }
        }
    }
    let window = read_range(file, low, high + wide(Envelope::MAX_LEN))?;
    let mut line = window.as_slice();
    let mut behind = None;
    while low < high {
        match search.judge(line) {
            Some((true, seq)) => {
                (found.offset, found.seq, found.behind) = (low, Some(seq), behind);
                return Ok(found);
            }
            Some((false, _)) => behind = None,
            None => {
                behind = behind.or(Some(low));
                found.damaged = found.damaged.or(behind);
            }
        }
        let Some(newline) = memchr::memchr(b'\n', line) else {
            break;
        };
        line = line.get(newline + 1..).unwrap_or_default();
        low += wide(newline) + 1;
    }
    found.behind = behind.or(found.behind);
    Ok(found)
}

struct Search<'a, F> {
    file: &'a File,
    reached: F,
}

impl<F: Fn(&Envelope<'_>) -> Option<bool>> Search<'_, F> {
    /// Whether the line at `start` is reached, and its position; `None` if it is no event.
    fn look(&self, start: u64) -> io::Result<Option<(bool, SeqNum)>> {
        let line = read_range(self.file, start, start + wide(Envelope::MAX_LEN))?;
        Ok(self.judge(&line))
    }

    fn judge(&self, line: &[u8]) -> Option<(bool, SeqNum)> {
        let (envelope, _) = Envelope::read(line)?;
        Some(((self.reached)(&envelope)?, envelope.seq))
    }

    /// The first line that begins behind `at` and before `end`.
    fn line_behind(&self, at: u64, end: u64) -> io::Result<Option<u64>> {
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
