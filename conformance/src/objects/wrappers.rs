//! The wrappers: one counts, one is slow, one spoils.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_timer::Delay;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use object_store::ObjectStore;

use super::wrapped::{Watch, Wrapped};
use super::{Fault, Op, Request};

/// An object store whose requests are counted.
///
/// ```
/// # pollster::block_on(async {
/// use std::sync::Arc;
/// use object_store::{ObjectStoreExt, memory::InMemory};
/// use sessionlog_conformance::objects::Counted;
///
/// let store = Counted::new(Arc::new(InMemory::new()));
/// store.put(&"a".into(), "content".into()).await?;
///
/// let before = store.counts();
/// store.get(&"a".into()).await?.bytes().await?;
/// let reading = store.counts().since(&before);
/// assert_eq!((reading.gets, reading.requests(), reading.bytes_received), (1, 1, 7));
/// # Ok::<(), object_store::Error>(())
/// # }).unwrap();
/// ```
pub type Counted = Wrapped<Counter>;

/// Requests by kind. A multipart upload counts as what it sends: its beginning, parts and end are
/// puts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Puts of every kind, with copies, renames, and the requests of an upload in parts.
    pub puts: u64,
    /// Gets of content.
    pub gets: u64,
    /// Gets of a description.
    pub heads: u64,
    /// Pages of lists.
    pub list_pages: u64,
    /// Deletes of one object.
    pub deletes: u64,
    /// Deletes of several objects with one request.
    pub bulk_deletes: u64,
    /// Objects that deletes of both kinds named.
    pub deleted_objects: u64,
    /// Content that was sent.
    pub bytes_sent: u64,
    /// Content that was received.
    pub bytes_received: u64,
}

impl Counts {
    /// All requests.
    pub fn requests(&self) -> u64 {
        self.puts + self.gets + self.heads + self.list_pages + self.deletes + self.bulk_deletes
    }

    /// What came since earlier counts of the same store.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            puts: self.puts.saturating_sub(earlier.puts),
            gets: self.gets.saturating_sub(earlier.gets),
            heads: self.heads.saturating_sub(earlier.heads),
            list_pages: self.list_pages.saturating_sub(earlier.list_pages),
            deletes: self.deletes.saturating_sub(earlier.deletes),
            bulk_deletes: self.bulk_deletes.saturating_sub(earlier.bulk_deletes),
            deleted_objects: self.deleted_objects.saturating_sub(earlier.deleted_objects),
            bytes_sent: self.bytes_sent.saturating_sub(earlier.bytes_sent),
            bytes_received: self.bytes_received.saturating_sub(earlier.bytes_received),
        }
    }

    fn add(&mut self, request: &Request) {
        match request.op {
            Op::Get => self.gets += 1,
            Op::Head => self.heads += 1,
            Op::List => self.list_pages += 1,
            Op::Delete | Op::BulkDelete => {
                self.deleted_objects += request.objects;
                match request.op {
                    Op::Delete => self.deletes += 1,
                    _ => self.bulk_deletes += 1,
                }
            }
            _ => self.puts += 1,
        }
        self.bytes_sent += request.sent;
    }
}

/// The watch of a [`Counted`] store.
#[derive(Default)]
pub struct Counter(Mutex<Counts>);

impl Counter {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Counter {
    fn request<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Fault> {
        self.lock().add(request);
        ready(Fault::None).boxed()
    }

    fn received(&self, bytes: u64) {
        self.lock().bytes_received += bytes;
    }
}

impl Counted {
    /// Counts the requests to a store from now on.
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self::around(store, Counter::default())
    }

    /// What was counted so far, by all clones.
    pub fn counts(&self) -> Counts {
        *self.watch.lock()
    }
}

/// An object store that answers late.
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use object_store::memory::InMemory;
/// use sessionlog_conformance::objects::Slow;
///
/// let store = Slow::new(Arc::new(InMemory::new()), |request| {
///     Duration::from_millis(if request.op.changes() { 30 } else { 10 })
/// });
/// # drop(store);
/// ```
pub type Slow = Wrapped<Latency>;

/// The watch of a [`Slow`] store.
pub struct Latency(Box<dyn Fn(&Request) -> Duration + Send + Sync>);

impl Watch for Latency {
    fn request<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Fault> {
        let latency = (self.0)(request);
        Box::pin(async move {
            if !latency.is_zero() {
                Delay::new(latency).await;
            }
            Fault::None
        })
    }
}

impl Slow {
    /// A store each request to which takes so long more. Requests do not wait for each other.
    pub fn new(
        store: Arc<dyn ObjectStore>,
        latency: impl Fn(&Request) -> Duration + Send + Sync + 'static,
    ) -> Self {
        Self::around(store, Latency(Box::new(latency)))
    }
}

/// An object store that loses, delays, repeats and spoils requests as it is told.
///
/// No clock and no chance is in it: the same requests and the same verdicts give the same store.
///
/// ```
/// # pollster::block_on(async {
/// use std::sync::Arc;
/// use object_store::{ObjectStore, ObjectStoreExt, PutMode, memory::InMemory};
/// use sessionlog_conformance::objects::{Fault, Faulty};
///
/// let store = Faulty::scripted(Arc::new(InMemory::new()), [Fault::AnswerLost]);
/// // The first request is done, but nobody learns of it.
/// store.put_opts(&"a".into(), "mine".into(), PutMode::Create.into()).await.unwrap_err();
/// // So the second finds the object of the first.
/// let again = store.put_opts(&"a".into(), "mine".into(), PutMode::Create.into()).await;
/// assert!(matches!(again, Err(object_store::Error::AlreadyExists { .. })));
/// assert_eq!(store.get(&"a".into()).await?.bytes().await?, "mine");
/// # Ok::<(), object_store::Error>(())
/// # }).unwrap();
/// ```
pub type Faulty = Wrapped<Verdicts>;

/// The watch of a [`Faulty`] store.
pub struct Verdicts {
    verdict: Box<Verdict>,
    answers: Option<Box<Answers>>,
}

type Verdict = dyn Fn(&Request) -> BoxFuture<'static, Fault> + Send + Sync;
type Answers = dyn Fn() -> BoxFuture<'static, ()> + Send + Sync;

impl Watch for Verdicts {
    fn request<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Fault> {
        (self.verdict)(request)
    }

    fn answer(&self) -> BoxFuture<'_, ()> {
        match &self.answers {
            Some(answers) => answers(),
            None => ready(()).boxed(),
        }
    }
}

impl Verdicts {
    pub(crate) fn eventual(
        verdict: impl Fn(&Request) -> BoxFuture<'static, Fault> + Send + Sync + 'static,
    ) -> Self {
        Self {
            verdict: Box::new(verdict),
            answers: None,
        }
    }

    /// Each answer waits for such a future.
    pub(crate) fn with_answers(
        mut self,
        answers: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Self {
        self.answers = Some(Box::new(answers));
        self
    }

    fn at_once(verdict: impl Fn(&Request) -> Fault + Send + Sync + 'static) -> Self {
        Self::eventual(move |request| ready(verdict(request)).boxed())
    }
}

impl Faulty {
    /// Asks for a verdict on each request.
    pub fn new(
        store: Arc<dyn ObjectStore>,
        verdict: impl Fn(&Request) -> Fault + Send + Sync + 'static,
    ) -> Self {
        Self::around(store, Verdicts::at_once(verdict))
    }

    /// Gives the first requests these verdicts, one each, and does all others.
    pub fn scripted(store: Arc<dyn ObjectStore>, script: impl IntoIterator<Item = Fault>) -> Self {
        let script: Mutex<VecDeque<Fault>> = Mutex::new(script.into_iter().collect());
        Self::new(store, move |_| {
            let mut script = script.lock().unwrap_or_else(PoisonError::into_inner);
            script.pop_front().unwrap_or_default()
        })
    }

    /// Another client of the same store, with verdicts of its own: see [`client`](Wrapped::client).
    #[must_use]
    pub fn beside(&self, verdict: impl Fn(&Request) -> Fault + Send + Sync + 'static) -> Self {
        self.client(Verdicts::at_once(verdict))
    }
}
