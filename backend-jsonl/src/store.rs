//! A store that is open, and the sessions that it has open.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sessionlog_core::{Error, Head, Result, SessionId, SessionRef};

use crate::dir::{self, EVENTS, SessionDir};
use crate::latest::Ended;
use crate::life::{Life, damaged};
use crate::options::Options;
use crate::root::Root;
use sessionlog_local::files::failed;
use sessionlog_local::look::Look;

/// Session logs in the files of one folder.
///
/// Clones share one handle. It opens nothing until it is used, and makes nothing until it is
/// written to, so a store can also be read on a file system that can't be written.
#[derive(Clone, Debug)]
pub struct Jsonl {
    inner: Arc<Inner>,
}

struct Inner {
    root: Root,
    options: Options,
    lives: Mutex<HashMap<SessionId, Arc<Life>>>,
    /// Ends of logs that a scan came by, for whoever asks for them next.
    seen: Mutex<HashMap<SessionId, Ended>>,
}

/// How many sessions are kept open without being used: each has up to three files.
const OPEN: usize = 128;

/// How many ends of logs are remembered.
const SEEN: usize = 1 << 17;

impl Jsonl {
    /// A store in the folder `path`, which is made by the first write if it isn't there.
    ///
    /// # Errors
    /// `InvalidInput` if the path is a file, or a folder of something else; `Unsupported` if it is
    /// a store of another backend or of a newer format, with both named. `InvalidInput` too for
    /// limits that allow a commit which could not be found again: of more than 256 MiB.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        options.check()?;
        Ok(Self {
            inner: Arc::new(Inner {
                root: Root::open(path.as_ref())?,
                options,
                lives: Mutex::default(),
                seen: Mutex::default(),
            }),
        })
    }

    /// The folder of the store, as an absolute path.
    pub fn path(&self) -> &Path {
        self.root().path()
    }

    pub(crate) fn root(&self) -> &Root {
        &self.inner.root
    }

    pub(crate) fn options(&self) -> &Options {
        &self.inner.options
    }

    pub(crate) fn dir(&self, id: &SessionId) -> SessionDir {
        SessionDir::new(self.path(), id)
    }

    fn lives(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Life>>> {
        self.inner
            .lives
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn seen(&self) -> MutexGuard<'_, HashMap<SessionId, Ended>> {
        let seen = self.inner.seen.lock();
        seen.unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the end of a log, until it is asked for.
    pub(crate) fn saw(&self, ended: Ended) {
        let mut seen = self.seen();
        if seen.len() < SEEN {
            seen.insert(ended.session.id.clone(), ended);
        }
    }

    /// Whether the end of a session's log was seen, and not asked for yet.
    pub(crate) fn has_seen(&self, id: &SessionId) -> bool {
        self.seen().contains_key(id)
    }

    /// The end of a log that was seen, if the log still looks as it did then.
    pub(crate) fn still(&self, id: &SessionId) -> Option<(SessionRef, Head)> {
        let ended = self.seen().remove(id)?;
        let holds = ended.holds(&self.dir(id));
        holds.then_some((ended.session, ended.head))
    }

    /// The folders in the store whose names are those of sessions.
    pub(crate) fn folders(
        &self,
    ) -> Result<impl Iterator<Item = Result<(SessionId, PathBuf)>> + Send + 'static> {
        let path = self.path().to_owned();
        let there = self.root().is_there()?;
        let entries = there.then(|| fs::read_dir(&path)).transpose();
        let entries = entries.map_err(failed("list", &path))?;
        Ok(entries.into_iter().flatten().filter_map(move |entry| {
            let entry = match entry {
                Ok(entry) => entry,
                Err(e) => return Some(Err(failed("list", &path)(e))),
            };
            let id = dir::session(entry.file_name().to_str()?)?;
            entry
                .file_type()
                .is_ok_and(|t| t.is_dir())
                .then(|| Ok((id, entry.path())))
        }))
    }

    /// Forgets what is known of a session.
    pub(crate) fn forget(&self, id: &SessionId) {
        let life = self.lives().remove(id);
        if let Some(life) = life {
            life.bell.notify(usize::MAX);
        }
    }

    /// The present life of an id.
    pub(crate) fn present(&self, id: &SessionId) -> Result<Arc<Life>> {
        let known = self.lives().get(id).cloned();
        let events = match &known {
            Some(life) => life.events.clone(),
            None => self.dir(id).join(EVENTS),
        };
        if let Some(life) = &known
            && Look::at(&events).is_ok_and(|found| found.identity == life.identity)
        {
            return Ok(Arc::clone(life));
        }
        if known.is_none() && !self.root().was_there() && !self.root().is_there()? {
            return Err(none(id));
        }
        let Some(life) = Life::open(self.root(), id, self.options().busy_timeout)? else {
            self.forget(id);
            return Err(none(id));
        };
        if let Some(known) = known
            && known.session == life.session
            && let Some(end) = known.known()
            && !life.holds(end)?
        {
            return Err(damaged(
                id,
                "the log was replaced by one that lacks events which were read or written here",
            ));
        }
        let life = Arc::new(life);
        let mut lives = self.lives();
        if lives.len() >= OPEN {
            lives.retain(|_, life| Arc::strong_count(life) > 1 || !life.can_go());
        }
        lives.insert(id.clone(), Arc::clone(&life));
        Ok(life)
    }

    /// The life that is meant, if it is open; it may have ended since.
    pub(crate) fn open_life(&self, session: &SessionRef) -> Option<Arc<Life>> {
        let life = self.lives().get(&session.id).cloned()?;
        (life.session == *session).then_some(life)
    }

    /// The life that is meant, if it is the present one.
    pub(crate) fn life(&self, session: &SessionRef) -> Result<Arc<Life>> {
        let life = self.present(&session.id).map_err(|error| {
            if error.is_not_found() {
                session.gone()
            } else {
                error
            }
        })?;
        if life.session == *session {
            Ok(life)
        } else {
            Err(session.gone())
        }
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jsonl")
            .field("path", &self.root.path())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

fn none(id: &SessionId) -> Error {
    Error::not_found(format!("there is no such session: {id}"))
}
