//! Pieces of a log that changed places, as blocks of a file do on a disk or in a copy that failed.

use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};

use sessionlog_core::{Head, Kinds, SeqNum, SessionId};

use crate::format::scan;
use crate::lines;

/// In a log with more pieces than these, nothing is in its place any more.
const MOST: usize = 1 << 20;

/// Lines from here on, up to the next run, follow one another.
struct Run {
    at: u64,
    first: SeqNum,
}

/// The bytes in `range` of a log in the order of the positions of their events, of which `tail` is due
/// first: one piece, if that is the order in which they lie.
///
/// A piece begins where two events follow one another by their checksums, and neither the one before
/// them. Costs a look at each of the bytes.
pub(crate) fn of(
    file: &File,
    range: Range<u64>,
    session: &SessionId,
    tail: SeqNum,
) -> io::Result<Vec<Range<u64>>> {
    let mut runs = vec![Run {
        at: range.start,
        first: tail,
    }];
    let mut kinds = Kinds::default();
    // The last whole line: where it is, whether it belongs to the run, and the head behind it.
    let mut last: Option<(Run, bool, Head)> = None;
    let mut due = tail;
    let all: io::Result<_> = lines::each(file, range.clone(), |bytes, line, offset| {
        let Some(line) = scan(bytes, line, &mut kinds) else {
            return Ok(ControlFlow::Continue(()));
        };
        let run = Run {
            at: offset,
            first: line.event.seq,
        };
        let mut follows = false;
        if let Some((first, belongs, mut head)) = last.take()
            && head.verify(session, &line.event).is_ok()
        {
            if !belongs && first.first != due {
                runs.push(first);
            }
            due = line.event.seq.plus(1);
            follows = true;
        }
        last = Some((run, follows, Head::after(&line.event)));
        Ok(match runs.len() > MOST {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    });
    if all?.is_break() {
        return Ok(vec![range]);
    }
    let ends = runs.iter().skip(1).map(|run| run.at).chain([range.end]);
    let mut pieces: Vec<_> = runs
        .iter()
        .zip(ends)
        .map(|(run, end)| (run.first, run.at..end))
        .collect();
    // What is not due any more is behind everything else.
    let place = |first: SeqNum| (first < tail, first);
    if pieces.is_sorted_by_key(|(first, _)| place(*first)) {
        return Ok(vec![range]);
    }
    pieces.sort_by_key(|(first, _)| place(*first));
    Ok(pieces.into_iter().map(|(_, piece)| piece).collect())
}
