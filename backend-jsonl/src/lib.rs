//! Session logs in readable JSON Lines files.
//!
//! One folder a session, one line an event, durable when `append` returns. Any tool that knows
//! JSON can read a log; the format is described in [`FORMAT.md`][format].
//!
//! ```
//! use sessionlog_backend_jsonl::{Jsonl, Options};
//! use sessionlog_core::Store;
//!
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path();
//! let store = Store::new(Jsonl::open(path, Options::default())?);
//! # let _ = store;
//! # Ok::<(), sessionlog_core::Error>(())
//! ```
//!
//! # What it costs
//!
//! A commit is one write and one `fdatasync`, shared by all appends of a session that wait in this
//! process. Slices are found by bisection; there is no index.
//! Behind what another process wrote, which may have been killed before its flush, a commit flushes first:
//! a power loss leaves no hole between the two. After a flush that failed, what the handle has not flushed
//! itself is written anew before the next commit: the whole log, if it had flushed nothing yet.
//!
//! There is no runtime, and no thread but one for timers, which begins with the first wait for another
//! process: input and output are done on the thread that polls, in
//! steps of at most one commit or 256 KiB (or one event, if that is larger). Payloads are slices
//! of what was read at once: who keeps a few of them for long should copy them.
//!
//! # Several processes
//!
//! Any number may read, append and list at the same time. Locks are those of the operating system:
//! they end with the process that holds them. On Linux they are open file description locks, and
//! whether a lease is held can be asked without taking it. Elsewhere
//! [`holder`](sessionlog_core::LeaseStore::holder) answers `Unknown`, and a lease can't be taken
//! from a live holder.
//!
//! # Limits
//!
//! The store must be on a file system of the machine itself: `flush` and locks mean too little on
//! network file systems. Linux is what it is tested on; macOS and Windows compile from the same code.
//!
//! A reader in another process may see a commit of which the flush is still running: every whole line
//! counts, and only a loss of power in that moment takes it back. Readers of the handle that writes see
//! it once it is flushed.
//!
//! [format]: https://github.com/sessionlog/sessionlog/blob/main/backend-jsonl/FORMAT.md

mod append_lock;
mod blob;
mod commit;
mod create;
mod dir;
mod find;
mod flushed;
mod format;
mod header;
mod inspect;
mod kept;
mod latest;
mod lease;
mod life;
mod lines;
mod log;
mod options;
mod order;
mod prefix;
mod read;
mod repair;
mod root;
mod salvage;
mod slots;
mod snapshot;
mod store;
mod tail;
mod torn;
mod upkeep;
mod verify;
mod write;

pub use options::Options;
pub use store::Jsonl;
