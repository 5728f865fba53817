//! What a law works with: a fresh place, handles on it, and a trail.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::TryStreamExt;
use sessionlog_core::{
    AppendCondition, Backend, BlobId, Event, Head, Lease, NewEvent, Result, SeqNum, SessionId,
    SessionRef,
};

use crate::artefact::Artefact;
use crate::breach::{End, Held, breach};
use crate::make;
use crate::subject::Erased;
use crate::trace::{Traced, Trail};
use crate::{Budget, Capability, Medium, Options, Place};

/// A backend that leaves a trail.
pub(crate) type Handle = Arc<dyn Backend>;

/// The bench of one run of one law.
pub(crate) struct Bench {
    pub(crate) law: &'static str,
    pub(crate) subject: Erased,
    pub(crate) place: Place,
    pub(crate) options: Options,
    pub(crate) trail: Trail,
    handles: AtomicU32,
    cause: Mutex<Option<Artefact>>,
    counters: Mutex<BTreeMap<&'static str, u64>>,
    hints: Mutex<Vec<String>>,
    /// The time that power losses took to look at, and when the last one was done.
    looked: Mutex<(Duration, Option<Instant>)>,
}

impl Bench {
    pub(crate) fn new(law: &'static str, subject: Erased, options: &Options) -> Held<Self> {
        Ok(Self {
            law,
            subject,
            place: Place::new(&options.ground)?,
            options: options.clone(),
            trail: Trail::default(),
            handles: AtomicU32::new(0),
            cause: Mutex::default(),
            counters: Mutex::default(),
            hints: Mutex::default(),
            looked: Mutex::default(),
        })
    }

    /// Another place, empty, of the same medium.
    pub(crate) fn new_place(&self) -> Held<Place> {
        Ok(Place::new(&self.options.ground)?)
    }

    /// The same as [`new_place`](Self::new_place), but in memory, unless a disk was named.
    pub(crate) fn quick_place(&self) -> Held<Place> {
        Ok(Place::quick(&self.options.ground)?)
    }

    /// Whether thousands of small things cost little in a [`quick_place`](Self::quick_place): in memory
    /// always, elsewhere only if the budget has room for them, no server is asked and no disk was named.
    pub(crate) fn is_quick(&self) -> bool {
        match self.subject.medium {
            Medium::Memory => true,
            Medium::External => false,
            Medium::Directory | Medium::ObjectStore => {
                self.options.budget != Budget::Smoke && self.options.ground.root.is_none()
            }
        }
    }

    /// A handle beside another one, where there can be several at once; else the same.
    pub(crate) async fn beside(&self, handle: &Handle) -> Held<Handle> {
        match self.subject.several_handles {
            Capability::Yes => self.open().await,
            Capability::No(_) => Ok(Arc::clone(handle)),
        }
    }

    /// Takes note of what has to be done to see the failure again.
    pub(crate) fn caused_by(&self, cause: Artefact) {
        let mut noted = self.cause.lock().unwrap_or_else(PoisonError::into_inner);
        *noted = Some(cause);
    }

    /// What has to be done to see the failure again; empty if that is just the law.
    pub(crate) fn cause(&self) -> Artefact {
        let noted = self.cause.lock().unwrap_or_else(PoisonError::into_inner);
        noted.clone().unwrap_or_default()
    }

    /// Opens the store at the bench's place.
    pub(crate) async fn open(&self) -> Held<Handle> {
        self.open_at(&self.place).await
    }

    /// Opens the store at another place.
    pub(crate) async fn open_at(&self, place: &Place) -> Held<Handle> {
        let n = self.handles.fetch_add(1, Ordering::Relaxed);
        let letter = u8::try_from(n % 26).map_or('?', |n| char::from(b'a' + n));
        let opened = (self.subject.open)(place).await;
        let outcome = opened
            .as_ref()
            .map_or_else(ToString::to_string, |_| "ok".into());
        self.trail.line(format!("{letter} open -> {outcome}"));
        Ok(Arc::new(Traced {
            inner: opened?,
            handle: letter,
            trail: self.trail.clone(),
            forgets: false,
        }))
    }

    /// The same store after the loss of all its snapshots.
    pub(crate) fn forgetful(&self, handle: &Handle) -> Handle {
        Arc::new(Traced {
            inner: Arc::clone(handle),
            handle: '-',
            trail: self.trail.clone(),
            forgets: true,
        })
    }

    /// Closes a handle and opens the store again: nobody else may hold on to it.
    pub(crate) async fn reopen(&self, handle: Handle) -> Held<Handle> {
        let users = Arc::strong_count(&handle);
        if users != 1 {
            return Err(End::Broken(format!(
                "the law keeps {users} users of a handle that it closes"
            )));
        }
        drop(handle);
        self.open().await
    }

    /// Opens the store and makes a session in it.
    pub(crate) async fn session(&self, name: &str) -> Held<(Handle, SessionRef)> {
        let handle = self.open().await?;
        let session = make::fresh(name)?;
        handle.create(&session).await?;
        Ok((handle, session))
    }

    /// Runs futures at once, each on a thread of its own.
    pub(crate) fn on_threads<F>(&self, futures: impl Iterator<Item = F>) -> Vec<Held<bool>>
    where
        F: Future<Output = Held<bool>> + Send,
    {
        self.on_threads_made(futures.map(|future| || future))
    }

    /// The same for futures that are made on their threads, and stay there.
    pub(crate) fn on_threads_made<M, F>(&self, makers: impl Iterator<Item = M>) -> Vec<Held<bool>>
    where
        M: FnOnce() -> F + Send,
        F: Future<Output = Held<bool>>,
    {
        let block_on = self.subject.block_on;
        let run = |make: M| {
            let mut outcome = None;
            let fill = async {
                outcome = Some(make().await);
            };
            block_on(Box::pin(fill));
            outcome.unwrap_or(Ok(false))
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = makers.map(|m| scope.spawn(move || run(m))).collect();
            let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
            joined
                .map(|outcome| outcome.unwrap_or_else(|_| Err(breach("a thread panicked"))))
                .collect()
        })
    }

    /// Counts that something happened that must happen sometimes.
    pub(crate) fn sometimes(&self, what: &'static str, times: u64) {
        if times == 0 {
            return;
        }
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        *counters.entry(what).or_default() += times;
    }

    /// Takes note of something that the backend's author may want to know.
    pub(crate) fn hint(&self, hint: String) {
        let mut hints = self.hints.lock().unwrap_or_else(PoisonError::into_inner);
        hints.push(hint);
    }

    /// Takes note of a power loss that was looked at since then.
    pub(crate) fn took(&self, since: Instant) {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        // One that was looked at within another one counts with it.
        let since = looked.1.map_or(since, |last| last.max(since));
        let now = Instant::now();
        looked.0 += now.saturating_duration_since(since);
        looked.1 = Some(now);
    }

    /// The seconds that power losses took to look at.
    pub(crate) fn looked(&self) -> f64 {
        let looked = self.looked.lock();
        looked
            .unwrap_or_else(PoisonError::into_inner)
            .0
            .as_secs_f64()
    }

    pub(crate) fn hints(&self) -> Vec<String> {
        let hints = self.hints.lock();
        hints.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn counters(&self) -> BTreeMap<&'static str, u64> {
        let counters = self.counters.lock();
        counters.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Shorthands on a backend.
pub(crate) trait Ask {
    /// A plain append.
    async fn put_events(
        &self,
        session: &SessionRef,
        events: Vec<NewEvent>,
    ) -> Result<Range<SeqNum>>;
    /// An append at a tail.
    async fn put_at(
        &self,
        session: &SessionRef,
        events: Vec<NewEvent>,
        tail: u64,
    ) -> Result<Range<SeqNum>>;
    /// An append under a lease.
    async fn put_under(
        &self,
        session: &SessionRef,
        events: Vec<NewEvent>,
        lease: &Lease,
    ) -> Result<Range<SeqNum>>;
    /// All events of a range, as the backend gives them.
    async fn events(&self, session: &SessionRef, range: Range<SeqNum>) -> Result<Vec<Event>>;
    /// The whole log.
    async fn log(&self, session: &SessionRef) -> Result<Vec<Event>>;
    /// The end of the log.
    async fn end(&self, session: &SessionRef) -> Result<Head>;
    /// The sorted names.
    async fn ids(&self) -> Result<Vec<SessionId>>;
    /// A blob's bytes.
    async fn blob(&self, session: &SessionRef, id: BlobId, range: Range<u64>) -> Result<Vec<u8>>;
    /// A lease for an owner.
    async fn lease(&self, session: &SessionRef, owner: &str) -> Held<Lease>;
    /// Two grants, the first of which is stale.
    async fn stale_and_new(&self, session: &SessionRef) -> Held<(Lease, Lease)>;
}

impl Ask for Handle {
    async fn put_events(
        &self,
        session: &SessionRef,
        events: Vec<NewEvent>,
    ) -> Result<Range<SeqNum>> {
        self.append(session, events, AppendCondition::NONE).await
    }

    async fn put_at(
        &self,
        session: &SessionRef,
        events: Vec<NewEvent>,
        tail: u64,
    ) -> Result<Range<SeqNum>> {
        let condition = AppendCondition::at(SeqNum::new(tail));
        self.append(session, events, condition).await
    }

    async fn put_under(
        &self,
        session: &SessionRef,
        events: Vec<NewEvent>,
        lease: &Lease,
    ) -> Result<Range<SeqNum>> {
        self.append(session, events, AppendCondition::with(lease.token))
            .await
    }

    async fn events(&self, session: &SessionRef, range: Range<SeqNum>) -> Result<Vec<Event>> {
        self.read(session, range).try_concat().await
    }

    async fn log(&self, session: &SessionRef) -> Result<Vec<Event>> {
        self.events(session, SeqNum::all()).await
    }

    async fn end(&self, session: &SessionRef) -> Result<Head> {
        let (present, head) = self.head(&session.id).await?;
        if present == *session {
            Ok(head)
        } else {
            Err(session.gone())
        }
    }

    async fn ids(&self) -> Result<Vec<SessionId>> {
        let mut ids: Vec<_> = self.sessions().try_collect().await?;
        ids.sort_unstable();
        Ok(ids)
    }

    async fn blob(&self, session: &SessionRef, id: BlobId, range: Range<u64>) -> Result<Vec<u8>> {
        let pieces: Vec<Bytes> = self.get(session, id, range).try_collect().await?;
        Ok(pieces.concat())
    }

    async fn lease(&self, session: &SessionRef, owner: &str) -> Held<Lease> {
        Ok(self.acquire(session, make::request(owner)?).await?)
    }

    async fn stale_and_new(&self, session: &SessionRef) -> Held<(Lease, Lease)> {
        let stale = self.lease(session, "first").await?;
        self.release(&stale).await?;
        Ok((stale, self.lease(session, "second").await?))
    }
}
