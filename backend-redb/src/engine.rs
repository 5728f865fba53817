//! The database of a store: open for reading until the first write, then for both.

use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_timer::Delay;
use redb::{Builder, ConcurrencyMode, Database, ReadTransaction, TransactionError};
use sessionlog_core::{Error, Result};
use sessionlog_local::files::{Identity, failed as os_failed, open_write};

use crate::Options;
use crate::disk::Disk;
use crate::failure::{failed, unpanicked};
use crate::file::{Header, StoreFile, check_marker};
use crate::open::{Begun, Handle, Open};
use crate::overlay::Overlay;

/// The header is waited for at least this long: every commit locks it for a flush.
const PATIENCE: Duration = Duration::from_secs(1);

/// The database of a store, opened as far as it is needed.
pub(crate) struct Engine {
    pub(crate) file: StoreFile,
    pub(crate) options: Options,
    slot: Mutex<Option<Arc<Open>>>,
}

impl Engine {
    pub(crate) fn new(file: StoreFile, options: Options) -> Self {
        Self {
            file,
            options,
            slot: Mutex::new(None),
        }
    }

    fn slot(&self) -> MutexGuard<'_, Option<Arc<Open>>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of a handle: the next use opens the file again.
    pub(crate) fn forget(&self, open: &Arc<Open>) {
        let mut slot = self.slot();
        if slot.as_ref().is_some_and(|o| Arc::ptr_eq(o, open)) {
            *slot = None;
        }
    }

    /// Lets go of whatever handle there is.
    pub(crate) fn close(&self) -> Option<Arc<Open>> {
        self.slot().take()
    }

    fn builder(&self, mode: ConcurrencyMode) -> Builder {
        let mut builder = Builder::new();
        builder.set_cache_size(self.options.cache);
        builder.set_concurrency_mode(mode);
        if let Some(progress) = self.options.on_repair.clone() {
            builder.set_repair_callback(move |session| progress(session.progress()));
        }
        builder
    }

    /// How long the header may be locked by others.
    fn patience(&self) -> Duration {
        self.options.busy_timeout.max(PATIENCE)
    }

    pub(crate) fn mode(&self) -> ConcurrencyMode {
        if self.options.exclusive {
            ConcurrencyMode::ExclusiveWriter
        } else {
            ConcurrencyMode::MultiWriter
        }
    }

    /// Whether the file that this handle is on is the one at the path; `None` if there is none.
    fn still_there(&self, open: &Arc<Open>) -> Result<Option<bool>> {
        let identity = self.file.identity()?;
        Ok(identity.map(|there| there == open.identity))
    }

    /// An error unless the file that was committed to is the store still.
    ///
    /// A repair that could not open the damaged file to write has put another in its place, and perhaps
    /// without what was committed just now.
    pub(crate) fn committed(&self, open: &Arc<Open>) -> Result<()> {
        match self.still_there(open) {
            Ok(Some(true)) => Ok(()),
            Ok(_) => Err(Error::indeterminate(
                "the store was replaced by a repair during the commit, which may have missed it",
            )),
            Err(error) => Err(Error::indeterminate(
                "whether the store is still the one that was committed to can't be seen",
            )
            .with_source(error)),
        }
    }

    /// Whether there is a store.
    pub(crate) fn is_there(&self) -> Result<bool> {
        Ok(self.file.identity()?.is_some())
    }

    /// Runs something on the newest state of the store; `None` if there is no store.
    ///
    /// It may run more than once, and its first run may see a state that another process is
    /// overwriting: only the last outcome counts.
    pub(crate) fn read<T>(
        &self,
        mut run: impl FnMut(&ReadTransaction) -> Result<T>,
    ) -> Result<Option<T>> {
        for _ in 0..8 {
            let Some(open) = self.open_for_reading()? else {
                return Ok(None);
            };
            let outcome = unpanicked("read the store", || {
                let txn = open.begin_read()?;
                run(&txn)
            });
            if !open.is_current() {
                self.forget(&open);
                continue;
            }
            if let Err(error) = &outcome
                && (error.is_corrupt() || closed(error))
            {
                // Nothing that redb keeps in memory of a damaged page is worth keeping.
                self.forget(&open);
                if closed(error) {
                    continue;
                }
            }
            return outcome.map(Some);
        }
        Err(Error::unavailable(
            "the store kept changing hands while it was read",
        ))
    }

    pub(crate) fn open_for_reading(&self) -> Result<Option<Arc<Open>>> {
        let present = self.slot().clone();
        if let Some(open) = present {
            match self.still_there(&open)? {
                Some(true) => return Ok(Some(open)),
                _ => self.forget(&open),
            }
        }
        let Some((file, identity)) = self.file.open()? else {
            return Ok(None);
        };
        let open = unpanicked("open the store", || self.reader(file, identity))?;
        let open = Arc::new(open);
        // A reader of an exclusive store would keep its writer out.
        if !self.options.exclusive || matches!(open.handle, Some(Handle::Left(..))) {
            *self.slot() = Some(Arc::clone(&open));
        }
        Ok(Some(open))
    }

    fn reader(&self, file: File, identity: Identity) -> Result<Open> {
        let duplicate = || {
            file.try_clone()
                .map_err(os_failed("open", self.file.path()))
        };
        let before = Header::read(&file).map_err(os_failed("read", self.file.path()))?;
        let disk = Disk::plain(reopen(&self.file)?, self.patience());
        let disk = disk.map_err(failed("open the store"))?;
        let opened = self.builder(self.mode()).open_read_only_with_backend(disk);
        let handle = match opened {
            Ok(database) => Handle::Reader(database),
            // Left open by something that died: only a writer may mend it.
            Err(redb::DatabaseError::RepairAborted) => {
                let overlay =
                    Overlay::new(duplicate()?).map_err(os_failed("read", self.file.path()))?;
                let database = self
                    .builder(ConcurrencyMode::ExclusiveWriter)
                    .create_with_backend(overlay)
                    .map_err(failed("open the store"))?;
                Handle::Left(database, Box::new(before))
            }
            Err(error) => return Err(failed("open the store")(error)),
        };
        let open = Open {
            handle: Some(handle),
            file,
            identity,
        };
        check_marker(&open.begin_read()?)?;
        Ok(open)
    }

    /// Opens the file for writing.
    fn open_for_writing(&self) -> Result<Option<Arc<Open>>> {
        let present = self.slot().clone();
        if let Some(open) = present {
            match self.still_there(&open)? {
                Some(true) if matches!(open.handle, Some(Handle::Writer(_))) => {
                    return Ok(Some(open));
                }
                Some(true) => {}
                Some(false) => self.forget(&open),
                None => {
                    return Err(Error::unavailable(format!(
                        "the file of the store is gone since it was opened: {}",
                        self.file.path().display()
                    )));
                }
            }
        }
        let Some((file, identity)) = self.file.open()? else {
            return Ok(None);
        };
        // What is no store must not be touched, so it is read first.
        self.read(|_| Ok(()))?;
        if self.options.exclusive {
            self.close();
        }
        // Nothing is acknowledged in a file whose name could be lost.
        self.file.flush_names()?;
        let open = unpanicked("open the store", || {
            Ok(Open {
                handle: Some(Handle::Writer(self.open_alone()?)),
                file,
                identity,
            })
        })?;
        self.file.clear();
        let open = Arc::new(open);
        *self.slot() = Some(Arc::clone(&open));
        Ok(Some(open))
    }

    /// A handle of its own.
    pub(crate) fn open_alone(&self) -> Result<Database> {
        let what = "open the store";
        let file = open_write(self.file.path()).map_err(os_failed("open", self.file.path()))?;
        let disk = if self.options.exclusive {
            Disk::keeping(file, self.patience())
        } else {
            Disk::shared(file, self.patience())
        };
        let disk = disk.map_err(failed(what))?;
        self.builder(self.mode())
            .create_with_backend(disk)
            .map_err(failed(what))
    }

    /// Begins to write, as soon as no other process does.
    ///
    /// # Errors
    /// `Unavailable` after the busy timeout; `NotFound` if there is no store.
    pub(crate) async fn begin_write(&self) -> Result<Begun> {
        let deadline = Instant::now().checked_add(self.options.busy_timeout);
        let mut pause = Duration::from_micros(100);
        let mut reopened = false;
        loop {
            match self.try_begin_write() {
                Ok(begun) => return Ok(begun),
                Err(Refused::Busy) => {}
                Err(Refused::Broken(_)) if !reopened => {
                    reopened = true;
                    continue;
                }
                Err(Refused::Broken(error)) => return Err(error),
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(Error::unavailable(format!(
                    "another process kept the store busy, try again later: waited {} ms",
                    self.options.busy_timeout.as_millis()
                )));
            }
            Delay::new(pause).await;
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    }

    fn try_begin_write(&self) -> std::result::Result<Begun, Refused> {
        let open = match self.open_for_writing() {
            Ok(Some(open)) => open,
            Ok(None) => return Err(Refused::Broken(Error::not_found("there is no store"))),
            Err(error) if is_locked(&error) => return Err(Refused::Busy),
            Err(error) => return Err(Refused::Broken(error)),
        };
        let Some(Handle::Writer(database)) = &open.handle else {
            return Err(Refused::Broken(Error::internal("the handle can't write")));
        };
        let begun = unpanicked("write to the store", || {
            Ok(database.try_begin_write().map(|txn| (txn, open.header())))
        });
        match begun {
            Ok(Ok((mut txn, Ok(before)))) => {
                // A repair may have put another file in the place of this one meanwhile.
                if !matches!(self.still_there(&open), Ok(Some(true))) {
                    self.forget(&open);
                    drop(unpanicked("write to the store", || {
                        txn.abort().map_err(failed("write to the store"))
                    }));
                    return Err(Refused::Busy);
                }
                txn.set_quick_repair(!self.options.exclusive);
                Ok(Begun { txn, open, before })
            }
            Ok(Err(TransactionError::WouldBlock)) => Err(Refused::Busy),
            Ok(Err(error)) => {
                self.forget(&open);
                Err(Refused::Broken(failed("write to the store")(error)))
            }
            Ok(Ok((_, Err(error)))) | Err(error) => {
                self.forget(&open);
                Err(Refused::Broken(error))
            }
        }
    }
}

enum Refused {
    /// Another process writes.
    Busy,
    Broken(Error),
}

fn reopen(file: &StoreFile) -> Result<File> {
    sessionlog_local::files::open_read(file.path()).map_err(os_failed("open", file.path()))
}

fn source(error: &Error) -> Option<&redb::Error> {
    std::error::Error::source(error)?.downcast_ref()
}

/// Whether the handle was closed under a reader: the store is still there.
fn closed(error: &Error) -> bool {
    matches!(source(error), Some(redb::Error::DatabaseClosed))
}

/// Whether another process has the store for itself alone, or writes.
fn is_locked(error: &Error) -> bool {
    match source(error) {
        Some(redb::Error::DatabaseAlreadyOpen) => true,
        Some(redb::Error::Io(error)) => error.kind() == io::ErrorKind::WouldBlock,
        _ => false,
    }
}
