//! The format: tables, numbers, and what a writer's connection must have.

/// `sess`, in the header of the database.
pub(crate) const APPLICATION: u32 = 0x7365_7373;
/// The format that this version writes, and the newest that it reads.
pub(crate) const FORMAT: u32 = 1;

/// Everything in a fresh database, but for its header.
pub(crate) const TABLES: &str = "
CREATE TABLE store (only_row INTEGER PRIMARY KEY CHECK (only_row = 0),
  sessions INTEGER NOT NULL, settled INTEGER NOT NULL) STRICT;
INSERT INTO store VALUES (0, 0, 0);
CREATE TABLE session (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
  incarnation BLOB NOT NULL, begun INTEGER NOT NULL, token INTEGER NOT NULL,
  owner TEXT NOT NULL, since INTEGER NOT NULL, sum INTEGER NOT NULL) STRICT;
CREATE TABLE event (key INTEGER PRIMARY KEY, last INTEGER NOT NULL, id BLOB NOT NULL,
  at INTEGER NOT NULL, kind TEXT NOT NULL, top BLOB, sum INTEGER NOT NULL, data BLOB NOT NULL) STRICT;
CREATE TABLE snapshot (number INTEGER PRIMARY KEY, session INTEGER NOT NULL,
  projection TEXT NOT NULL, version INTEGER NOT NULL, covers INTEGER NOT NULL, data BLOB NOT NULL,
  UNIQUE (projection, version, session, covers)) STRICT;
CREATE INDEX snapshot_session ON snapshot (session);
CREATE TABLE blob (number INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL,
  id BLOB NOT NULL, len INTEGER NOT NULL, UNIQUE (session, id)) STRICT;
CREATE TABLE piece (key INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TABLE kept (number INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL,
  reason TEXT NOT NULL, id BLOB, at INTEGER, kind TEXT, top BLOB, sum INTEGER, data BLOB) STRICT;
CREATE INDEX kept_session ON kept (session);
";

/// The size of a page: events of a kilobyte fill three quarters of one of 4 KiB, and more than
/// 90 percent of one of 8 KiB, and a commit writes at least one.
pub(crate) const PAGE_SIZE: u32 = 8192;
/// How many pages the write-ahead log has before they are copied into the database: 8 MiB.
pub(crate) const CHECKPOINT_PAGES: u32 = 1024;
/// The write-ahead log is cut to this length when it grew beyond it.
pub(crate) const WAL_LIMIT: u32 = 16 << 20;

/// How many bits of a key are a position; above them stands the number of the session.
const SEQ_BITS: u32 = 36;
/// How many bits of a key are the number of a piece; above them stands the number of the blob.
const PIECE_BITS: u32 = 24;
/// The length of all pieces of a blob but the last.
pub(crate) const PIECE: usize = 256 << 10;

/// The key of an event; positions from 2^36 on, which no log reaches, have the key behind the log.
pub(crate) fn event_key(number: i64, seq: u64) -> i64 {
    pack(number, seq, SEQ_BITS)
}

/// The position in the key of an event.
pub(crate) fn seq_of(key: i64) -> u64 {
    (key & ((1 << SEQ_BITS) - 1)).unsigned_abs()
}

/// The key of a piece of a blob.
pub(crate) fn piece_key(number: i64, piece: u64) -> i64 {
    pack(number, piece, PIECE_BITS)
}

fn pack(number: i64, low: u64, bits: u32) -> i64 {
    let low = i64::try_from(low).map_or(1 << bits, |low| low.min(1 << bits));
    number.saturating_mul(1 << bits).saturating_add(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_by_session_and_position() {
        assert_eq!(event_key(3, 5), 3 << 36 | 5);
        assert_eq!(seq_of(event_key(3, 5)), 5);
        assert_eq!(event_key(3, u64::MAX), event_key(4, 0));
        assert!(event_key(i64::MAX, 9) > event_key(1 << 26, 0));
        assert_eq!(piece_key(1, 2), 1 << 24 | 2);
    }

    #[test]
    fn the_document_has_the_tables_of_the_program() {
        let document = include_str!("../FORMAT.md");
        for line in TABLES.lines().filter(|l| !l.starts_with("INSERT")) {
            assert!(document.contains(line), "{line}");
        }
    }
}
