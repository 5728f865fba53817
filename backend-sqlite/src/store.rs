//! A store that is open.

use std::any::Any;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use futures_timer::Delay;
use rusqlite::Connection;
use sessionlog_core::{Combiner, Error, Place, Result, SessionRef};

use crate::commit::Held;
use crate::desk::{Desk, Job, Outcome, Work};
use crate::options::Options;
use crate::presence::Presence;
use crate::readers::{Readers, Stamp};
use crate::site::Site;
use crate::{connect, create, doubt, network};

/// Session logs in one SQLite database.
///
/// Clones share one handle. It opens nothing until it is used, and makes nothing until it is written
/// to, so a store can also be read on a file system that can't be written.
#[derive(Clone, Debug)]
pub struct Sqlite {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) site: Site,
    pub(crate) options: Options,
    presence: OnceLock<Arc<Presence>>,
    /// Bytes of deleted sessions may still be in the write-ahead log.
    pub(crate) erase: AtomicBool,
    /// The table of sessions was found whole.
    pub(crate) sound: AtomicBool,
    // Closed before the connection that writes, which can then clear up as the last one.
    readers: Readers,
    desk: Mutex<Option<Box<Desk>>>,
    commits: Combiner<Job, Outcome>,
}

impl Sqlite {
    /// A store in the database `path`, which is made by the first write if it isn't there. If `path` is
    /// a folder that is empty or holds a `sessions.db`, the store is that one, and everything else in
    /// the folder counts as foreign.
    ///
    /// # Errors
    /// `InvalidInput` if the file is no SQLite database or another program's; `Unsupported` if it has a
    /// newer format (with both named) or lies on a network file system; `Corrupt` if it is damaged where
    /// that can be seen at a glance.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        let inner = Inner {
            site: Site::at(path.as_ref())?,
            options,
            presence: OnceLock::new(),
            erase: AtomicBool::new(false),
            sound: AtomicBool::new(false),
            readers: Readers::default(),
            desk: Mutex::default(),
            commits: Combiner::default(),
        };
        if inner.presence()?.is_some() {
            network::refuse(inner.site.folder())?;
        }
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// The database file, as an absolute path.
    pub fn path(&self) -> &Path {
        self.inner.site.path()
    }
}

impl Inner {
    /// The database, if it is there; looked at when it is first met.
    pub(crate) fn presence(&self) -> Result<Option<Arc<Presence>>> {
        let Some(found) = self.site.look()? else {
            return match self.presence.get() {
                Some(_) => Err(self.replaced()),
                None => Ok(None),
            };
        };
        if let Some(known) = self.presence.get() {
            if known.identity() != found.identity {
                return Err(self.replaced());
            }
            doubt::settle_before_opening(&self.site, known)?;
            return Ok(Some(Arc::clone(known)));
        }
        let presence = Presence::of(found.identity);
        self.site.check(&presence)?;
        doubt::take_over(&self.site, &presence)?;
        Ok(Some(Arc::clone(self.presence.get_or_init(|| presence))))
    }

    fn replaced(&self) -> Error {
        Error::corrupt(
            Place::file(self.site.name()),
            "the database was removed or replaced while it was open here, open the store again",
        )
    }

    /// Reads, with one view of the database. `None` if there is no store.
    pub(crate) async fn read<T>(
        &self,
        mut read: impl FnMut(&Connection) -> Result<T> + Send,
    ) -> Result<Option<T>> {
        for _ in 0..4 {
            let Some(presence) = self.presence()? else {
                return Ok(None);
            };
            if presence.is_locked() {
                return self.read_shared(&presence, read).map(Some);
            }
            let stamp = Stamp::of(&self.site)?;
            let Some(stamp) = stamp.filter(|stamp| stamp.identity == presence.identity()) else {
                continue;
            };
            if stamp.is_live() {
                return self.read_shared(&presence, read).map(Some);
            }
            if let Some(left) = stamp.settles_in() {
                Delay::new(left).await;
            } else if let Some(out) = self
                .readers
                .quiet(&self.site, &presence, stamp, &mut read)?
            {
                return Ok(Some(out));
            }
        }
        // Others come and go.
        match self.presence()? {
            Some(presence) => self.read_shared(&presence, read).map(Some),
            None => Ok(None),
        }
    }

    fn read_shared<T>(
        &self,
        presence: &Arc<Presence>,
        read: impl FnMut(&Connection) -> Result<T>,
    ) -> Result<T> {
        self.readers.forget_quiet();
        let timeout = self.options.busy_timeout;
        self.readers.shared(&self.site, presence, timeout, read)
    }

    /// Writes to a session that is there, in one transaction with whatever else is to be written.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        session: &SessionRef,
        job: impl FnOnce(&mut Work<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if self.presence()?.is_none() {
            return Err(session.gone());
        }
        self.submit(job).await
    }

    /// Writes, and makes the store if it isn't there.
    pub(crate) async fn write_or_make<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Work<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.presence()?;
        self.submit(job).await
    }

    async fn submit<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Work<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let job: Job = Box::new(|work| job(work).map(|out| Box::new(out) as Box<dyn Any + Send>));
        let outcome = self.commits.submit(job, Held::begin(self), Held::commit);
        match outcome.await?.downcast() {
            Ok(out) => Ok(*out),
            Err(_) => Err(Error::internal("a commit gave another's outcome")),
        }
    }

    fn slot(&self) -> MutexGuard<'_, Option<Box<Desk>>> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection that writes, opened if nobody has it.
    pub(crate) fn take_desk(&self) -> Result<Box<Desk>> {
        // Whoever asks has looked whether the database is the one that was opened.
        let kept = self.slot().take();
        if let Some(desk) = kept {
            return Ok(desk);
        }
        let presence = match self.presence()? {
            Some(presence) => presence,
            None => {
                create::create(&self.site)?;
                self.presence()?
                    .ok_or_else(|| Error::unavailable("the store is gone as soon as it was made"))?
            }
        };
        self.readers.forget_quiet();
        self.site.make_leases()?;
        let timeout = self.options.busy_timeout;
        let conn = presence.locking(|| connect::writer(self.site.path(), timeout))?;
        // SQLite has made its log, and does not tell if the flush of its name fails.
        self.site.flush_names()?;
        Ok(Box::new(Desk::new(conn)))
    }

    pub(crate) fn put_desk(&self, desk: Box<Desk>) {
        self.slot().get_or_insert(desk);
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite")
            .field("path", &self.site.path())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
