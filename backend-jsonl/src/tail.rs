//! The end of a log: the last whole commit, and what lies behind it.

use std::fs::File;
use std::io;

use bytes::Bytes;
use sessionlog_core::{Event, Head, Kinds, SeqNum, SessionId};

use crate::format::{Line, Part, scan};
use sessionlog_local::files::{narrow, read_range, wide};

/// Where the log ends, as far as it is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// The byte behind the newline of the last event.
    pub(crate) offset: u64,
    /// The end of the log in events.
    pub(crate) head: Head,
}

/// How far back the last whole commit is looked for.
const FURTHEST: u64 = 512 << 20;
/// How much is read at first.
const WINDOW: u64 = 64 << 10;

/// Goes forward over whole commits that verify, and hands their events to `each`. Gives the length
/// of what they take in `bytes`.
pub(crate) fn walk(
    bytes: &Bytes,
    head: &mut Head,
    session: &SessionId,
    mut each: impl FnMut(&Event),
) -> usize {
    let mut kinds = Kinds::default();
    let mut commit: Vec<Event> = Vec::new();
    let (mut next, mut due) = (*head, None);
    let (mut start, mut whole) = (0, 0);
    for end in memchr::memchr_iter(b'\n', bytes) {
        let Some(Line { event, part }) = scan(bytes, start..end, &mut kinds) else {
            break;
        };
        if part != due.unwrap_or(Part { at: 1, of: part.of })
            || next.verify(session, &event).is_err()
        {
            break;
        }
        start = end + 1;
        commit.push(event);
        if part.is_last() {
            commit.iter().for_each(&mut each);
            commit.clear();
            *head = next;
            whole = start;
            due = None;
        } else {
            due = Some(part.next());
        }
    }
    whole
}

/// The last whole commit of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Last {
    /// Where its first line begins.
    pub(crate) start: u64,
    pub(crate) end: End,
}

/// Finds the last whole commit from the end of the file backwards. `begin` is the end of an empty
/// log, and then that of its last commit, too. `None` if there is none within reach.
pub(crate) fn find(
    file: &File,
    size: u64,
    begin: End,
    session: &SessionId,
) -> io::Result<Option<Last>> {
    let text_end = without_filler(file, begin.offset, size)?;
    let mut window = WINDOW;
    loop {
        let from = text_end.saturating_sub(window).max(begin.offset);
        let bytes = Bytes::from(read_range(file, from, size.min(text_end + 1))?);
        let at_begin = from == begin.offset;
        match last_whole(&bytes, at_begin.then_some(begin.head), session) {
            Search::Found { first, len, head } => {
                let (start, offset) = (from + wide(first), from + wide(len));
                let end = End { offset, head };
                return Ok(Some(Last { start, end }));
            }
            Search::None if at_begin => {
                let (start, end) = (begin.offset, begin);
                return Ok(Some(Last { start, end }));
            }
            Search::None if window >= FURTHEST => return Ok(None),
            // No more than this is ever in memory.
            Search::None => window = window.saturating_mul(4).min(FURTHEST),
        }
    }
}

/// Where the newlines at the end of a file begin.
pub(crate) fn without_filler(file: &File, begin: u64, size: u64) -> io::Result<u64> {
    let mut end = size;
    while end > begin {
        let from = end.saturating_sub(WINDOW).max(begin);
        let bytes = read_range(file, from, end)?;
        if let Some(last) = bytes.iter().rposition(|b| *b != b'\n') {
            return Ok(from + wide(last) + 1);
        }
        end = from;
    }
    Ok(begin)
}

enum Search {
    /// The commit begins `first` bytes into the window, and ends `len` into it.
    Found {
        first: usize,
        len: usize,
        head: Head,
    },
    None,
}

/// The last whole commit in a window. `begin` is given if the window begins where the log does.
fn last_whole(bytes: &Bytes, begin: Option<Head>, session: &SessionId) -> Search {
    let mut kinds = Kinds::default();
    for newline in memchr::memrchr_iter(b'\n', bytes) {
        let Some((start, last)) = line_before(bytes, newline, begin.is_some(), &mut kinds) else {
            continue;
        };
        if !last.part.is_last() {
            continue;
        }
        let Some((first, mut head)) = chain(bytes, start, &last, begin, &mut kinds) else {
            continue;
        };
        let len = newline + 1;
        if walk(&bytes.slice(first..len), &mut head, session, |_| {}) == len - first {
            return Search::Found { first, len, head };
        }
    }
    Search::None
}

/// The event whose line ends with the newline at `newline`, and where the line begins.
fn line_before(
    bytes: &Bytes,
    newline: usize,
    whole_start: bool,
    kinds: &mut Kinds,
) -> Option<(usize, Line)> {
    let start = match memchr::memrchr(b'\n', bytes.get(..newline)?) {
        Some(before) => before + 1,
        None if whole_start => 0,
        None => return None,
    };
    Some((start, scan(bytes, start..newline, kinds)?))
}

/// Where the commit that ends with `last` begins, and the end of the log before it.
fn chain(
    bytes: &Bytes,
    start: usize,
    last: &Line,
    begin: Option<Head>,
    kinds: &mut Kinds,
) -> Option<(usize, Head)> {
    let mut first = start;
    for _ in 1..last.part.of {
        let before = bytes.get(..first.checked_sub(1)?)?;
        first = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    }
    if last.commit_start() == SeqNum::ZERO {
        return begin.filter(|_| first == 0).map(|head| (0, head));
    }
    let (_, before) = line_before(bytes, first.checked_sub(1)?, begin.is_some(), kinds)?;
    (before.part.is_last()).then(|| (first, Head::after(&before.event)))
}

/// A file of which `size` bytes are in memory would be too large.
pub(crate) fn fits(size: u64) -> bool {
    size <= FURTHEST && narrow(size).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Jsonl, Options};
    use sessionlog_testkit::filled;

    /// What it begins with may be the rest of a line, whose payload has the look of one.
    #[test]
    fn the_first_line_of_a_window_is_believed_at_the_beginning_of_the_log_alone() {
        let dir = tempfile::tempdir().unwrap();
        let store = Jsonl::open(dir.path(), Options::default()).unwrap();
        let session = filled(&store, "s", 3);
        let begin = store.life(&session).unwrap().begin;
        let log = std::fs::read(dir.path().join("s/events.jsonl")).unwrap();
        let first = usize::try_from(begin.offset).unwrap();
        let lines = Bytes::from(log).slice(first..);
        let found = |bytes: &Bytes, begin| match last_whole(bytes, begin, &session.id) {
            Search::Found { len, head, .. } => Some((len, head.tail.get())),
            Search::None => None,
        };
        let at_begin = found(&lines, Some(begin.head));
        assert_eq!(at_begin, Some((lines.len(), 3)));
        let ends: Vec<usize> = memchr::memchr_iter(b'\n', &lines).collect();
        let of = |from: usize, to: usize| found(&lines.slice(from..=ends[to]), None);
        // The second event, behind the rest of the first, and behind what may be one.
        assert_eq!(of(0, 1), None);
        assert_eq!(of(0, 2), Some((ends[2] + 1, 3)));
        assert_eq!(of(ends[0] + 1, 2), None);
    }
}
