//! What a flush that failed may have lost, written once more.
//!
//! A system may take pages for clean whose write failed: they can be read, and are not on the disk. A later
//! flush proves nothing of them, until they are written anew.

use std::fs::File;
use std::io;
use std::ops::Range;

use crate::files::{read_range, write_all_at};

/// How much is written at once. Pieces begin at multiples of it, so that no sector is written by two, as long as
/// the system takes what it is given: a power loss could keep a part of it.
const PIECE: u64 = 1 << 20;

/// Writes the bytes of a range as they are read, and flushes the file. `from` and `to` are the same file,
/// opened to read and to write. Costs a read and a write of the range; nobody else may write there.
///
/// # Errors
/// Whatever a read, a write or the flush gives: the bytes are as much in doubt as before.
pub fn write_anew(from: &File, to: &File, range: Range<u64>) -> io::Result<()> {
    let mut at = range.start;
    while at < range.end {
        let end = range.end.min((at / PIECE + 1) * PIECE);
        write_all_at(to, &read_range(from, at, end)?, at)?;
        at = end;
    }
    to.sync_data()
}
