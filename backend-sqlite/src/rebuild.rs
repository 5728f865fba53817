//! A database of which pages are damaged, built anew from what can be read.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};
use sessionlog_core::{Error, ErrorKind, Result, SessionId, SessionRef};
use sessionlog_local::files::{create_new, failed as io_failed, sync_dir, unique};
use sessionlog_local::gaps::{Way, around};

use crate::commit::{Held, checkpoint, uncommitted};
use crate::connect;
use crate::create::{self, NEW};
use crate::desk::Desk;
use crate::fault::{Kind, disorder, failed, kind};
use crate::session::SessionRow;
use crate::store::Sqlite;

/// What stands behind the name of the database in the name of its damaged predecessor.
pub(crate) const DAMAGED: &str = "-damaged-";

/// The tables whose rows are carried over, each with its key.
const TABLES: [(&str, &str); 6] = [
    ("session", "number"),
    ("event", "key"),
    ("snapshot", "number"),
    ("blob", "number"),
    ("piece", "key"),
    ("kept", "number"),
];

/// Builds the database anew, from every row that can be read, and puts it in the place of the old one
/// in one transaction; the old one is kept beside it. Gives the name of what is kept.
///
/// Rows are carried over as they are, whole or not. Sessions that lost rows are as damaged as before.
pub(crate) async fn rebuild(store: &Sqlite) -> Result<String> {
    let inner = &store.inner;
    let site = &inner.site;
    let mut held = Held::begin(inner).await?;
    let kept = format!("{DAMAGED}{}", unique());
    let new = site.beside(&format!("{NEW}{}", unique()));
    let replaced = (|| {
        let desk = held.desk().ok_or_else(|| Error::internal("no desk"))?;
        keep(store, desk, &kept)?;
        let built = build(&desk.conn, &new)?;
        // What others commit between the two transactions must not be lost.
        let presence = desk.conn.presence();
        let timeout = inner.options.busy_timeout;
        let witness = presence.locking(|| connect::reader(site.path(), timeout))?;
        let before = version(&witness)?;
        held.outside(|desk| put(desk, &built, || Ok(version(&witness)? == before)))
    })();
    create::remove(&new);
    // Where the new database may be found after a crash, the old one is needed.
    if replaced
        .as_ref()
        .is_err_and(|e| *e.kind() != ErrorKind::Indeterminate)
    {
        for suffix in ["", "-wal"] {
            // Best effort: what stays is reported among the strays.
            drop(fs::remove_file(site.beside(&format!("{kept}{suffix}"))));
        }
    }
    inner
        .sound
        .store(false, std::sync::atomic::Ordering::Relaxed);
    replaced.map(|()| format!("{}{kept}", site.name()))
}

/// Copies the files as they are. Under the write lock, so that the write-ahead log loses nothing.
fn keep(store: &Sqlite, desk: &Desk, kept: &str) -> Result<()> {
    let site = &store.inner.site;
    let to = site.beside(kept);
    let copied = desk
        .conn
        .presence()
        .with_file(site.path(), |file| copy(file, &to));
    copied.map_err(io_failed("keep the damaged database as", &to))?;
    if site.wal_len()? > 0 {
        let to = site.beside(&format!("{kept}-wal"));
        let copied = sessionlog_local::files::open_read(&site.wal())
            .and_then(|file| copy(&file, &to))
            .map_err(io_failed("keep the damaged database as", &to));
        copied?;
    }
    sync_dir(site.folder()).map_err(io_failed("flush", site.folder()))
}

fn copy(mut from: &fs::File, to: &Path) -> io::Result<()> {
    let mut to = create_new(to)?;
    io::copy(&mut from, &mut to)?;
    to.flush()?;
    to.sync_all()
}

/// Builds a database of all rows that can be read.
fn build(old: &Connection, path: &Path) -> Result<Connection> {
    create::build(path)?;
    let new = Connection::open(path).map_err(failed("open it", "the new database"))?;
    connect::set(&new, "synchronous", "OFF", "0")?;
    let written = "the new database";
    new.execute_batch("BEGIN")
        .map_err(failed("write", written))?;
    for (table, key) in TABLES {
        carry(old, &new, table, key)?;
    }
    nameless(old, &new)?;
    let count = "UPDATE store SET sessions = (SELECT count(*) FROM session);
                 DELETE FROM sqlite_sequence";
    new.execute_batch(count).map_err(failed("write", written))?;
    for (table, used) in [
        ("session", "SELECT max(key) >> 36 FROM event"),
        ("blob", "SELECT max(key) >> 24 FROM piece"),
    ] {
        let known = old.query_row(
            "SELECT seq FROM sqlite_sequence WHERE name = ?1",
            [table],
            |row| row.get::<_, i64>(0),
        );
        let here = |sql: &str| {
            let found = new.query_row(sql, [], |row| row.get::<_, Option<i64>>(0));
            found.map_err(failed("read", written))
        };
        // No number is used twice, also if the counter itself is lost.
        let rows = here(&format!("SELECT max(number) FROM {table}"))?;
        let last = [known.ok(), rows, here(used)?].into_iter().flatten().max();
        let sql = "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)";
        new.execute(sql, (table, last.unwrap_or(0)))
            .map_err(failed("write", written))?;
    }
    new.execute_batch("COMMIT")
        .map_err(failed("write", written))?;
    Ok(new)
}

/// Carries the rows of a table over. They are met in order from the first one on: what a damaged page
/// says of where its neighbours begin misleads a search alone.
fn carry(old: &Connection, new: &Connection, table: &str, key: &str) -> Result<()> {
    let read = || failed("read", table);
    let from = |key: u64| i64::try_from(key).unwrap_or(i64::MAX);
    let tail = format!("FROM {table} NOT INDEXED WHERE {key} >= ?1 ORDER BY {key}");
    let (entries, keys) = (
        format!("SELECT {key}, * {tail}"),
        format!("SELECT {key} {tail} LIMIT 1"),
    );
    let walk = |way: &mut Way| {
        let mut statement = old.prepare_cached(&entries).map_err(read())?;
        let columns = 1..statement.column_count();
        let mut rows = statement.query([from(way.next())]).map_err(read())?;
        while let Some(row) = rows.next().map_err(read())? {
            let key = key_of(row).map_err(read())?;
            way.at(key)?;
            let values = columns.clone().map(|n| row.get_ref(n));
            let values = values.collect::<rusqlite::Result<_>>().map_err(read())?;
            insert(new, table, values)?;
        }
        Ok(())
    };
    let first = |key| {
        let mut statement = old.prepare_cached(&keys).map_err(read())?;
        let found = statement.query_row([from(key)], key_of);
        found.optional().map_err(read())
    };
    around(0, walk, first).map(drop)
}

/// The key of a row, its first column. There is none below zero.
fn key_of(row: &Row<'_>) -> rusqlite::Result<u64> {
    u64::try_from(row.get::<_, i64>(0)?).map_err(|_| disorder())
}

fn insert(new: &Connection, table: &str, row: Vec<ValueRef<'_>>) -> Result<()> {
    let row = row.into_iter().map(ToSqlOutput::Borrowed);
    let marks = vec!["?"; row.len()].join(", ");
    let sql = format!("INSERT OR IGNORE INTO {table} VALUES ({marks})");
    let inserted = new
        .prepare_cached(&sql)
        .and_then(|mut statement| statement.execute(params_from_iter(row)));
    match inserted {
        // A value of another type: the row was damaged within its page.
        Err(error) if kind(&error) == Kind::Row => Ok(()),
        inserted => inserted
            .map(drop)
            .map_err(failed("write", "the new database")),
    }
}

/// Makes rows for sessions and blobs of which only the index still knows. Such a session has lost its
/// life, so it begins a new one; whatever was granted in the old one is void.
fn nameless(old: &Connection, new: &Connection) -> Result<()> {
    let sessions = "SELECT number, id FROM session INDEXED BY sqlite_autoindex_session_1 \
                    WHERE id > ''";
    each(old, "session", sessions, |row| {
        let id: String = row.get(1)?;
        match SessionId::new(&id) {
            Ok(id) => SessionRow::new(SessionRef::fresh(id), row.get(0)?).restore(new),
            Err(_) => Ok(()),
        }
    })?;
    let blobs = "SELECT number, session, id FROM blob INDEXED BY sqlite_autoindex_blob_1 \
                 WHERE session > 0";
    each(old, "blob", blobs, |row| {
        let sql = "INSERT OR IGNORE INTO blob SELECT ?1, ?2, ?3, sum(length(data)) FROM piece \
                   WHERE key >= ?1 << 24 AND key < (?1 + 1) << 24 HAVING count(*) > 0";
        let (number, session, id) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let values: [Value; 3] = [number, session, id];
        new.execute(sql, params_from_iter(values)).map(drop)
    })?;
    // What nobody can reach is in the old database.
    let orphans = "DELETE FROM event WHERE key >> 36 NOT IN (SELECT number FROM session);
                   DELETE FROM snapshot WHERE session NOT IN (SELECT number FROM session);
                   DELETE FROM blob WHERE session NOT IN (SELECT number FROM session);
                   DELETE FROM piece WHERE key >> 24 NOT IN (SELECT number FROM blob)";
    new.execute_batch(orphans)
        .map_err(failed("write", "the new database"))
}

/// Goes through what an index gives until it is damaged itself.
fn each(
    old: &Connection,
    table: &str,
    sql: &str,
    mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
) -> Result<()> {
    let mut statement = old.prepare(sql).map_err(failed("list", table))?;
    let mut rows = statement.query([]).map_err(failed("list", table))?;
    loop {
        match rows.next().and_then(|row| row.map(&mut take).transpose()) {
            Ok(Some(())) => {}
            Ok(None) => return Ok(()),
            Err(error) => match kind(&error) {
                Kind::Damaged => return Ok(()),
                // One of its entries is not what was written.
                Kind::Row => {}
                _ => return Err(failed("list", table)(error)),
            },
        }
    }
}

fn version(conn: &Connection) -> Result<i64> {
    conn.query_row("PRAGMA data_version", [], |row| row.get(0))
        .map_err(failed("read", "the database"))
}

/// Puts a database in the place of another, in one transaction. `unchanged` is asked once nobody else
/// can write.
fn put(desk: &mut Desk, new: &Connection, unchanged: impl FnOnce() -> Result<bool>) -> Result<()> {
    let fail = failed(
        "put the new database in the place of the old one",
        "the database",
    );
    let busy = || {
        Error::unavailable(
            "others read or write the store while it is being repaired: stop them, and try again",
        )
    };
    desk.forget();
    let backup = match Backup::new(new, desk.conn.conn_mut()) {
        Ok(backup) => backup,
        Err(error) => return Err(fail(error)),
    };
    // No page is copied, but the lock is taken.
    let locked = backup.step(0).map_err(failed("lock", "the database"))?;
    if locked != StepResult::More || !unchanged()? {
        return Err(busy());
    }
    let copied = backup.step(-1);
    drop(backup);
    match copied {
        Ok(StepResult::Done) => {}
        Ok(_) => return Err(busy()),
        Err(error) => return Err(uncommitted(desk, error, fail)),
    }
    // It is done, whatever comes behind it: this connection is used again if it can be.
    desk.poisoned = desk.notice().is_err();
    // Best effort: a later commit does it as well.
    drop(checkpoint(desk));
    Ok(())
}
