//! What the index of the write-ahead log, the `-shm` file, says of it.
//!
//! SQLite writes there how many frames are committed, with a checksum, once they are flushed
//! (<https://sqlite.org/walformat.html#the_wal_index_header>). The file is no part of the store, may be
//! gone or old, and the first connection empties it; but of a process that was killed it stays. So a log
//! that has fewer whole frames than the index of the same log knows was damaged after it was written.

use std::fs::File;
use std::io;

use sessionlog_local::files::read_range;

use crate::wal::Checksum;

/// The size of one of the two copies of the header.
const COPY: usize = 48;
/// The only version of it that there is.
const VERSION: u32 = 3_007_000;

/// What one copy of the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    /// Which log it is about, as in the log's own header.
    pub(crate) salts: [u8; 8],
    /// How many frames of it were committed and flushed.
    pub(crate) frames: u64,
}

/// What the copies say that are whole.
pub(crate) fn read(file: &File) -> io::Result<Vec<Known>> {
    let bytes = read_range(file, 0, 2 * COPY as u64)?;
    Ok(bytes.chunks_exact(COPY).filter_map(known).collect())
}

fn known(copy: &[u8]) -> Option<Known> {
    // In the byte order of the machine, but for the salts.
    let word = |at: usize| {
        let word = copy.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_ne_bytes(word))
    };
    let sum = Checksum::default().then(copy.get(..40)?, cfg!(target_endian = "big"));
    let whole = word(0)? == VERSION && *copy.get(12)? != 0 && sum == Checksum(word(40)?, word(44)?);
    whole.then_some(Known {
        salts: copy.get(32..40)?.try_into().ok()?,
        frames: u64::from(word(16)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    #[test]
    fn it_tells_the_log_and_its_length() {
        let dir = tempfile::tempdir().unwrap();
        let conn = Connection::open(dir.path().join("a.db")).unwrap();
        conn.execute_batch(
            "PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; CREATE TABLE t (x)",
        )
        .unwrap();
        let log = std::fs::read(dir.path().join("a.db-wal")).unwrap();
        let frames = (log.len() as u64 - 32) / (1024 + 24);
        let index = File::open(dir.path().join("a.db-shm")).unwrap();
        let salts = log[16..24].try_into().unwrap();
        let known = Known { salts, frames };
        assert!(frames > 0);
        assert_eq!(read(&index).unwrap(), [known, known]);
    }

    #[test]
    fn it_says_nothing_when_it_is_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let conn = Connection::open(dir.path().join("a.db")).unwrap();
        conn.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x)")
            .unwrap();
        let bytes = std::fs::read(dir.path().join("a.db-shm")).unwrap();
        for at in 0..48 {
            let mut copy = bytes[..48].to_vec();
            copy[at] ^= 4;
            assert_eq!(known(&copy), None, "{at}");
        }
        assert_eq!(known(&[0; 48]), None);
        assert_eq!(known(&[]), None);
    }
}
