//! Which databases this process has open, so that no file is closed that must stay open.
//!
//! POSIX locks belong to a process and a file: closing *any* descriptor of a file drops all locks that
//! the process has on it, those of SQLite's other connections too (<https://sqlite.org/howtocorrupt.html>,
//! section 2.2). SQLite takes care of that among its own locking connections. What reads a database
//! without locks (a look at the header, a connection that takes the file for immutable) is closed here:
//! at once if nobody in this process locks the file, else when the last one that does is closed.

use std::any::Any;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use event_listener::Event as Bell;
use rusqlite::Connection;
use sessionlog_core::Result;
use sessionlog_local::files::{Identity, open_read, read_range};

static ALL: Mutex<Vec<Weak<Presence>>> = Mutex::new(Vec::new());
/// Those in doubt, so that they are not forgotten when nobody has them open.
static DOUBTFUL: Mutex<Vec<Arc<Presence>>> = Mutex::new(Vec::new());

/// One database, as far as this process has it open.
pub(crate) struct Presence {
    identity: Identity,
    state: Mutex<State>,
    /// A flush of the write-ahead log failed: what is there may never reach the disk, and later flushes
    /// prove nothing of it.
    in_doubt: AtomicBool,
    settling: Mutex<()>,
    /// Rung after each commit of this process.
    pub(crate) bell: Bell,
}

#[derive(Default)]
struct State {
    locking: usize,
    parked: Vec<Box<dyn Any + Send>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Presence {
    /// What this process has of a file.
    pub(crate) fn of(identity: Identity) -> Arc<Self> {
        let mut all = lock(&ALL);
        all.retain(|known| known.strong_count() > 0);
        let known = all.iter().filter_map(Weak::upgrade);
        if let Some(known) = known.into_iter().find(|p| p.identity == identity) {
            return known;
        }
        let presence = Arc::new(Self {
            identity,
            state: Mutex::default(),
            in_doubt: AtomicBool::new(false),
            settling: Mutex::default(),
            bell: Bell::new(),
        });
        all.push(Arc::downgrade(&presence));
        presence
    }

    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    pub(crate) fn is_in_doubt(&self) -> bool {
        self.in_doubt.load(Ordering::SeqCst)
    }

    /// A flush of the write-ahead log failed.
    pub(crate) fn doubt(self: &Arc<Self>) {
        if !self.in_doubt.swap(true, Ordering::SeqCst) {
            lock(&DOUBTFUL).push(Arc::clone(self));
        }
    }

    /// For one at a time, who is about to settle the doubt.
    pub(crate) fn settling(&self) -> MutexGuard<'_, ()> {
        lock(&self.settling)
    }

    /// The log was written anew.
    pub(crate) fn settled(&self) {
        self.in_doubt.store(false, Ordering::SeqCst);
        lock(&DOUBTFUL).retain(|known| known.is_in_doubt());
    }

    /// Whether a connection of this process locks the file.
    pub(crate) fn is_locked(&self) -> bool {
        lock(&self.state).locking > 0
    }

    /// Opens a connection that locks the file.
    pub(crate) fn locking(
        self: &Arc<Self>,
        open: impl FnOnce() -> Result<Connection>,
    ) -> Result<Locking> {
        let mut state = lock(&self.state);
        state.locking += 1;
        drop(state);
        let seat = Seat(Arc::clone(self));
        Ok(Locking {
            conn: open()?,
            seat,
        })
    }

    /// The first bytes of the file.
    pub(crate) fn first_bytes(&self, path: &Path, len: u64) -> io::Result<Vec<u8>> {
        self.with_file(path, |file| read_range(file, 0, len))
    }

    /// Does something with the file as it is, beside SQLite.
    pub(crate) fn with_file<T>(
        &self,
        path: &Path,
        read: impl FnOnce(&File) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut state = lock(&self.state);
        let file: File = open_read(path)?;
        let done = read(&file);
        if state.locking > 0 {
            state.parked.push(Box::new(file));
        }
        done
    }
}

/// A connection that locks the file as SQLite does.
pub(crate) struct Locking {
    // Closed before the seat is given up.
    conn: Connection,
    seat: Seat,
}

impl Locking {
    pub(crate) fn presence(&self) -> &Arc<Presence> {
        &self.seat.0
    }
}

impl Locking {
    /// The connection, for what needs it alone.
    pub(crate) fn conn_mut(&mut self) -> &mut Connection {
        &mut self.conn
    }
}

impl Deref for Locking {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.conn
    }
}

struct Seat(Arc<Presence>);

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.locking = state.locking.saturating_sub(1);
        if state.locking == 0 {
            // Under the lock: nobody may begin to lock the file meanwhile.
            state.parked.clear();
        }
    }
}

/// A connection that takes no locks.
pub(crate) struct Quiet {
    conn: Option<Connection>,
    presence: Arc<Presence>,
}

impl Quiet {
    pub(crate) fn new(conn: Connection, presence: Arc<Presence>) -> Self {
        Self {
            conn: Some(conn),
            presence,
        }
    }

    pub(crate) fn conn(&self) -> Option<&Connection> {
        self.conn.as_ref()
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        let mut state = lock(&self.presence.state);
        match self.conn.take() {
            Some(conn) if state.locking > 0 => state.parked.push(Box::new(conn)),
            conn => drop(conn),
        }
    }
}
