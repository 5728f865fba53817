//! What an error of SQLite means to the caller.

use rusqlite::{ErrorCode, ffi};
use sessionlog_core::{Error, Place};

/// Turns an error of SQLite into one that says what could not be done, in which table.
pub(crate) fn failed(what: &str, table: &str) -> impl FnOnce(rusqlite::Error) -> Error {
    move |source| {
        let corrupt =
            |why: &str| Error::corrupt(Place::file(table), format!("can't {what}: {why}"));
        let error = match kind(&source) {
            Kind::Damaged => corrupt("the database is damaged"),
            Kind::Row => corrupt("a row is not what was written"),
            Kind::Busy => Error::unavailable(format!(
                "can't {what}: another process has the database locked"
            )),
            Kind::Full => {
                Error::unavailable(format!("can't {what}: the disk is full, free some space"))
            }
            Kind::Forbidden => Error::unsupported(format!(
                "can't {what}: the file system is read-only, or this user may not write there: make \
                 it writable, change the rights, or use another place"
            )),
            Kind::Io => Error::unavailable(format!("can't {what}")),
        };
        error.with_source(source)
    }
}

/// What an error of SQLite comes down to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Another connection has the lock.
    Busy,
    /// There is no space; what was written of the transaction is not valid.
    Full,
    /// The file is not what SQLite wrote.
    Damaged,
    /// A row is there that must not be, or has a value of another type.
    Row,
    /// It may not be written to.
    Forbidden,
    /// Everything else that the operating system can refuse.
    Io,
}

pub(crate) fn kind(error: &rusqlite::Error) -> Kind {
    let Some(sqlite) = error.sqlite_error() else {
        return Kind::Row;
    };
    match (sqlite.code, sqlite.extended_code) {
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => Kind::Busy,
        (ErrorCode::DiskFull, _) => Kind::Full,
        (ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _)
        | (_, ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_CORRUPTFS) => Kind::Damaged,
        (ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch, _) => Kind::Row,
        (ErrorCode::ReadOnly | ErrorCode::PermissionDenied, _) => Kind::Forbidden,
        _ => Kind::Io,
    }
}

/// The error for a row that is not where its key belongs: what is read on from there might come again
/// and again.
pub(crate) fn disorder() -> rusqlite::Error {
    let code = ffi::Error::new(ffi::SQLITE_CORRUPT);
    rusqlite::Error::SqliteFailure(code, Some("the rows are out of order".into()))
}
