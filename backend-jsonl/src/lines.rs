//! The lines of a log that may be damaged, a block at a time.

use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};

use bytes::Bytes;
use sessionlog_local::files::{read_range, wide};

/// How much is read at a time, and the longest line that is taken for one.
const BLOCK: u64 = 1 << 20;
const LONGEST: u64 = 512 << 20;

/// Hands over each line in `range` of a file: where it lies in the bytes, without its newline, and where
/// in the file. What is behind the last newline is a line, too.
pub(crate) fn each<E: From<io::Error>>(
    file: &File,
    range: Range<u64>,
    mut each: impl FnMut(&Bytes, Range<usize>, u64) -> Result<ControlFlow<()>, E>,
) -> Result<ControlFlow<()>, E> {
    let Range {
        start: mut offset,
        end: until,
    } = range;
    let mut size = BLOCK;
    while offset < until {
        let bytes = Bytes::from(read_range(file, offset, until.min(offset + size))?);
        if bytes.is_empty() {
            break;
        }
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &bytes) {
            if each(&bytes, start..end, offset + wide(start))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            start = end + 1;
        }
        let at_end = offset + wide(bytes.len()) >= until;
        if start == 0 && !at_end && size < LONGEST {
            size *= 4;
            continue;
        }
        // No newline behind it: the end of the file, or nothing that could be a line.
        if (start == 0 || at_end) && start < bytes.len() {
            if each(&bytes, start..bytes.len(), offset + wide(start))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            start = bytes.len();
        }
        offset += wide(start);
        size = BLOCK;
    }
    Ok(ControlFlow::Continue(()))
}
