//! Session logs in one SQLite database.
//!
//! Many sessions in a file, durable when `append` returns, shared by any number of processes. It is an
//! ordinary database, which other programs can read; the format is described in
//! [`FORMAT.md`][format].
//!
//! ```
//! use sessionlog_backend_sqlite::{Options, Sqlite};
//!
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("sessions.db");
//! let store = Sqlite::open(&path, Options::default())?;
//! assert_eq!(store.path().file_name(), path.file_name());
//! # Ok::<(), sessionlog_core::Error>(())
//! ```
//!
//! # What it costs
//!
//! A commit is one page or a few in the write-ahead log and one flush, shared by all appends to all
//! sessions that wait in this process. There is no runtime, and no thread but that of the timers: input
//! and output are done on the thread that polls. Waiting for another process that writes blocks no
//! thread. Every 1,024 pages a commit also copies the write-ahead log into the database.
//!
//! The SQLite that is compiled in flushes with `fsync`. Building with
//! `LIBSQLITE3_FLAGS=-DHAVE_FDATASYNC=1` in the environment makes it use `fdatasync`, on a system that
//! has it. Where the write-ahead log has grown to its size that saves little: on ext4 a bare loop of
//! writes and flushes was 5 to 13 % faster, appends to a store were not. It is not set here.
//!
//! Reads are views of at most 1 MiB of payload each (or one event, if that is larger), so that a long
//! read does not keep the write-ahead log from being copied.
//!
//! # Reading changes nothing
//!
//! While no process has the store open for writing, it is read without locks and without SQLite's `-wal`
//! and `-shm` files: nothing is made, also on a file system that can't be written. Beside a process that
//! writes, or after one was killed, a reader is one of SQLite's readers: it shares the `-shm` file, which
//! holds locks and an index and is no part of the store.
//!
//! # Limits
//!
//! - A local file system with shared memory: network file systems are refused.
//! - One process writes at a time; the others wait, at most for the busy timeout.
//! - Deleted content is overwritten in the database, and the write-ahead log is cut. Copies that SQLite
//!   made when it moved rows between pages may stay in unused space until [`Sqlite::compact`].
//! - Damage is found in every event. In the write-ahead log that a killed process left it is found
//!   wherever the `-shm` file beside it is there and whole. Where that is gone, as after a power cut,
//!   damage in the last transaction, damage that cuts the log short, and damage to each of the last two
//!   look like transactions that never were.
//! - Payloads are slices of what was read at once: who keeps a few of them for long should copy them.
//!
//! [format]: https://github.com/sessionlog/sessionlog/blob/main/backend-sqlite/FORMAT.md

mod blob;
mod commit;
mod compact;
mod connect;
mod create;
mod desk;
mod doubt;
mod event;
mod fault;
mod lease;
mod log;
mod network;
mod options;
mod presence;
mod readers;
mod rebuild;
mod repair;
mod schema;
mod session;
mod site;
mod snapshot;
mod spool;
mod store;
mod survey;
mod upkeep;
mod wal;
mod wal_index;

pub use options::Options;
pub use store::Sqlite;
