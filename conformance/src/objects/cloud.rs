//! What the clients of one store share: the count of requests, and the requests that are late.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use object_store::{Error, ObjectMeta, ObjectStore, Result};

use super::{Fault, Op};

/// How many creations are remembered for lists that lag.
const REMEMBERED: usize = 256;

type Send = BoxFuture<'static, bool>;

/// A store behind its clients.
pub(super) struct Cloud {
    pub(super) inner: Arc<dyn ObjectStore>,
    requests: AtomicU64,
    /// Requests whose verdict was given: what "later" is counted in.
    sent: AtomicU64,
    zombies: AtomicU64,
    late: Mutex<Vec<(u64, Send)>>,
    created: Mutex<VecDeque<String>>,
}

impl Cloud {
    pub(super) fn new(inner: Arc<dyn ObjectStore>) -> Self {
        Self {
            inner,
            requests: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            zombies: AtomicU64::new(0),
            late: Mutex::default(),
            created: Mutex::default(),
        }
    }

    pub(super) fn next(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::SeqCst)
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }

    /// Late requests that took effect.
    pub(super) fn zombies(&self) -> u64 {
        self.zombies.load(Ordering::SeqCst)
    }

    pub(super) fn later(&self, after: u8, send: Send) {
        let due = self.sent.load(Ordering::SeqCst) + u64::from(after);
        lock(&self.late).push((due, send));
    }

    /// Does what was to be done before the request that is about to be sent.
    pub(super) async fn arrive(&self) {
        let now = self.sent.fetch_add(1, Ordering::SeqCst);
        self.arrive_by(now).await;
    }

    /// Does everything that is late.
    pub(super) async fn settle(&self) {
        self.arrive_by(u64::MAX).await;
    }

    async fn arrive_by(&self, now: u64) {
        let due: Vec<_> = lock(&self.late)
            .extract_if(.., |(due, _)| *due <= now)
            .collect();
        for (_, send) in due {
            let applied = send.await;
            self.zombies.fetch_add(u64::from(applied), Ordering::SeqCst);
        }
    }

    pub(super) fn created(&self, key: String) {
        let mut created = lock(&self.created);
        created.push_back(key);
        if created.len() > REMEMBERED {
            created.pop_front();
        }
    }

    /// A page of a list as its fate wants it.
    pub(super) fn spoil_page(
        &self,
        mut page: Vec<Result<ObjectMeta>>,
        key: String,
        fault: Fault,
    ) -> Vec<Result<ObjectMeta>> {
        match fault {
            Fault::Lost | Fault::Throttled => vec![Err(spoil(fault, Op::List, key))],
            Fault::TruncatedList => {
                page.truncate(page.len().div_ceil(2));
                page.push(Err(spoil(fault, Op::List, key)));
                page
            }
            Fault::StaleList(n) => {
                let created = lock(&self.created);
                let hidden: Vec<_> = created.iter().rev().take(usize::from(n)).collect();
                let shown = |item: &Result<ObjectMeta>| {
                    let key = item.as_ref().map(|meta| meta.location.as_ref());
                    key.is_ok_and(|key| hidden.iter().all(|hidden| *hidden != key))
                };
                page.retain(shown);
                page
            }
            _ => page,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error that a client gets.
pub(super) fn spoil(fault: Fault, op: Op, path: String) -> Error {
    let generic = |source: &'static str| Error::Generic {
        store: "Faulty",
        source: source.into(),
    };
    match (fault, op) {
        (Fault::Throttled, _) => generic("503 Slow Down: reduce your request rate"),
        (Fault::Conflict | Fault::OwnRetry, Op::Update) => Error::Precondition {
            path,
            source: "412 Precondition Failed".into(),
        },
        (Fault::Conflict, _) => Error::AlreadyExists {
            path,
            source: "409 Conditional Request Conflict".into(),
        },
        (Fault::OwnRetry, _) => Error::AlreadyExists {
            path,
            source: "412 Precondition Failed".into(),
        },
        (Fault::BrokenBody | Fault::TruncatedList, _) => generic("the body broke off"),
        (Fault::PartialDelete, _) => generic("500 Internal Error for this key"),
        _ => generic("operation timed out"),
    }
}
