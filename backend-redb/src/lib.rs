//! Session logs in one [redb](https://docs.rs/redb) file: pure Rust, many sessions, several
//! processes.
//!
//! [`Redb`] implements the traits of `sessionlog-core`; hand it to a
//! [`Store`](sessionlog_core::Store). What lies in the file is written down in `FORMAT.md`.
//!
//! # What it promises, and at what cost
//!
//! - Every guarantee of `sessionlog-core` on a local disk, from several processes at once.
//! - A process that is killed leaves a file that opens at once, however large it is. That costs two
//!   flushes a commit; [`Options::exclusive`] needs one, and reads and writes the whole file after a crash.
//! - Concurrent writes of a handle share a commit, also over different sessions.
//! - A read copies a chunk of at most 256 KiB at a time and keeps no page from being used again in
//!   between, so that the file does not grow because somebody reads slowly.
//! - Space of deleted sessions is used again by the next writes; [`Redb::compact`] gives it back to
//!   the file system. **The bytes of a deleted session may stay in unused parts of the file** until
//!   they are written over.
//! - redb does not verify what it reads. Every event, session row, snapshot, lease and whole blob
//!   has a checksum here, and damage that makes redb panic is an error. What the panic prints a program can keep
//!   from its users: [`catches_panics`].
//!
//! It can't be shared over a network file system, whose locks do not hold.

mod blob;
mod compact;
mod disk;
mod engine;
mod failure;
mod file;
mod format;
mod lease;
mod locks;
mod log;
mod open;
mod options;
mod overlay;
mod rebuild;
mod repair;
mod rows;
mod salvage;
mod snapshot;
mod store;
mod upkeep;
mod write;

pub use failure::catches_panics;
pub use options::Options;
pub use store::Redb;
