//! The backend, and how its writes share commits.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use event_listener::Event as Bell;
use sessionlog_core::{Combiner, Error, FencingToken, Result, SeqNum, SessionRef};

use crate::Options;
use crate::engine::Engine;
use crate::failure::{failed, unpanicked};
use crate::file::{LOCKS, StoreFile};
use crate::locks::Locks;
use crate::open::Begun;
use crate::write::{Ledgers, Write};
use sessionlog_local::lock::Held;

/// A store of sessions in one redb file.
///
/// Several handles and several processes can use one file at once. Dropping the last clone closes
/// it. It works on the thread that polls it: a commit takes as long as two flushes of the disk (one,
/// if the store is [exclusive](Options::exclusive)), and concurrent writes of one handle share it.
///
/// ```
/// use sessionlog_backend_redb::{Options, Redb};
/// use sessionlog_core::Store;
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("sessions.redb");
/// let store = Store::new(Redb::open(path, Options::default())?);
/// # let _ = store;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Redb {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) locks: Locks,
    combiner: Combiner<Job, Done>,
    ledgers: Mutex<Ledgers>,
    pub(crate) bell: Bell,
}

/// A write that shares a transaction with others.
pub(crate) type Job = Box<dyn FnOnce(&mut Write<'_>) -> Result<Done> + Send>;

/// What came of it.
pub(crate) enum Done {
    Nothing,
    /// Where a batch is.
    Range(std::ops::Range<SeqNum>),
    /// A lease, and the one before it.
    Grant {
        token: FencingToken,
        before: FencingToken,
        number: u64,
        lock: Held,
    },
    /// A number for an upload, and its lock.
    Upload(u64, Held),
    /// The name of the life that ended, and its last token.
    Deleted(u64, FencingToken),
    /// What a repair did.
    Repaired(sessionlog_core::Repair),
}

impl Redb {
    /// Opens a store, which need not be there: the first write makes it. Writes nothing.
    ///
    /// The path is that of the file. If there is a folder that is empty or holds a `sessions.redb`, it is
    /// that one, and whatever else lies there is foreign.
    ///
    /// # Errors
    /// `Unsupported` for a store of another backend, or of a newer version; `InvalidInput` for a
    /// database that is no store; `Corrupt` for a file that is no database or is
    /// damaged; `Unavailable` if it can't be read, or another process has it for itself alone.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        let file = StoreFile::new(path.as_ref())?;
        let locks = Locks::new(file.beside(LOCKS));
        let store = Self {
            shared: Arc::new(Shared {
                engine: Engine::new(file, options),
                locks,
                combiner: Combiner::default(),
                ledgers: Mutex::default(),
                bell: Bell::new(),
            }),
        };
        store.shared.engine.read(|_| Ok(()))?;
        Ok(store)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        self.shared.engine.file.path()
    }

    /// Writes, in a transaction that it shares with whatever else is waiting.
    pub(crate) async fn write(
        &self,
        session: &SessionRef,
        job: impl FnOnce(&mut Write<'_>) -> Result<Done> + Send + 'static,
    ) -> Result<Done> {
        let shared = &self.shared;
        if !shared.engine.is_there()? {
            return Err(session.gone());
        }
        let commit = |begun, jobs| shared.commit(begun, jobs);
        let begin = shared.engine.begin_write();
        shared.combiner.submit(Box::new(job), begin, commit).await
    }
}

impl std::fmt::Debug for Redb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redb")
            .field("path", &self.path())
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// Runs jobs in one transaction and commits what they wrote.
    fn commit(&self, begun: Begun, jobs: Vec<Job>) -> Vec<Result<Done>> {
        let Begun { txn, open, before } = begun;
        let mut ledgers = self.ledgers.lock().unwrap_or_else(PoisonError::into_inner);
        let count = jobs.len();
        let limits = self.engine.options.limits;
        let mut outcomes = Vec::with_capacity(count);
        let ran = unpanicked("write to the store", || {
            let mut write = Write::new(&txn, &mut ledgers, limits, &self.locks)?;
            for job in jobs {
                outcomes.push(job(&mut write));
                if let Some(error) = write.broken {
                    return Err(error);
                }
            }
            Ok(write.dirty)
        });
        let done = match ran {
            Ok(true) => unpanicked("commit", || txn.commit().map_err(failed("commit"))),
            Ok(false) => {
                // Nothing was written, so nothing can be lost.
                if abort(txn).is_err() {
                    self.engine.forget(&open);
                }
                return outcomes;
            }
            Err(error) => {
                // The handle is given up, with all that it may still hold of the transaction.
                drop(abort(txn));
                ledgers.clear();
                self.engine.forget(&open);
                if outcomes.len() < count {
                    outcomes.push(Err(error));
                }
                return undone(outcomes, count);
            }
        };
        let committed = match done {
            Ok(()) => self.engine.committed(&open),
            Err(error) => {
                // Nobody else has committed, unless the newest commit is another one now.
                let unchanged = open.header().is_ok_and(|now| now.same_commit(&before));
                Err(if unchanged && error.is_corrupt() {
                    error
                } else if unchanged {
                    Error::unavailable("the commit failed, nothing was written").with_source(error)
                } else {
                    Error::indeterminate("the commit failed, and may have happened")
                        .with_source(error)
                })
            }
        };
        match committed {
            Ok(()) => {
                self.bell.notify(usize::MAX);
                outcomes
            }
            Err(error) => {
                ledgers.clear();
                self.engine.forget(&open);
                let failed = |outcome: Result<Done>| outcome.and(Err(error.clone()));
                outcomes.into_iter().map(failed).collect()
            }
        }
    }
}

fn abort(txn: redb::WriteTransaction) -> Result<()> {
    unpanicked("write to the store", || {
        txn.abort().map_err(failed("write to the store"))
    })
}

/// The outcomes of jobs that share a transaction with one that failed: all but that one, the last
/// that ran, can be tried again.
fn undone(mut outcomes: Vec<Result<Done>>, count: usize) -> Vec<Result<Done>> {
    let culprit = outcomes.pop();
    let again = || {
        Err(Error::unavailable(
            "another write of the same commit failed, nothing happened, try again",
        ))
    };
    let mut all: Vec<_> = outcomes.into_iter().map(|_| again()).collect();
    all.extend(culprit);
    all.resize_with(count, again);
    all
}
