//! Making a database that is whole from its first moment.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use rusqlite::Connection;
use sessionlog_core::{Error, Result};
use sessionlog_local::files::{create_new, failed, make_all, open_write, sync_dir, unique};

use crate::connect::set;
use crate::fault;
use crate::network;
use crate::schema::{APPLICATION, FORMAT, PAGE_SIZE, TABLES};
use crate::site::Site;

/// What stands behind the name of a database that is being made.
pub(crate) const NEW: &str = "-new-";

/// Makes the database, unless somebody else does at the same time. Either way it is there, whole and
/// durable, when this returns.
pub(crate) fn create(site: &Site) -> Result<()> {
    make_all(site.folder())?;
    network::refuse(site.folder())?;
    let path = site.beside(&format!("{NEW}{}", unique()));
    let made = build(&path)
        .map_err(fresh)
        .and_then(|()| link(&path, site.path()));
    if let Err(error) = made
        && !site.path().exists()
    {
        remove(&path);
        return Err(error);
    }
    // It is there. Whoever was faster may have cleared this one away in the middle of its making.
    clear(site);
    sync_dir(site.folder()).map_err(failed("flush", site.folder()))
}

/// Nobody forbids to write to a file that was just made: SQLite takes a disk that fails for one that
/// is read-only.
fn fresh(error: Error) -> Error {
    let source = std::error::Error::source(&error);
    let source = source.and_then(|source| source.downcast_ref::<rusqlite::Error>());
    match source.map(fault::kind) {
        Some(fault::Kind::Forbidden) => {
            Error::unavailable("can't make the database: the disk fails").with_source(error)
        }
        _ => error,
    }
}

/// Removes a database that was being made, with what SQLite made beside it.
pub(crate) fn remove(path: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let mut left = path.to_owned().into_os_string();
        left.push(suffix);
        // Best effort: what stays is reported among the strays.
        drop(fs::remove_file(left));
    }
}

/// Gives a whole database its name, if nothing has it.
fn link(made: &Path, name: &Path) -> Result<()> {
    // What file systems without hard links answer.
    const EPERM: i32 = 1;
    let Err(error) = fs::hard_link(made, name) else {
        return Ok(());
    };
    if error.kind() == ErrorKind::Unsupported || cfg!(unix) && error.raw_os_error() == Some(EPERM) {
        return Err(Error::unsupported(format!(
            "the file system has no hard links, which a store is made with: {}",
            name.display()
        ))
        .with_source(error));
    }
    Err(failed("make the store", name)(error))
}

/// Removes what makers left behind that did not come to an end. The database is there, so nobody needs
/// it.
pub(crate) fn clear(site: &Site) {
    let prefix = format!("{}{NEW}", site.name());
    let entries = fs::read_dir(site.folder()).into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            // Best effort: what stays is reported among the strays.
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// Makes an empty database.
pub(crate) fn build(path: &Path) -> Result<()> {
    drop(create_new(path).map_err(failed("make", path))?);
    let conn = Connection::open(path).map_err(fault::failed("make it", "the database"))?;
    let (application, format, page) = (
        APPLICATION.to_string(),
        FORMAT.to_string(),
        PAGE_SIZE.to_string(),
    );
    // It is flushed as a whole, below.
    set(&conn, "synchronous", "OFF", "0")?;
    set(&conn, "page_size", &page, &page)?;
    set(&conn, "auto_vacuum", "INCREMENTAL", "2")?;
    set(&conn, "journal_mode", "WAL", "wal")?;
    set(&conn, "application_id", &application, &application)?;
    set(&conn, "user_version", &format, &format)?;
    conn.execute_batch(&format!("BEGIN;{TABLES}COMMIT;"))
        .map_err(fault::failed("make its tables", "the database"))?;
    set(&conn, "auto_vacuum", "INCREMENTAL", "2")?;
    // Closing does this as well, but says nothing when it fails, and the log has another name than
    // the one that the database gets.
    let left = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
    });
    match left.map_err(fault::failed("make it", "the database"))? {
        (0, 0) => {}
        _ => return Err(Error::unavailable("can't make the database: its log stays")),
    }
    conn.close()
        .map_err(|(_, error)| fault::failed("make it", "the database")(error))?;
    let flushed = open_write(path).and_then(|file| file.sync_all());
    flushed.map_err(failed("flush", path))
}
