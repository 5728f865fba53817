//! The in-memory backend: the reference model.

mod blob;
mod lease;
mod log;
mod snapshot;
mod upkeep;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use event_listener::Event as Bell;

use crate::{
    BlobId, Event, FencingToken, Head, Holder, Kind, Ledger, Limits, Result, SeqNum, SessionId,
    SessionRef, Snapshot,
};

/// A backend that keeps everything in memory: the oracle of the property tests, and what tests of
/// user code run on.
///
/// It upholds every guarantee that needs no medium: G3 is left out, since nothing survives the
/// process. Clones share one store.
///
/// ```
/// use sessionlog_core::{Memory, Store};
///
/// let store = Store::new(Memory::new());
/// # let _ = store;
/// ```
#[derive(Clone, Default)]
pub struct Memory {
    state: Arc<Mutex<State>>,
    limits: Limits,
}

#[derive(Default)]
struct State {
    lives: BTreeMap<SessionId, Life>,
}

/// A session in one of its lives.
struct Life {
    session: SessionRef,
    ledger: Ledger,
    events: Vec<Event>,
    token: FencingToken,
    lease: Option<(Holder, Weak<Grant>)>,
    snapshots: HashMap<(Kind, u32), BTreeMap<SeqNum, Snapshot>>,
    blobs: BTreeMap<BlobId, Bytes>,
    bell: Arc<Bell>,
}

/// What a lease holds; the lease is free when it is gone.
struct Grant;

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store with limits of its own.
    pub fn with_limits(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn life(&mut self, session: &SessionRef) -> Result<&mut Life> {
        self.lives
            .get_mut(&session.id)
            .filter(|life| life.session == *session)
            .ok_or_else(|| session.gone())
    }
}

impl Life {
    fn new(session: &SessionRef) -> Self {
        Self {
            session: session.clone(),
            ledger: Ledger::new(Head::genesis(&session.id, session.incarnation)),
            events: Vec::new(),
            token: FencingToken::NONE,
            lease: None,
            snapshots: HashMap::new(),
            blobs: BTreeMap::new(),
            bell: Arc::new(Bell::new()),
        }
    }

    /// The present holder of the lease.
    fn holder(&self) -> Option<&Holder> {
        self.lease
            .as_ref()
            .filter(|(_, grant)| grant.strong_count() > 0)
            .map(|(holder, _)| holder)
    }
}
