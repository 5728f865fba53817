//! What a flush that failed may have lost, written once more.
//!
//! A system may take pages for clean whose write failed: they can be read, and are not on the disk. A later
//! flush proves nothing of them, until they are written anew.

use std::fs::File;
use std::io;
use std::ops::Range;

use crate::files::{read_range, wide, write_all_at};

/// How much is written at once.
const PIECE: usize = 1 << 20;

/// Writes the bytes of a range as they are read, and flushes the file. `from` and `to` are the same file,
/// opened to read and to write. Costs a read and a write of the range; nobody else may write there.
///
/// # Errors
/// Whatever a read, a write or the flush gives: the bytes are as much in doubt as before.
pub fn write_anew(from: &File, to: &File, range: Range<u64>) -> io::Result<()> {
    for at in range.clone().step_by(PIECE) {
        let piece = read_range(from, at, range.end.min(at + wide(PIECE)))?;
        write_all_at(to, &piece, at)?;
    }
    to.sync_data()
}
