//! One run: clients of one store whose requests are spoiled, and somebody who sees it as it is.

use std::cell::{RefCell, RefMut};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use object_store::ObjectStore;
use object_store::memory::InMemory;
use sessionlog_core::{Lease, NewEvent, Result, SeqNum, SessionRef};

use super::conductor::Conductor;
use super::history::{History, Life};
use super::stage::Stage;
use super::{Fault, Faulty};
use crate::Place;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{Held, breach, ensure, shown};
use crate::make::{life, with_data};

/// A run.
pub(super) struct Play<'a> {
    pub(super) bench: &'a Bench,
    pub(super) conductor: Arc<Conductor>,
    /// The store as it is.
    pub(super) raw: Arc<dyn ObjectStore>,
    pub(super) cloud: Faulty,
    clients: Vec<Handle>,
    /// A client of the store as it is.
    pub(super) observer: Handle,
    history: RefCell<History>,
    pub(super) leases: RefCell<Vec<Option<Lease>>>,
    traced: bool,
    /// Clients do things at the same time.
    pub(super) at_once: bool,
}

impl<'a> Play<'a> {
    /// Opens the store so many times, with nothing spoiled yet.
    pub(super) async fn new(
        bench: &'a Bench,
        clients: usize,
        conductor: Arc<Conductor>,
        stage: Option<&Stage>,
        traced: bool,
    ) -> Held<Self> {
        let raw: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let cloud = Faulty::new(Arc::clone(&raw), |_| Fault::None);
        let observer = open(bench, Arc::clone(&raw), false).await?;
        let mut opened = Vec::new();
        for n in 0..clients {
            let store = Arc::new(conductor.client(&cloud, n, stage));
            let opening = open(bench, store, traced);
            let handle = match stage {
                Some(stage) => stage.run(vec![Box::pin(opening)]).await.pop(),
                None => Some(opening.await),
            };
            opened.extend(handle.transpose()?);
        }
        Ok(Self {
            bench,
            conductor,
            raw,
            cloud,
            observer,
            history: RefCell::default(),
            leases: RefCell::new((0..clients).map(|_| None).collect()),
            clients: opened,
            traced,
            at_once: stage.is_some(),
        })
    }

    pub(super) fn history(&self) -> RefMut<'_, History> {
        self.history.borrow_mut()
    }

    pub(super) fn client(&self, n: usize) -> Held<&Handle> {
        self.clients.get(n).ok_or_else(|| breach("no such client"))
    }

    /// Another client of the store as it is, as if after a restart of everything.
    pub(super) async fn anew(&self) -> Held<Handle> {
        open(self.bench, Arc::clone(&self.raw), self.traced).await
    }

    /// Notes a line of the trail.
    pub(super) fn note(&self, line: impl FnOnce() -> String) {
        if self.traced {
            self.bench.trail.line(line());
        }
    }

    /// A new life, which nobody has created yet. Sessions are `s`, lives are told by their number.
    pub(super) fn life(&self) -> Held<usize> {
        let mut history = self.history();
        let n = history.lives.len();
        history.lives.push(Life {
            session: life("s", 700 + n as u64)?,
            created: false,
            listed: false,
            dying: None,
            dead: None,
            seen: SeqNum::ZERO,
        });
        Ok(n)
    }

    pub(super) fn session(&self, life: usize) -> Held<SessionRef> {
        let history = self.history();
        let found = history.lives.get(life).map(|l| l.session.clone());
        found.ok_or_else(|| breach("no such life"))
    }

    /// An operation of a client, which must end.
    pub(super) async fn bounded<T>(&self, client: usize, op: impl Future<Output = T>) -> Held<T> {
        self.conductor.begin(client);
        let mut op = pin!(op);
        poll_fn(|cx| match op.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Ok(value)),
            Poll::Pending if self.conductor.endless(client) => {
                Poll::Ready(Err(breach("an operation sent 400 requests and went on")))
            }
            Poll::Pending => Poll::Pending,
        })
        .await
    }

    /// Whether an operation may say that it did not happen: no store refuses when nothing is wrong.
    /// Of clients that do things at the same time some may have come too late too often.
    pub(super) fn may_fail(&self) -> bool {
        self.at_once || self.conductor.spoiled()
    }

    pub(super) fn dying(&self, life: usize) -> bool {
        let history = self.history();
        history.lives.get(life).is_some_and(|l| l.dying.is_some())
    }

    pub(super) fn events(&self, batch: usize) -> Vec<NewEvent> {
        let history = self.history();
        let batch = history.batches.get(batch);
        batch.map_or_else(Vec::new, |batch| {
            let life = batch.life;
            let data = |n| format!("{{\"n\":{n},\"of\":\"{}\"}}", marker(life));
            batch
                .numbers
                .clone()
                .map(|n| with_data(n, data(n)))
                .collect()
        })
    }

    /// The end of the log as the observer sees it, which never goes back; `None` once it is deleted.
    pub(super) async fn seen(&self, life: usize) -> Held<Option<SeqNum>> {
        let session = self.session(life)?;
        let head = self.observer.end(&session).await;
        let mut history = self.history();
        let Some(state) = history.lives.get_mut(life) else {
            return Ok(None);
        };
        match head {
            Ok(head) => {
                ensure!(
                    state.dead.is_none(),
                    "a session is there after its delete had returned"
                );
                ensure!(
                    head.tail >= state.seen,
                    "the log ended at {}, and ends at {} now",
                    state.seen,
                    head.tail
                );
                state.seen = head.tail;
                Ok(Some(head.tail))
            }
            Err(error) if error.is_not_found() && state.dying.is_some() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Answers that left open what happened.
pub(super) const UNKNOWN: &str = "unknown outcomes";

/// What every event of a life has in it.
pub(super) fn marker(life: usize) -> String {
    format!("bytes-of-life-{life}")
}

/// An answer of a kind that can't be right here.
pub(super) fn odd<T>(what: &str, answer: &Result<T>) -> crate::breach::End {
    breach(format!(
        "{what} whose requests were spoiled\nexpected: success, `Unavailable` if it did not happen, \
         or `Indeterminate` if it may have\nobserved: {}",
        shown(answer)
    ))
}

/// Opens the subject on a store, as a process of its own would.
async fn open(bench: &Bench, store: Arc<dyn ObjectStore>, traced: bool) -> Held<Handle> {
    let place = Place::of_objects("conformance", store);
    if traced {
        bench.open_at(&place).await
    } else {
        Ok((bench.subject.open)(&place).await?)
    }
}
