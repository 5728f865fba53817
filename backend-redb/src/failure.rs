//! What redb's errors mean to a caller.

use std::cell::Cell;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};

use sessionlog_core::{Error, Place, Result};
use sessionlog_local::files::refused;

/// The name of the database in places of damage.
pub(crate) const FILE: &str = "database";

/// Turns a failure of redb into an error that says what could not be done.
pub(crate) fn failed<E: Into<redb::Error>>(what: &str) -> impl FnOnce(E) -> Error {
    move |source| {
        let source = source.into();
        if let redb::Error::Io(error) = source {
            if error.kind() == ErrorKind::WouldBlock {
                return Error::unavailable(format!(
                    "can't {what}, another process kept the store busy, try again later"
                ))
                .with_source(redb::Error::Io(error));
            }
            if error.kind() == ErrorKind::UnexpectedEof {
                let what = format!("can't {what}, the database ends before a page of it");
                return Error::corrupt(Place::file(FILE), what).with_source(redb::Error::Io(error));
            }
            return refused(&format!("can't {what}"), error);
        }
        match &source {
            redb::Error::Corrupted(_)
            | redb::Error::TableTypeMismatch { .. }
            | redb::Error::TypeDefinitionChanged { .. }
            | redb::Error::TableIsMultimap(_)
            | redb::Error::TableDoesNotExist(_) => Error::corrupt(
                Place::file(FILE),
                format!("can't {what}, the database is damaged"),
            ),
            redb::Error::UpgradeRequired(version) => Error::unsupported(format!(
                "the file was written by another version of redb: it has file format {version}, \
                 this version reads 3"
            )),
            redb::Error::LockProtocolMismatch => Error::unsupported(
                "a process with another version of redb has the store open, end it first",
            ),
            redb::Error::DatabaseAlreadyOpen => Error::unavailable(format!(
                "can't {what}, another process has the store open for itself alone"
            )),
            redb::Error::ValueTooLarge(len) => {
                Error::invalid(format!("the value is too large for redb: {len} bytes"))
            }
            redb::Error::DatabaseClosed
            | redb::Error::PreviousIo
            | redb::Error::TransactionInProgress
            | redb::Error::LockPoisoned(_)
            | redb::Error::RepairAborted => Error::unavailable(format!("can't {what}")),
            _ => Error::internal(format!("can't {what}")),
        }
        .with_source(source)
    }
}

thread_local! {
    /// How many calls of [`unpanicked`] this thread is in.
    static CATCHING: Cell<usize> = const { Cell::new(0) };
}

/// Whether a panic of this thread, here and now, is caught and told as damage.
///
/// redb panics on some damaged pages. The error that comes of it says all there is to say, but the panic hook of
/// the program has printed a message before. A program whose users should not see it asks here in a hook of its own:
///
/// ```
/// let before = std::panic::take_hook();
/// std::panic::set_hook(Box::new(move |panic| {
///     if !sessionlog_backend_redb::catches_panics() {
///         before(panic);
///     }
/// }));
/// ```
pub fn catches_panics() -> bool {
    CATCHING.get() > 0
}

/// Runs something that reads pages. redb verifies them no more than it needs to, and may panic on
/// damaged ones: that is damage, and no reason to die.
pub(crate) fn unpanicked<T>(what: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    CATCHING.set(CATCHING.get() + 1);
    let ran = catch_unwind(AssertUnwindSafe(run));
    CATCHING.set(CATCHING.get() - 1);
    ran.unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<&str>().map(|t| (*t).to_owned());
        let words = words
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic without words".into());
        Err(Error::corrupt(
            Place::file(FILE),
            format!("can't {what}, the database is damaged"),
        )
        .with_source(words))
    })
}
