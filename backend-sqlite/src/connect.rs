//! Connections, and what must hold of each.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use sessionlog_core::{Error, Result};

use crate::fault::failed;
use crate::schema::{CHECKPOINT_PAGES, WAL_LIMIT};

/// How many prepared statements a connection keeps.
const STATEMENTS: usize = 64;

fn opened(path: &Path, flags: OpenFlags) -> Result<Connection> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn =
        Connection::open_with_flags(path, flags).map_err(failed("open it", "the database"))?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(conn)
}

/// Sets a pragma and refuses to go on if it did not take: SQLite says nothing when it does not.
pub(crate) fn set(conn: &Connection, pragma: &str, value: &str, expected: &str) -> Result<()> {
    let what = format!("set {pragma}");
    let query = format!("PRAGMA {pragma} = {value}");
    let mut statement = conn
        .prepare(&query)
        .map_err(failed(&what, "the database"))?;
    let mut rows = statement.query([]).map_err(failed(&what, "the database"))?;
    while rows
        .next()
        .map_err(failed(&what, "the database"))?
        .is_some()
    {}
    let found = get(conn, pragma)?;
    if found.eq_ignore_ascii_case(expected) {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "SQLite can't work safely here: PRAGMA {pragma} is {found} instead of {expected}. Put the \
         store on a local file system with shared memory, or use jsonl: or an object store"
    )))
}

/// The value of a pragma, as text.
pub(crate) fn get(conn: &Connection, pragma: &str) -> Result<String> {
    conn.query_row(&format!("PRAGMA {pragma}"), [], |row| {
        Ok(match row.get_ref(0)? {
            rusqlite::types::ValueRef::Integer(n) => n.to_string(),
            other => other.as_str().unwrap_or_default().to_owned(),
        })
    })
    .map_err(failed(&format!("read {pragma}"), "the database"))
}

/// What connections of every sort have: no surprises from the schema, checks on every page.
fn common(conn: &Connection, timeout: Duration) -> Result<()> {
    conn.busy_timeout(timeout)
        .map_err(failed("set the busy timeout", "the database"))?;
    set(conn, "trusted_schema", "OFF", "0")?;
    set(conn, "cell_size_check", "ON", "1")?;
    set(conn, "mmap_size", "0", "0").or_else(|error| {
        // A build without memory-mapped files answers nothing.
        if get(conn, "mmap_size").is_err() {
            Ok(())
        } else {
            Err(error)
        }
    })?;
    set(conn, "cache_size", "-4096", "-4096")
}

/// A connection that writes. It changes no byte of a database that has the format.
pub(crate) fn writer(path: &Path, timeout: Duration) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let conn = opened(path, flags)?;
    common(&conn, timeout)?;
    set(&conn, "journal_mode", "WAL", "wal")?;
    set(&conn, "synchronous", "FULL", "2")?;
    set(&conn, "fullfsync", "ON", "1")?;
    set(&conn, "checkpoint_fullfsync", "ON", "1")?;
    set(&conn, "secure_delete", "ON", "1")?;
    set(&conn, "temp_store", "MEMORY", "2")?;
    let (pages, limit) = (CHECKPOINT_PAGES.to_string(), WAL_LIMIT.to_string());
    set(&conn, "wal_autocheckpoint", &pages, &pages)?;
    set(&conn, "journal_size_limit", &limit, &limit)?;
    // Waiting for the write lock is done without blocking a thread.
    conn.busy_timeout(Duration::ZERO)
        .map_err(failed("set the busy timeout", "the database"))?;
    Ok(conn)
}

/// A connection that nobody else has one beside, in any process: the index of its log is in its memory
/// (<https://sqlite.org/wal.html#noshm>). It is for the lock alone, and copies nothing of the log into the
/// database when it is closed.
pub(crate) fn alone(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let conn = opened(path, flags)?;
    conn.busy_timeout(Duration::ZERO)
        .map_err(failed("set the busy timeout", "the database"))?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        .map_err(failed("keep the log", "the database"))?;
    // Before anything looks into the database: the index is chosen then.
    set(&conn, "locking_mode", "EXCLUSIVE", "exclusive")?;
    Ok(conn)
}

/// A connection that reads beside writers, as SQLite does: it shares their `-shm` file.
pub(crate) fn reader(path: &Path, timeout: Duration) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let conn = opened(path, flags)?;
    common(&conn, timeout)?;
    set(&conn, "query_only", "ON", "1")?;
    Ok(conn)
}

/// A connection that takes the database for a file that nobody changes: no locks, no `-wal`, no `-shm`.
/// Right as long as there is no write-ahead log and the file stays as it is.
pub(crate) fn quiet(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_URI;
    let conn = opened(Path::new(&uri(path)), flags)?;
    common(&conn, Duration::ZERO)?;
    set(&conn, "query_only", "ON", "1")?;
    Ok(conn)
}

/// A path as a URI for SQLite, every byte that is not plain written with its number.
fn uri(path: &Path) -> String {
    let text = path.as_os_str().as_encoded_bytes();
    let mut uri = String::from("file:");
    if cfg!(windows) {
        uri.push('/');
    }
    for byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte));
            }
            b'\\' if cfg!(windows) => uri.push('/'),
            b':' if cfg!(windows) => uri.push(':'),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn any_path_can_be_a_uri() {
        assert_eq!(
            uri(Path::new("/a b/ü?#%:\\.db")),
            "file:/a%20b/%C3%BC%3F%23%25%3A%5C.db?immutable=1"
        );
    }

    /// Every way to open a database that is there, with its name.
    fn connections(path: &Path) -> Vec<(&'static str, Result<Connection>)> {
        vec![
            ("writer", writer(path, Duration::ZERO)),
            ("reader", reader(path, Duration::ZERO)),
            ("quiet", quiet(path)),
        ]
    }

    #[test]
    fn every_connection_checks_pages_and_trusts_no_schema() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        drop(Connection::open(&path).unwrap());
        for (name, conn) in connections(&path) {
            let conn = conn.unwrap();
            for (pragma, expected) in [
                ("trusted_schema", "0"),
                ("cell_size_check", "1"),
                ("mmap_size", "0"),
                ("cache_size", "-4096"),
            ] {
                assert_eq!(get(&conn, pragma).unwrap(), expected, "{name}: {pragma}");
            }
        }
        let conn = alone(&path).unwrap();
        assert_eq!(get(&conn, "locking_mode").unwrap(), "exclusive");
        let keeps = conn.db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE);
        assert!(keeps.unwrap());
    }

    #[test]
    #[cfg(unix)]
    fn no_connection_follows_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("a.db"), dir.path().join("link"));
        drop(Connection::open(&path).unwrap());
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for (name, conn) in connections(&link) {
            assert!(conn.is_err(), "{name}");
        }
        assert!(alone(&link).is_err());
    }

    #[test]
    fn a_pragma_that_does_not_take_is_refused_with_what_to_use_instead() {
        // A database in memory has no write-ahead log.
        let conn = Connection::open_in_memory().unwrap();
        let error = set(&conn, "journal_mode", "WAL", "wal").unwrap_err();
        assert_eq!(*error.kind(), sessionlog_core::ErrorKind::Unsupported);
        let message = error.to_string();
        assert!(message.contains("journal_mode is memory") && message.contains("jsonl:"));
    }
}
