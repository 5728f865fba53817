//! What a backend's author writes.

use std::any::type_name;
use std::sync::Arc;

use futures_util::future::{BoxFuture, LocalBoxFuture};
use sessionlog_core::{Backend, Limits, Result, Store};

use crate::Place;
use crate::known::Known;

/// A backend under test.
///
/// ```
/// use sessionlog_conformance::{Medium, Place, Subject};
/// use sessionlog_core::{Memory, Result};
///
/// struct InMemory;
///
/// impl Subject for InMemory {
///     type Backend = Memory;
///     const MEDIUM: Medium = Medium::Memory;
///
///     async fn open(place: &Place) -> Result<Memory> {
///         Ok(place.keep(Memory::new))
///     }
/// }
///
/// let report = sessionlog_conformance::run::<InMemory>(&sessionlog_conformance::Options::smoke());
/// assert!(report.is_green(), "{report}");
/// ```
///
/// `open` has no `self`: nothing can be carried from one life of the store to the next but what
/// lies in the [`Place`], which the suite owns. It also runs in another process, and on a copy of
/// the place.
pub trait Subject: Sized + 'static {
    /// The backend, or a [`Store`] on it.
    type Backend: Into<Store>;

    /// What it keeps its data on.
    const MEDIUM: Medium;

    /// Two handles on one place can be open at once in one process.
    const SEVERAL_HANDLES: Capability = Capability::Yes;
    /// Several processes can have the place open at once.
    const SEVERAL_PROCESSES: Capability = Capability::Yes;
    /// A lease can be taken from a live holder.
    const FORCED_LEASES: Capability = Capability::Yes;
    /// A lease ends at once when it is dropped or its holder is killed, not only when it expires.
    const PROMPT_LEASES: Capability = Capability::Yes;
    /// A follower on one handle wakes up for an append on another, and for its delete.
    const LIVE_NOTIFICATION: Capability = Capability::Yes;
    /// Concurrent appends share flushes.
    const GROUP_COMMIT: Capability = Capability::Yes;
    /// A lone append costs exactly one write call and one flush.
    const ONE_WRITE_ONE_FLUSH: Capability = Capability::No("it is not promised");
    /// Opening a store that is whole, and reading it, writes no byte and creates no file.
    const SILENT_OPEN: Capability = Capability::Yes;
    /// No byte of a deleted session stays in the folder.
    const ERASES_BYTES: Capability = Capability::Yes;
    /// Files and folders can be read by their owner alone, whatever the umask.
    const PRIVATE_FILES: Capability = Capability::Yes;
    /// An object store that ignores conditions, or whose lists lag behind what was written, is refused
    /// before a session is stored in it.
    const REFUSES_UNFIT_STORES: Capability = Capability::Yes;
    /// What one read has seen every later one sees, on every handle. Without it a batch whose append
    /// is under way may be seen on other handles, and not yet on the one that writes it.
    const LINEARIZABLE_READS: Capability = Capability::Yes;
    /// A log that has lost its end is told from one that never was longer: a file that is cut short,
    /// or whose last sectors are blank, is damage. Without it only what a killed writer or a power
    /// cut can leave may be shorter in silence, and only by whole batches: what looks like a loss of
    /// the file's end by any number, and what looks like an unfinished commit by the last one.
    const FINDS_LOST_ENDS: Capability = Capability::Yes;
    /// A list knows every session, whatever file is gone. Without it a session whose entry in the list
    /// is lost may be missing there in silence, if `strays` tells: asking for it by its name gives it.
    const FINDS_LOST_NAMES: Capability = Capability::Yes;
    /// A repair of a damaged session keeps every event that is whole.
    const SALVAGES: Capability = Capability::Yes;
    /// Nothing that is acknowledged rests on a name whose folder was not flushed. Without it the
    /// store is safe where a journal keeps names in their order, as on ext4 and XFS.
    const POSIX_NAMES: Capability = Capability::Yes;

    /// Laws that the backend is known to break, each with the reason: they are told as known instead
    /// of as failures. One that is upheld is red, so that the list stays true.
    const KNOWN_FAILURES: &'static [(&'static str, &'static str)] = &[];

    /// Opens the store at a place: an empty one, or what an earlier life left there.
    ///
    /// # Errors
    /// Whatever the backend gives. Where the place is whole, opening must succeed; where a file of it
    /// is damaged, an error is as right as success, and a panic is not.
    fn open(place: &Place) -> impl Future<Output = Result<Self::Backend>> + Send;

    /// The limits that the opened store has.
    fn limits() -> Limits {
        Limits::default()
    }

    /// Runs a future to its end. Override it for a backend that needs a runtime of its own.
    fn block_on<F: Future>(future: F) -> F::Output {
        pollster::block_on(future)
    }

    /// The name in reports and file names.
    fn name() -> &'static str {
        let name = type_name::<Self>();
        name.rsplit("::").next().unwrap_or(name)
    }
}

/// What a backend keeps its data on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// Files below [`Place::dir`], and nothing elsewhere.
    Directory,
    /// Objects in the store `Place::objects`, which the suite owns, and nothing elsewhere. It is in
    /// the memory of this process and spoils requests in level L8. Needs the feature `objects`.
    ObjectStore,
    /// Something else that outlives the process, under the name [`Place::name`].
    External,
    /// Memory of this process, kept by [`Place::keep`]: nothing is said about crashes.
    Memory,
}

/// Whether a backend can do something that not every backend can.
///
/// What it can't do is not tested, and the report says so with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// It can.
    Yes,
    /// It can't, for this reason.
    No(&'static str),
}

type Open = for<'a> fn(&'a Place) -> BoxFuture<'a, Result<Arc<dyn Backend>>>;

/// A subject without its type, so that laws are compiled once.
#[derive(Clone, Copy)]
pub(crate) struct Erased {
    pub(crate) name: &'static str,
    pub(crate) medium: Medium,
    pub(crate) limits: Limits,
    pub(crate) several_handles: Capability,
    pub(crate) several_processes: Capability,
    pub(crate) forced_leases: Capability,
    pub(crate) prompt_leases: Capability,
    pub(crate) live_notification: Capability,
    pub(crate) group_commit: Capability,
    pub(crate) one_write_one_flush: Capability,
    pub(crate) silent_open: Capability,
    pub(crate) erases_bytes: Capability,
    pub(crate) private_files: Capability,
    pub(crate) refuses_unfit_stores: Capability,
    pub(crate) known_failures: &'static [(&'static str, &'static str)],
    /// If it is one of the suite's own.
    pub(crate) known: Option<Known>,
    pub(crate) linearizable_reads: Capability,
    pub(crate) finds_lost_ends: Capability,
    pub(crate) finds_lost_names: Capability,
    pub(crate) salvages: Capability,
    pub(crate) posix_names: Capability,
    pub(crate) open: Open,
    pub(crate) block_on: fn(LocalBoxFuture<'_, ()>),
}

impl Erased {
    pub(crate) fn of<S: Subject>() -> Self {
        Self {
            name: S::name(),
            medium: S::MEDIUM,
            limits: S::limits(),
            several_handles: S::SEVERAL_HANDLES,
            several_processes: S::SEVERAL_PROCESSES,
            forced_leases: S::FORCED_LEASES,
            prompt_leases: S::PROMPT_LEASES,
            live_notification: S::LIVE_NOTIFICATION,
            group_commit: S::GROUP_COMMIT,
            one_write_one_flush: S::ONE_WRITE_ONE_FLUSH,
            silent_open: S::SILENT_OPEN,
            erases_bytes: S::ERASES_BYTES,
            private_files: S::PRIVATE_FILES,
            refuses_unfit_stores: S::REFUSES_UNFIT_STORES,
            known_failures: S::KNOWN_FAILURES,
            known: None,
            linearizable_reads: S::LINEARIZABLE_READS,
            finds_lost_ends: S::FINDS_LOST_ENDS,
            finds_lost_names: S::FINDS_LOST_NAMES,
            salvages: S::SALVAGES,
            posix_names: S::POSIX_NAMES,
            open: |place| {
                Box::pin(async move {
                    let store: Store = S::open(place).await?.into();
                    Ok(Arc::clone(store.backend()))
                })
            },
            block_on: |future| S::block_on(future),
        }
    }
}
