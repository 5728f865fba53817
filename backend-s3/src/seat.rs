//! A session in a handle: who waits joins the next write, of which there is one at a time.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use event_listener::Event as Bell;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use object_store::path::Path;
use sessionlog_core::{
    AppendCondition, Combiner, Error, FencingToken, Head, Incarnation, LeaseRequest, Ledger,
    NewEvent, Owner, Repair, Result, SeqNum, SessionId, SessionRef, Timestamp,
};

use crate::ahead::Ahead;
use crate::bucket::Env;
use crate::chunk::{ChunkRef, Front};
use crate::key::dir_of;
use crate::moment::Moment;
use crate::view::View;

/// What is known and under way of one session.
pub(crate) struct Seat {
    pub(crate) env: Arc<Env>,
    pub(crate) id: SessionId,
    /// The session's folder.
    pub(crate) dir: String,
    combiner: Combiner<Job, Ticket>,
    running: Mutex<Option<Run>>,
    pub(crate) view: Mutex<Option<Arc<View>>>,
    /// A head behind the view is sent, and may be there: others may have written and collected behind
    /// it, so an empty slot says nothing.
    pub(crate) sent: AtomicBool,
    pub(crate) desk: futures_util::lock::Mutex<Desk>,
    /// Held while snapshots are saved.
    pub(crate) snapshots: futures_util::lock::Mutex<()>,
    /// Rings when this handle has written.
    pub(crate) bell: Bell,
}

/// What only a write needs.
#[derive(Default)]
pub(crate) struct Desk {
    /// The ledger at the end of the log that the head in a slot has.
    pub(crate) ledger: Option<(u64, Ledger)>,
    /// A write whose outcome is not known: its slot may be used for nothing else.
    pub(crate) pending: Option<Pending>,
    /// The life whose creation was sent, and not answered yet.
    pub(crate) making: Option<Incarnation>,
    /// Slots of heads that nobody needs any more, once there are newer ones.
    pub(crate) garbage: BTreeSet<u64>,
    /// Chunks that were put for heads of a life, and are named by none that was written.
    pub(crate) unnamed: Arc<Unnamed>,
    /// A chunk that was put for the next head.
    pub(crate) ahead: Option<Ahead>,
    /// Chunks that were merged into others, and since when.
    pub(crate) dropped: Vec<(Moment, Path)>,
    /// Appends since garbage was last collected.
    pub(crate) since: u64,
    /// Fronts of chunks, by the chunk's name.
    pub(crate) fronts: HashMap<u64, Front>,
    /// Chunks can't be read, so they are not merged.
    pub(crate) unmerged: bool,
}

/// Chunks of lives, to which whoever puts one beside a head can add.
#[derive(Default)]
pub(crate) struct Unnamed(Mutex<Vec<(Incarnation, ChunkRef)>>);

impl Unnamed {
    pub(crate) fn push(&self, life: Incarnation, chunk: &ChunkRef) {
        lock(&self.0).push((life, chunk.clone()));
    }

    /// Adds what is new among the chunks of a head.
    pub(crate) fn extend(&self, life: Incarnation, before: &[ChunkRef], after: &[ChunkRef]) {
        let new = after.iter().filter(|chunk| !before.contains(chunk));
        new.for_each(|chunk| self.push(life, chunk));
    }

    /// Takes out the chunks that a head of a life names.
    pub(crate) fn remove(&self, life: Incarnation, chunks: &[ChunkRef]) {
        lock(&self.0).retain(|(of, chunk)| *of != life || !chunks.contains(chunk));
    }

    pub(crate) fn all(&self) -> Vec<(Incarnation, ChunkRef)> {
        lock(&self.0).clone()
    }

    pub(crate) fn clear(&self) {
        lock(&self.0).clear();
    }
}

/// A write whose outcome is not known.
pub(crate) struct Pending {
    pub(crate) slot: u64,
    pub(crate) bytes: Bytes,
    /// What the session is if it was done.
    pub(crate) view: Arc<View>,
    pub(crate) since: Moment,
}

/// Something that is to be written.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) session: SessionRef,
    pub(crate) what: What,
}

impl Job {
    pub(crate) fn is_append(&self) -> bool {
        matches!(self.what, What::Append(..))
    }
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    Create,
    Append(Vec<NewEvent>, AppendCondition),
    Acquire(LeaseRequest),
    Renew(Owner, FencingToken, Duration),
    Release(FencingToken),
    Delete(Option<FencingToken>),
    Compact,
    Mend,
}

/// What was done.
#[derive(Clone, Debug)]
pub(crate) enum Done {
    Appended(Range<SeqNum>),
    /// With the end of the log at the grant.
    Granted(FencingToken, Timestamp, Head),
    Mended(Repair),
    Nothing,
}

type Outcomes = Arc<Vec<Result<Done>>>;
type Run = Shared<BoxFuture<'static, Outcomes>>;

/// A place in a run.
struct Ticket(Run, usize);

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Seat {
    pub(crate) fn new(env: Arc<Env>, id: SessionId) -> Self {
        Self {
            dir: dir_of(&id),
            env,
            id,
            combiner: Combiner::default(),
            running: Mutex::new(None),
            sent: AtomicBool::new(false),
            view: Mutex::new(None),
            desk: futures_util::lock::Mutex::default(),
            snapshots: futures_util::lock::Mutex::default(),
            bell: Bell::new(),
        }
    }

    /// Writes, together with all that waits.
    ///
    /// Whoever waits for a run drives it, so that no request is held up by one that was given up.
    pub(crate) async fn submit(self: &Arc<Self>, session: &SessionRef, what: What) -> Result<Done> {
        let job = Job {
            session: session.clone(),
            what,
        };
        let seat = Arc::clone(self);
        let ticket = self.combiner.submit(job, self.idle(), move |(), jobs| {
            let places = 0..jobs.len();
            let run = Arc::clone(&seat).run(jobs).boxed().shared();
            *lock(&seat.running) = Some(run.clone());
            places.map(|at| Ok(Ticket(run.clone(), at))).collect()
        });
        let Ticket(run, at) = ticket.await?;
        let outcomes = run.await;
        let outcome = outcomes.get(at).cloned();
        outcome.unwrap_or_else(|| Err(Error::internal("a write without an outcome")))
    }

    /// Waits until no run is under way.
    async fn idle(&self) -> Result<()> {
        loop {
            let run = lock(&self.running).clone();
            match run.filter(|run| run.peek().is_none()) {
                Some(run) => drop(run.await),
                None => return Ok(()),
            }
        }
    }

    /// Whether something is under way or to be settled.
    pub(crate) fn is_busy(&self) -> bool {
        let running = lock(&self.running);
        let under_way = running.as_ref().is_some_and(|run| run.peek().is_none());
        under_way
            || self
                .desk
                .try_lock()
                .is_none_or(|desk| desk.pending.is_some())
    }

    /// Lets go of a run that nobody drives any more.
    pub(crate) fn let_go(&self) {
        *lock(&self.running) = None;
    }
}

#[cfg(test)]
impl Seat {
    /// As if a run were under way that nobody drives. One that is at its end already has ended.
    pub(crate) fn under_way(&self, run: BoxFuture<'static, Outcomes>) {
        let run = run.shared();
        drop(run.clone().now_or_never());
        *lock(&self.running) = Some(run);
    }

    /// As if the answer to a write had been lost.
    pub(crate) fn unsettled(&self) {
        use crate::head::{Stamp, State};
        let session = SessionRef::fresh(self.id.clone());
        let (writer, commit) = ([1; 16], [1; 16]);
        let state = State::begin(&session, 0, Stamp { writer, commit });
        let pending = Pending {
            slot: 0,
            bytes: Bytes::new(),
            view: Arc::new(View::new(state, None, true)),
            since: Moment::now(),
        };
        if let Some(mut desk) = self.desk.try_lock() {
            desk.pending = Some(pending);
        }
    }
}
