//! A look at the write-ahead log that a crash left.
//!
//! SQLite takes the frames of its log up to the first that does not match its checksum, and believes
//! that the rest was never acknowledged. That is right for the last transaction, which a power cut may
//! have torn. If another transaction follows, the one before was flushed: then the frame was damaged
//! later, and going on would lose what was acknowledged (<https://sqlite.org/fileformat2.html#walformat>).

use std::fs::File;
use std::io;
use std::path::Path;

use sessionlog_local::files::{open_read, read_range};

const HEADER: u64 = 32;
const FRAME: u64 = 24;

/// The byte of the first damage, if there is any. Right beside a process that writes, too.
pub(crate) fn damage(path: &Path) -> io::Result<Option<u64>> {
    let file = match open_read(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut found = walk(&file)?;
    for _ in 0..3 {
        // A frame that is being written looks damaged for a moment.
        let again = found.map(|_| walk(&file)).transpose()?.flatten();
        if again != found {
            found = None;
        }
    }
    Ok(found)
}

/// Two sums over words, as SQLite has them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Checksum(u32, u32);

impl Checksum {
    fn then(self, bytes: &[u8], big: bool) -> Self {
        let mut words = bytes.chunks_exact(4).map(|word| {
            let word = word.try_into().unwrap_or_default();
            if big {
                u32::from_be_bytes(word)
            } else {
                u32::from_le_bytes(word)
            }
        });
        let Self(mut a, mut b) = self;
        while let (Some(x), Some(y)) = (words.next(), words.next()) {
            a = a.wrapping_add(x).wrapping_add(b);
            b = b.wrapping_add(y).wrapping_add(a);
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

fn walk(file: &File) -> io::Result<Option<u64>> {
    let header = read_range(file, 0, HEADER)?;
    let magic = word(&header, 0);
    let (page, big) = (u64::from(word(&header, 8)), magic & 1 == 1);
    let len = file.metadata()?.len();
    let salts = two(&header, 16);
    let plain = header.get(..24).unwrap_or_default();
    let sum = Checksum(0, 0).then(plain, big);
    if magic >> 1 != 0x377f_0682 >> 1 || sum != two(&header, 24) {
        return broken_header(file, &header, len);
    }
    if !page.is_power_of_two() || !(512..=65536).contains(&page) {
        return Ok(Some(0));
    }
    let (mut sum, mut offset) = (sum, HEADER);
    let mut bad: Option<u64> = None;
    let (mut committed, mut before) = (false, sum);
    while offset + FRAME + page <= len {
        let frame = read_range(file, offset, offset + FRAME + page)?;
        let ours = two(&frame, 8) == salts;
        let behind = |sum: Checksum| {
            let (head, data) = (frame.get(..8), frame.get(24..));
            sum.then(head.unwrap_or_default(), big)
                .then(data.unwrap_or_default(), big)
        };
        let stored = two(&frame, 16);
        // Written behind the frame before it: that one's own sum may be what is damaged, or its data.
        // What a torn transaction left behind the end of a newer one belongs to no frame before it.
        let follows = behind(sum) == stored || behind(before) == stored;
        sum = behind(sum);
        before = stored;
        if bad.is_none() && (!ours || sum != stored) {
            bad = Some(offset);
        }
        if bad.is_some() && ours {
            if committed && follows {
                // The log was begun anew meanwhile?
                return Ok(bad.filter(|_| read_range(file, 0, HEADER).is_ok_and(|h| h == header)));
            }
            committed = word(&frame, 4) > 0;
        }
        offset += FRAME + page;
    }
    Ok(None)
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
    let sum = |big| Checksum(0, 0).then(mended.get(..24).unwrap_or_default(), big);
    let stored = two(header, 24);
    let same = header.get(16..24) == Some(salts);
    Ok((same || sum(true) == stored || sum(false) == stored).then_some(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    /// A log of several commits that nobody checkpointed, and where its frames begin.
    fn log() -> (Vec<u8>, Vec<usize>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch(
            "PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; CREATE TABLE t (x)",
        )
        .unwrap();
        for n in 0..6 {
            conn.execute("INSERT INTO t VALUES (zeroblob(?1))", [n * 400])
                .unwrap();
        }
        let bytes = std::fs::read(dir.path().join("a.db-wal")).unwrap();
        let frames = (32..bytes.len()).step_by(1024 + 24).collect();
        (bytes, frames)
    }

    fn look(bytes: &[u8]) -> Option<u64> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        damage(file.path()).unwrap()
    }

    #[test]
    fn a_whole_log_and_one_torn_at_any_place_are_no_damage() {
        let (bytes, _) = log();
        assert_eq!(look(&bytes), None);
        for len in (0..bytes.len()).step_by(97) {
            assert_eq!(look(&bytes[..len]), None, "{len}");
        }
        assert_eq!(look(&[]), None);
    }

    #[test]
    fn a_flipped_bit_before_the_last_commits_is_damage() {
        let (bytes, frames) = log();
        let early = frames[frames.len() - 5];
        for at in (0..early).step_by(61).chain(0..32) {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            assert!(look(&changed).is_some(), "{at}");
        }
    }

    #[test]
    fn what_a_torn_transaction_left_behind_a_newer_one_is_no_damage() {
        let (bytes, frames) = log();
        // A frame with a commit is written over the torn ones, and only its head reaches the disk.
        let last = frames.len() - 1;
        for torn in last - 3..last {
            let mut changed = bytes.clone();
            let at = frames[torn];
            changed[at + 4..at + 8].copy_from_slice(&9_u32.to_be_bytes());
            changed[at + 16..at + 24].copy_from_slice(&[7; 8]);
            // Behind it is one transaction alone, none of whose frames follows this one.
            for frame in &frames[torn + 1..] {
                changed[frame + 4..frame + 8].copy_from_slice(&0_u32.to_be_bytes());
            }
            assert_eq!(look(&changed), None, "{torn}");
        }
    }

    #[test]
    fn what_is_no_log_is_damage_unless_it_is_blank() {
        assert_eq!(look(b"somebody's notes"), Some(0));
        assert_eq!(look(&[7; 40_000]), Some(0));
        assert_eq!(look(&[0; 4_096]), None);
    }

    #[test]
    fn a_last_transaction_that_is_torn_is_no_damage() {
        let (bytes, frames) = log();
        let last = *frames.last().unwrap();
        for at in [last + 4, last + 8, last + 20, last + 500] {
            let mut changed = bytes.clone();
            changed[at] ^= 4;
            assert_eq!(look(&changed), None, "{at}");
        }
    }
}
