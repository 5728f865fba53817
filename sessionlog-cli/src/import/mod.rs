//! Sessions of other tools, brought into a store.
//!
//! [`scan`] finds the files below some paths and tells their format by what is in them;
//! [`import_file`] imports one. Each line of a file becomes one event (a line on which several
//! records were glued together becomes several), whose payload holds the record byte for byte and,
//! in front of it, the neutral fields that replay, cards and the program understand. What is no
//! record is kept as `import.damaged`, so that [`export::original`](crate::export::original) gives
//! the file back as it was, whatever was in it.
//!
//! An import can be repeated at any time: what is in the session already is not added again, what
//! the file has gained since is, and a file that says something else than before becomes a session
//! of its own beside the first. A file of any size is read in bounded memory, twice.
//!
//! # Adding a format
//!
//! A format is a `Dialect` in a file of its own, and a line in each `match` of
//! [`Format`].

mod claude;
mod clock;
mod codex;
mod dialect;
mod feed;
mod fields;
mod format;
mod kvit;
mod lines;
mod name;
mod one;
mod outcome;
mod parts;
mod payload;
mod plain;
mod relation;
mod scan;
mod sidecar;
mod sniff;
pub(crate) mod stored;
mod survey;
mod write;

use std::path::Path;

use sessionlog::{Error, ErrorKind};

pub use format::Format;
pub use one::{Options, import_file};
pub use outcome::{Damage, Outcome, Status};
pub use scan::{Candidate, Scan, scan};

/// An error of the operating system about a file that is to be imported.
fn io_error(what: &str, path: &Path, error: std::io::Error) -> Error {
    let kind = match error.kind() {
        std::io::ErrorKind::NotFound => ErrorKind::NotFound,
        std::io::ErrorKind::IsADirectory | std::io::ErrorKind::PermissionDenied => {
            ErrorKind::InvalidInput
        }
        _ => ErrorKind::Unavailable,
    };
    Error::new(kind, format!("{what}: {}", path.display())).with_source(error)
}
