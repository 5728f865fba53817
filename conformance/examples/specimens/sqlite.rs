//! SQLite, as it is configured here and there.

use std::io;
use std::path::Path;

use rusqlite::Connection;

use super::mirrored::Keep;

/// A journal in a table, a line a row.
struct Table {
    db: Connection,
    content: Vec<u8>,
}

impl Table {
    fn open(dir: &Path, journal: &str, synchronous: &str) -> io::Result<Self> {
        let open = || {
            let db = Connection::open(dir.join("lines.db"))?;
            db.pragma_update(None, "journal_mode", journal)?;
            db.pragma_update(None, "synchronous", synchronous)?;
            db.execute_batch("CREATE TABLE IF NOT EXISTS lines (text BLOB NOT NULL)")?;
            let content = {
                let mut all = db.prepare("SELECT text FROM lines ORDER BY rowid")?;
                let lines = all.query_map([], |row| row.get::<_, Vec<u8>>(0))?;
                lines.collect::<rusqlite::Result<Vec<_>>>()?.concat()
            };
            Ok(Self { db, content })
        };
        open().map_err(|e: rusqlite::Error| io::Error::other(e))
    }

    fn write(&mut self, from: usize, content: &[u8]) -> rusqlite::Result<()> {
        let change = self.db.transaction()?;
        if from == 0 {
            change.execute("DELETE FROM lines", [])?;
        }
        let lines = content.get(from..).unwrap_or_default();
        for line in lines.split_inclusive(|b| *b == b'\n') {
            change.execute("INSERT INTO lines (text) VALUES (?1)", [line])?;
        }
        change.commit()
    }
}

impl Keep for Table {
    fn content(&self) -> &[u8] {
        &self.content
    }

    fn bring(&mut self, content: Vec<u8>) -> io::Result<()> {
        let more = content.starts_with(&self.content);
        if more && content.len() == self.content.len() {
            return Ok(());
        }
        let from = if more { self.content.len() } else { 0 };
        self.write(from, &content).map_err(io::Error::other)?;
        self.content = content;
        Ok(())
    }
}

specimen!(
    /// A log ahead, flushed at every commit: what `backend-sqlite` uses.
    WalFull,
    |dir: &Path| Table::open(dir, "WAL", "FULL")
);
specimen!(
    /// A rollback journal, with a flush of the folder when it is removed.
    DeleteExtra,
    |dir: &Path| Table::open(dir, "DELETE", "EXTRA")
);
specimen!(
    /// A log ahead that is flushed now and then: the fast way that is often recommended.
    WalNormal,
    |dir: &Path| Table::open(dir, "WAL", "NORMAL")
);
specimen!(
    /// Nothing is flushed.
    WalOff,
    |dir: &Path| Table::open(dir, "WAL", "OFF")
);
specimen!(
    /// The default of SQLite: the removal of the rollback journal, which is the commit, is not
    /// flushed.
    DeleteFull,
    |dir: &Path| Table::open(dir, "DELETE", "FULL")
);
