//! Whether what lies behind the last whole commit is a torn tail or damage.
//!
//! A torn tail is what one write that was never acknowledged can leave. Everything else is damage,
//! so that a changed bit in the last commit never passes for one that was not there.

use std::ops::Range;

use bytes::Bytes;
use sessionlog_core::{Head, Kinds, SessionId};
use sessionlog_local::files::wide;

use crate::format::{Part, scan, sum_of};
use crate::prefix::begins_an_event;

/// The smallest piece of a file that reaches a disk whole or not at all.
const SECTOR: u64 = 512;

/// What lies behind the last whole commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing, or space written ahead.
    Empty,
    /// A commit that was broken off.
    Torn,
    /// Something that no broken-off commit leaves: where in the rest, and what.
    Damaged { at: usize, what: &'static str },
}

fn damaged(at: usize, what: &'static str) -> Rest {
    Rest::Damaged { at, what }
}

const MISMATCH: &str = "the event does not match its checksum";
const NO_EVENT: &str = "the line is not an event";
const FOREIGN: &str = "bytes behind the last event that no append wrote";
const NULS: &str = "a run of NUL bytes";

/// Decides what `rest` is: the bytes from `offset`, where the last whole commit ends with `head`,
/// to the end of the file.
pub(crate) fn classify(rest: &Bytes, offset: u64, head: Head, session: &SessionId) -> Rest {
    let Some(last) = rest.iter().rposition(|b| *b != b'\n') else {
        return Rest::Empty;
    };
    let text = rest.slice(..=last);
    let old = old_pieces(&text, offset);
    if old.is_empty() {
        let filler = rest.len() - text.len();
        gapless(&text, filler, head, session)
    } else {
        gapped(&text, &old, head)
    }
}

/// The parts of `text` that the write did not reach: whole sectors of newlines that were written
/// ahead, of NUL behind the former end of the file, or of the one and then the other.
fn old_pieces(text: &[u8], offset: u64) -> Vec<Range<usize>> {
    let mut old: Vec<Range<usize>> = Vec::new();
    let first = usize::try_from(SECTOR - offset % SECTOR).unwrap_or(text.len());
    let mut piece = 0..first.min(text.len());
    while !piece.is_empty() {
        let bytes = text.get(piece.clone()).unwrap_or_default();
        let nul = bytes
            .iter()
            .position(|b| *b != b'\n')
            .unwrap_or(bytes.len());
        if bytes
            .get(nul..)
            .is_some_and(|rest| rest.iter().all(|b| *b == 0))
        {
            match old.last_mut() {
                Some(before) if before.end == piece.start => before.end = piece.end,
                _ => old.push(piece.clone()),
            }
        }
        piece = piece.end..text.len().min(piece.end + 512);
    }
    old
}

/// How many events of a rest begin before a place in it.
pub(crate) fn events_before(rest: &[u8], at: usize) -> u64 {
    let before = rest.get(..at).unwrap_or_default();
    let lines = before.split(|b| *b == b'\n');
    wide(lines.filter(|line| line.starts_with(b"{")).count())
}

/// Without gaps it must be a proper beginning of one commit.
fn gapless(text: &Bytes, filler: usize, mut head: Head, session: &SessionId) -> Rest {
    if let Some(at) = memchr::memchr(0, text) {
        return damaged(at, NULS);
    }
    let mut kinds = Kinds::default();
    let mut due: Option<Part> = None;
    let mut start = 0;
    loop {
        let end = text
            .get(start..)
            .and_then(|rest| memchr::memchr(b'\n', rest))
            .map_or(text.len(), |len| start + len);
        let line = scan(text, start..end, &mut kinds).filter(|line| match due {
            Some(part) => line.part == part,
            None => line.part.at == 1,
        });
        match line {
            // A commit that had come to its end would not be in the rest.
            Some(_) if due.is_none() && start > 0 => return damaged(start, FOREIGN),
            Some(line) if head.verify(session, &line.event).is_ok() => {
                due = (!line.part.is_last()).then(|| line.part.next());
            }
            Some(_) if end < text.len() || filler > 0 => return damaged(start, MISMATCH),
            None if end < text.len() => return damaged(start, NO_EVENT),
            // A payload can have the look of a line's end in it, and be cut there.
            _ => {
                let fragment = text.get(start..).unwrap_or_default();
                // Before newlines, only a line that does not look whole can have been cut.
                let is_cut = filler == 0 || sum_of(fragment).is_none();
                return if is_cut && begins_an_event(fragment, head.tail, due) {
                    Rest::Torn
                } else if start == 0 && !fragment.starts_with(b"{\"seq\":") {
                    damaged(start, FOREIGN)
                } else {
                    damaged(start, NO_EVENT)
                };
            }
        }
        if end >= text.len() {
            return Rest::Torn;
        }
        start = end + 1;
    }
}

/// With gaps, everything that can be read must belong to one commit that begins here.
fn gapped(text: &Bytes, old: &[Range<usize>], head: Head) -> Rest {
    let is_old = |at: usize| old.iter().any(|piece| piece.contains(&at));
    if let Some(at) = memchr::memchr_iter(0, text).find(|at| !is_old(*at)) {
        return damaged(at, NULS);
    }
    // From here on there is nothing but space. Found once: there may be a line for each byte of it.
    let is_text = |byte: &u8| !matches!(byte, 0 | b'\n');
    let space = text.iter().rposition(is_text).map_or(0, |last| last + 1);
    let mut kinds = Kinds::default();
    let mut start = 0;
    while start < text.len() {
        let end = text
            .get(start..)
            .and_then(|rest| memchr::memchr(b'\n', rest))
            .map_or(text.len(), |len| start + len);
        let around = start.saturating_sub(1)..end + 1;
        let touches = old
            .iter()
            .any(|piece| piece.start < around.end && around.start < piece.end);
        match scan(text, start..end, &mut kinds) {
            Some(line) if line.part.of == 1 || line.commit_start() != head.tail => {
                return damaged(start, "an event is missing before a whole one");
            }
            // The commit ends here, and the space behind it has gaps as well.
            None if end == start && start >= space => return Rest::Torn,
            None if !touches && end < text.len() => return damaged(start, NO_EVENT),
            _ => {}
        }
        start = end + 1;
    }
    Rest::Torn
}

#[cfg(test)]
mod tests;
