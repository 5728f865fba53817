//! The handle on a store.

use std::fmt;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::path::Path;
use sessionlog_core::{EventId, EventLog, Result, SessionId};

use crate::key::Keys;
use crate::objects::Objects;
use crate::options::Options;
use crate::seat::{Seat, What};
use crate::seats::Seats;
use crate::site::Location;

/// Session logs in one bucket, container or folder, below one prefix.
///
/// Cloning is cheap. Nothing runs behind the caller's back: there is no thread and no task, and
/// whatever is under way is driven by the futures that wait for it.
#[derive(Clone)]
pub struct Bucket {
    pub(crate) env: Arc<Env>,
    seats: Arc<Seats>,
}

/// What all sessions of a handle share.
#[derive(Debug)]
pub(crate) struct Env {
    pub(crate) objects: Objects,
    pub(crate) keys: Keys,
    /// The number of this handle.
    pub(crate) writer: [u8; 16],
}

impl Bucket {
    /// Uses a store of objects, below a prefix that may be empty. Sends no request.
    ///
    /// The store must have atomic conditional creates and lists that show what was written before,
    /// and must make durable what it acknowledges: `LocalFileSystem` does not,
    /// [`Folder`](crate::Folder) does.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: impl Into<Path>, options: Options) -> Self {
        Self {
            env: Arc::new(Env {
                objects: Objects { store, options },
                keys: Keys::new(&prefix.into()),
                writer: *EventId::generate().as_bytes(),
            }),
            seats: Arc::default(),
        }
    }

    /// Uses the store at a place, which is probed before the first write unless the place says not
    /// to. Sends no request.
    ///
    /// # Errors
    /// As [`Location::connect`].
    pub fn open(at: &Location, mut options: Options) -> Result<Self> {
        let in_order = || at.lists_in_order();
        options.lists_in_order.get_or_insert_with(in_order);
        let (store, prefix) = at.connect()?;
        Ok(Self::new(store, prefix, options))
    }

    /// Gathers a session into as few objects as can be: chunks of at most 512 times
    /// [`Options::seal_bytes`], and one head. Cost: 1 GET for each chunk or 4 MiB, 1 PUT for each
    /// new chunk, 1 PUT, 1 DELETE. A session that is appended to needs it never.
    ///
    /// # Errors
    /// `NotFound`, `Corrupt`, `Unavailable`, `Indeterminate`: it may have been done.
    pub async fn compact(&self, id: &SessionId) -> Result<()> {
        let (session, _) = self.head(id).await?;
        self.seat(id).submit(&session, What::Compact).await?;
        Ok(())
    }

    /// What is known and under way of a session.
    pub(crate) fn seat(&self, id: &SessionId) -> Arc<Seat> {
        let seat = || Seat::new(Arc::clone(&self.env), id.clone());
        self.seats.seat(id, seat)
    }
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket")
            .field("env", &self.env)
            .finish_non_exhaustive()
    }
}
