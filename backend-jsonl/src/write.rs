//! The one write of a commit, and its flush.

use std::fs::File;
use std::io;

use sessionlog_core::{Error, Result};
use sessionlog_local::files::{failed, wide, write_once_at};

use crate::flushed::Flushed;
use crate::life::{Known, Life};
use crate::tail::End;

/// Writes with one call at least as far as the commit ends; space behind it need not be whole. Gives how far.
fn put(file: &File, bytes: &[u8], offset: u64, end: u64) -> io::Result<u64> {
    let to = offset + wide(write_once_at(file, bytes, offset)?);
    if to >= end {
        return Ok(to);
    }
    let (taken, all) = (to - offset, end - offset);
    let told = format!("the system took {taken} of {all} bytes, perhaps the disk is full");
    Err(io::Error::new(io::ErrorKind::WriteZero, told))
}

/// Whether the system took less than a whole commit.
fn is_short(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WriteZero
}

/// Writes and flushes at the known end, or takes it back.
pub(crate) fn write(
    file: &File,
    bytes: &[u8],
    before: Known,
    end: End,
    flushed: &mut Flushed,
    life: &Life,
) -> Result<Known> {
    let offset = before.end.offset;
    let mut size = before.size;
    let put = || put(file, bytes, offset, end.offset);
    let mut written = put();
    // Of two writes a power loss may take either, and what is left would be no beginning of a commit. So
    // what was taken of one is taken back before it is tried as a whole again, once.
    if written.as_ref().is_err_and(is_short) {
        size = offset;
        let cut = flushed.cut(file, offset);
        written = cut.and_then(|()| put());
    }
    let flush = |to| flushed.flush(file, end.offset).map(|()| to);
    let error = match written.and_then(flush) {
        Ok(to) => {
            return Ok(Known {
                end,
                size: size.max(to),
                clean: true,
            });
        }
        Err(error) => error,
    };
    // The pages may count as clean now without being on the disk: a second flush would prove
    // nothing. What was written is taken back instead.
    match flushed.cut(file, offset) {
        Ok(()) => Err(failed("write to", &life.events)(error)),
        Err(_) => Err(Error::indeterminate(format!(
            "the write failed and could not be taken back: {}",
            life.events.display()
        ))
        .with_source(error)),
    }
}
