//! A look at the write-ahead log that a crash left.
//!
//! SQLite takes the frames of its log up to the first that does not match its checksum, and believes
//! that the rest was never acknowledged. That is right for the last transaction, which a power cut may
//! have torn. If another transaction follows, the one before was flushed: then the frame was damaged
//! later, and going on would lose what was acknowledged (<https://sqlite.org/fileformat2.html#walformat>).
//! Where the index of the log survived, it tells how much of it was flushed: see `wal_index`.

use std::fs::File;
use std::io;
use std::path::Path;

use sessionlog_local::anew;
use sessionlog_local::files::{open_read, open_write, read_range};

use crate::wal_index::Known;

const HEADER: u64 = 32;
const FRAME: u64 = 24;

/// The byte of the first damage, if there is any. Right beside a process that writes, too, if what the
/// index knows was read before.
pub(crate) fn damage(path: &Path, known: &[Known]) -> io::Result<Option<u64>> {
    let Some(file) = opened(path)? else {
        return Ok(None);
    };
    let mut found = walk(&file, known)?;
    for _ in 0..3 {
        // A frame that is being written looks damaged for a moment.
        let again = found.map(|_| walk(&file, known)).transpose()?.flatten();
        if again != found {
            found = None;
        }
    }
    Ok(found)
}

/// Flushes the log. What a killed process wrote and did not flush is committed as soon as somebody opens
/// the database, and then in the index. So it is flushed before that.
pub(crate) fn flush(path: &Path) -> io::Result<()> {
    match opened(path)? {
        Some(file) if cfg!(unix) && file.metadata()?.len() > 0 => file.sync_data(),
        _ => Ok(()),
    }
}

/// The same behind a flush that failed. For who has the write lock: nobody else writes to the log then.
pub(crate) fn write_anew(path: &Path) -> io::Result<()> {
    match opened(path)? {
        Some(file) => anew::write_anew(&file, &open_write(path)?, 0..file.metadata()?.len()),
        None => Ok(()),
    }
}

fn opened(path: &Path) -> io::Result<Option<File>> {
    match open_read(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

/// Two sums over words, as SQLite has them.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Checksum(pub(crate) u32, pub(crate) u32);

impl Checksum {
    pub(crate) fn then(self, bytes: &[u8], big: bool) -> Self {
        let word = |bytes: &[u8; 4]| match big {
            true => u32::from_be_bytes(*bytes),
            false => u32::from_le_bytes(*bytes),
        };
        let Self(mut a, mut b) = self;
        for pair in bytes.as_chunks::<8>().0 {
            let ([x @ .., _, _, _, _], [_, _, _, _, y @ ..]) = (pair, pair);
            a = a.wrapping_add(word(x)).wrapping_add(b);
            b = b.wrapping_add(word(y)).wrapping_add(a);
        }
        Self(a, b)
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
    u32::from_be_bytes(word.unwrap_or_default())
}

fn two(bytes: &[u8], at: usize) -> Checksum {
    Checksum(word(bytes, at), word(bytes, at + 4))
}

fn walk(file: &File, known: &[Known]) -> io::Result<Option<u64>> {
    let header = read_range(file, 0, HEADER)?;
    let magic = word(&header, 0);
    let (page, big) = (u64::from(word(&header, 8)), magic & 1 == 1);
    let len = file.metadata()?.len();
    let salts = two(&header, 16);
    let plain = header.get(..24).unwrap_or_default();
    let sum = Checksum::default().then(plain, big);
    if magic >> 1 != 0x377f_0682 >> 1 || sum != two(&header, 24) {
        return broken_header(file, &header, len);
    }
    if !page.is_power_of_two() || !(512..=65536).contains(&page) {
        return Ok(Some(0));
    }
    let (mut sum, mut offset) = (sum, HEADER);
    let mut bad: Option<u64> = None;
    let (mut committed, mut before) = (false, sum);
    // The log was begun anew meanwhile?
    let still = || read_range(file, 0, HEADER).is_ok_and(|now| now == header);
    while offset + FRAME + page <= len {
        let frame = read_range(file, offset, offset + FRAME + page)?;
        let ours = two(&frame, 8) == salts;
        let behind = |sum: Checksum| {
            let (head, data) = (frame.get(..8), frame.get(24..));
            sum.then(head.unwrap_or_default(), big)
                .then(data.unwrap_or_default(), big)
        };
        let stored = two(&frame, 16);
        sum = behind(sum);
        if bad.is_none() && (!ours || sum != stored) {
            bad = Some(offset);
        }
        if bad.is_some() && ours {
            // Written behind the frame before it: that one's own sum may be what is damaged, or its data.
            // What a torn transaction left behind the end of a newer one belongs to no frame before it.
            if committed && (sum == stored || behind(before) == stored) {
                return Ok(bad.filter(|_| still()));
            }
            committed = word(&frame, 4) > 0;
        }
        before = stored;
        offset += FRAME + page;
    }
    let end = bad.unwrap_or(offset);
    let whole = (end - HEADER) / (FRAME + page);
    let same = |known: &&Known| header.get(16..24) == Some(&known.salts[..]);
    let short = known.iter().filter(same).any(|k| k.frames > whole);
    Ok((short && still()).then_some(end))
}

/// A header that does not match its checksum: damaged if it belongs to the frames behind it. A new one
/// that was torn has other salts than the old frames, which are in the database already.
fn broken_header(file: &File, header: &[u8], len: u64) -> io::Result<Option<u64>> {
    // What was written ahead of a power cut is NUL, or the beginning of a header.
    let begins = |magic: [u8; 4]| header.iter().zip(magic).all(|(a, b)| *a == b);
    let is_header = begins([0x37, 0x7f, 0x06, 0x82]) || begins([0x37, 0x7f, 0x06, 0x83]);
    if !is_header && header.iter().any(|byte| *byte != 0) {
        return Ok(Some(0));
    }
    if !is_header {
        // No frame is written before the header is flushed.
        return Ok((!is_blank(file, len)?).then_some(0));
    }
    if len < HEADER + FRAME {
        return Ok(None);
    }
    let frame = read_range(file, HEADER, HEADER + FRAME)?;
    let salts = frame.get(8..16).unwrap_or_default();
    // No frame was written behind it.
    if salts == [0; 8] {
        return Ok(None);
    }
    let mut mended = header.to_vec();
    mended.splice(16..24, salts.iter().copied());
    let sum = |big| Checksum::default().then(mended.get(..24).unwrap_or_default(), big);
    let stored = two(header, 24);
    let same = header.get(16..24) == Some(salts);
    Ok((same || sum(true) == stored || sum(false) == stored).then_some(0))
}

fn is_blank(file: &File, len: u64) -> io::Result<bool> {
    for from in (0..len).step_by(1 << 16) {
        if read_range(file, from, from + (1 << 16))?
            .iter()
            .any(|b| *b != 0)
        {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
