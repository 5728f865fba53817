//! redb, as it is used without more care.

use std::io;
use std::path::Path;

use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};

use super::mirrored::Keep;

const LINES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("lines");

/// A journal in a table, a line a row.
struct Rows {
    db: Database,
    durability: Durability,
    content: Vec<u8>,
}

impl Rows {
    fn open(dir: &Path, durability: Durability) -> io::Result<Self> {
        let open = || -> Result<_, redb::Error> {
            let db = Database::create(dir.join("lines.redb"))?;
            let content = match db.begin_read()?.open_table(LINES) {
                Ok(lines) => {
                    let rows = lines.iter()?.map(|row| Ok(row?.1.value().to_vec()));
                    rows.collect::<Result<Vec<_>, redb::Error>>()?.concat()
                }
                Err(redb::TableError::TableDoesNotExist(_)) => Vec::new(),
                Err(error) => return Err(error.into()),
            };
            Ok((db, content))
        };
        let (db, content) = open().map_err(io::Error::other)?;
        Ok(Self {
            db,
            durability,
            content,
        })
    }

    fn write(&self, content: &[u8]) -> Result<(), redb::Error> {
        let mut change = self.db.begin_write()?;
        change.set_durability(self.durability)?;
        {
            let mut lines = change.open_table(LINES)?;
            lines.retain(|_, _| false)?;
            for (n, line) in (0..).zip(content.split_inclusive(|b| *b == b'\n')) {
                lines.insert(n, line)?;
            }
        }
        Ok(change.commit()?)
    }
}

impl Keep for Rows {
    fn content(&self) -> &[u8] {
        &self.content
    }

    fn bring(&mut self, content: Vec<u8>) -> io::Result<()> {
        if content != self.content {
            self.write(&content).map_err(io::Error::other)?;
            self.content = content;
        }
        Ok(())
    }
}

specimen!(
    /// Commits are durable, but not the file: it is created in its place, and its name not flushed.
    Immediate,
    |dir: &Path| Rows::open(dir, Durability::Immediate)
);
specimen!(
    /// Commits are durable when a later one is.
    None,
    |dir: &Path| Rows::open(dir, Durability::None)
);
