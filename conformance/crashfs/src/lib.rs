//! The file calls of a test process, interposed: counted by kind below a
//! folder, stopped by a kill at an exact call, recorded with their contents,
//! and made to fail.
//!
//! The crate defines libc's file functions itself and forwards them by system
//! calls. Linked into a test binary they take the place of libc's: for Rust's
//! std, for crates that call libc, for C code, and for shared libraries. No
//! `LD_PRELOAD`, no root rights, no mount, and no change in what is tested.
//!
//! - [`armed`] says whether that works in this build. Ask it first: what is
//!   not armed counts and records nothing.
//! - [`Watch`] counts the calls below one folder: "one write and one flush per
//!   commit" becomes an assertion on [`Counts`].
//! - [`Plan`] and [`arm_from_env`] let a re-executed child kill itself before,
//!   in the middle of, or after its n-th call.
//! - [`Recorder`] keeps every change below one folder as an [`Op`], delivers a
//!   [`Fault`], and proves at the end that it missed nothing. With a [`Tree`]
//!   and some of the ops a crash is made: what a power loss could have left.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # if sessionlog_crashfs::armed().is_err() { return Ok(()); }
//! let folder = tempfile::tempdir()?;
//! let watch = sessionlog_crashfs::Watch::new(folder.path())?;
//! std::fs::write(folder.path().join("a"), "four")?;
//! let counts = watch.counts();
//! assert_eq!((counts.creates, counts.writes, counts.bytes_written), (1, 1, 4));
//! # Ok(())
//! # }
//! ```
//!
//! It belongs among the `dev-dependencies`: whatever links it gets the hooks.
//! A program that ships can link it too, to run such checks on the system that
//! it is installed on; without the feature `hooks` it gets the same functions,
//! of which [`armed`] says that nothing is seen.
//!
//! # Cost
//!
//! Without an open watch or recorder a hook is one load and the system call.
//! With one, every call of the process on a file or a name is looked up in
//! `/proc`, whether or not it is below a root. As `benches/cost.rs` measures
//! it on a slow virtual machine, in microseconds a call, on a folder in memory:
//!
//! | | write of 100 bytes | write of 4 KiB | rename |
//! |---|---|---|---|
//! | nothing is open | 0.6 | 0.6 | 3.8 |
//! | a watch or recorder elsewhere | 4.0 | 4.0 | 14 |
//! | below a watch | 4.2 | 4.3 | 14 |
//! | below a recorder | 5.8 | 8.5 | 20 |
//!
//! A recorder with nothing to record costs 0.3 ms from beginning to end, and
//! the reading of the folder twice.
//!
//! # What the hooks may do
//!
//! They allocate nothing through `malloc` and keep nothing per thread, so they
//! work before `main`, in signal handlers and between `fork` and `exec`.
//! `errno` is set by an error and kept by a success. `EINTR` is passed on.
//! A forked or spawned child counts and records nothing: a watch belongs to
//! the process that made it. Where a call takes place is asked of `/proc` each
//! time instead of kept in a table of descriptors, which would go wrong
//! whenever libc closes one by itself (`closedir`, `fclose`). So `close`,
//! `dup` and `fcntl` are left alone.
//!
//! Counting takes no lock. Recording lets calls below one root through one at
//! a time, with a lock that a child never touches and while which the thread's
//! signals wait; the record is in memory that is reserved when the recorder is
//! made ([`Recorder::ROOM`]).
//!
//! # Holes, and their cures
//!
//! What a recorder misses it finds out at the end: [`Recorder::finish`]
//! compares every name and byte, so for it the cure of each hole that leaves a
//! trace in the folder is [`Incomplete`], and the table says so only where
//! there is more to say.
//!
//! | hole | cure |
//! |---|---|
//! | Nobody names the crate, so it is not linked | naming [`armed`] links it |
//! | Raw system calls (`rustix` without `use-libc`) | depending on this crate switches `rustix` 1 to libc, and [`armed`] checks it; older or other such crates: look whether [`Counts`] add up |
//! | A flush by a raw system call leaves no trace | it is missing from the record: more is lost in a crash than need be, never less |
//! | C's `fopen`, `fwrite`, `fclose`, and `mkstemp`, `mkdtemp`, `mkfifo`, call libc from the inside | none; Rust's std uses none of them |
//! | Stores through shared mappings are no calls | counted: [`Counts::shared_maps`] is not zero, and a mapping made writable later by `mprotect` is not seen. Recorded: compared with a shadow before each flush below the root, before calls that change the file, when the mapping goes, and at the end; up to 64 mappings |
//! | Stores are in the record where they were noticed, up to a flush later than they were made | none; what was stored and undone in between is not in the record |
//! | `msync` of a part of a file | recorded as a flush only if it covers the whole file |
//! | A mapping from before the recorder | [`Recorder::new`] refuses the folder |
//! | `io_uring` and Linux AIO | set-up is refused with `ENOSYS` while a watch or recorder is open; a ring from before is not seen |
//! | Copies inside the kernel (`copy_file_range`, `sendfile`, `splice`, `FICLONE`) | to a watched file refused, with the error that makes std and others read and write |
//! | Files opened with `O_SYNC` or `O_DSYNC` flush by writing | counted as writes only; recorded as a write and a flush |
//! | `syncfs` on a file outside flushes the root's files too | counted and recorded for roots that hold the file; `sync` for all |
//! | `sync_file_range` promises nothing | counted; not recorded |
//! | Something is renamed or linked into the root from outside, or a folder out of it | a record can't tell what it holds: [`Incomplete`]. Keep temporary files inside |
//! | A file that had no name any more when the recorder was made is written to | [`Incomplete`] |
//! | Owner, mode, times, extended attributes | not counted, recorded or compared: no guarantee here rests on them |
//! | Sockets, pipes and devices below the root | not recorded; while one is there, [`Recorder::new`] fails and a record is [`Incomplete`] |
//! | Reading fails, or reads wrong bytes | no fault does that: damage is made in the files |
//! | Another process writes below the root, a child for instance | not counted; recorded by a recorder of its own, else [`Incomplete`] |
//! | Another thread makes or removes the name at the same moment | a creation may be counted as none, or twice; recorded as it was |
//! | Another thread moves the position of the same descriptor while one writes | the write is recorded at the old position: [`Incomplete`] |
//! | A call that is on its way when the recorder is made or finished | have no other thread at work then |
//! | A dangling link as the name of a new file | counted where the link is; [`Incomplete`] |
//! | No file descriptor left to ask with | [`Counts::unresolved`] is not zero; [`Incomplete`] |
//! | `chroot`, or `/proc` unmounted later | none: nothing is counted from then on |
//! | `pthread_cancel` at a file call | the hooks are no points of cancellation |
//! | Systems other than Linux with glibc on x86-64 or aarch64 | [`armed`], [`Watch::new`] and [`Recorder::new`] say no |

#![cfg_attr(
    not(all(
        feature = "hooks",
        target_os = "linux",
        target_env = "gnu",
        target_pointer_width = "64",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )),
    expect(
        dead_code,
        unused_imports,
        reason = "much of it is for the hooks alone"
    )
)]

mod armed;
mod counts;
mod fault;
#[cfg(all(
    feature = "hooks",
    target_os = "linux",
    target_env = "gnu",
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod interpose;
#[cfg(not(all(
    feature = "hooks",
    target_os = "linux",
    target_env = "gnu",
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
#[path = "elsewhere.rs"]
mod interpose;
mod kind;
mod least;
mod op;
mod record;
mod risk;
mod slot;
mod stop;
mod tape;
mod tree;
mod watch;

pub use armed::{NotArmed, armed};
pub use counts::Counts;
pub use fault::{Fault, FaultKind};
pub use op::{Allocation, Call, FileId, Name, Op, Place};
pub use record::{Incomplete, Record, Recorder};
pub use risk::Risk;
pub use stop::{Moment, Plan, arm_from_env};
pub use tree::Tree;
pub use watch::Watch;
