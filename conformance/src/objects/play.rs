//! One run: clients of one store whose requests are spoiled, and somebody who sees it as it is.

use std::cell::{RefCell, RefMut};
use std::future::poll_fn;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use object_store::ObjectStore;
use object_store::memory::InMemory;
use sessionlog_core::{
    AppendCondition, Error, ErrorKind, FencingToken, Lease, NewEvent, Result, SeqNum, SessionRef,
};

use super::conductor::Conductor;
use super::history::{Grant, History, Life};
use super::stage::Stage;
use super::{Fault, Faulty};
use crate::Place;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{Held, breach, ensure, ensure_eq, shown};
use crate::make::{life, request, with_data};

/// How often somebody repeats what may or may not have happened.
const TRIES: usize = 3;

/// What came of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Acked,
    /// It may be there, or may come.
    Unknown,
    /// It did not happen, for now.
    Failed,
    Fenced,
    /// The session is deleted.
    Gone,
}

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
    leases: RefCell<Vec<Option<Lease>>>,
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

    /// Creates a life, repeating what may have failed. Whether it is known to be there.
    pub(super) async fn create(&self, client: usize, life: usize) -> Held<bool> {
        self.create_again(client, life, false).await
    }

    /// As [`create`](Self::create), behind one that perhaps made it.
    pub(super) async fn create_again(
        &self,
        client: usize,
        life: usize,
        mut perhaps: bool,
    ) -> Held<bool> {
        let session = self.session(life)?;
        for _ in 0..TRIES {
            let created = self
                .bounded(client, self.client(client)?.create(&session))
                .await?;
            match created.as_ref().map_err(Error::kind) {
                Ok(()) => {}
                Err(ErrorKind::Conflict { .. }) if perhaps => {}
                Err(ErrorKind::Indeterminate) => {
                    perhaps = true;
                    self.bench.sometimes(UNKNOWN, 1);
                    continue;
                }
                Err(ErrorKind::Unavailable) if self.may_fail() => continue,
                Err(_) => return Err(odd("a create of a new id", &created)),
            }
            let there = self.observer.head(&session.id).await?.0;
            ensure_eq!(there, session, "the life that is there after a create");
            if let Some(life) = self.history().lives.get_mut(life) {
                life.created = true;
                life.listed |= created.is_ok();
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Takes the lease from whoever holds it, repeating what may have failed. Its token.
    pub(super) async fn acquire(&self, client: usize, life: usize) -> Held<Option<u64>> {
        let session = self.session(life)?;
        for _ in 0..TRIES {
            let (number, asked) = self.history().want(client);
            let owner = request(&format!("client {client}"))?.forced();
            let handle = self.client(client)?;
            let granted = self
                .bounded(client, handle.acquire(&session, owner))
                .await?;
            let perhaps =
                matches!(&granted, Err(e) if matches!(e.kind(), ErrorKind::Indeterminate));
            let ended = self.history().tick();
            if let Some(wanted) = self.history().wanted.get_mut(number) {
                wanted.ended = (!perhaps).then_some(ended);
            }
            let lease = match granted {
                Ok(lease) => lease,
                Err(error) => match error.kind() {
                    ErrorKind::Indeterminate => {
                        self.bench.sometimes(UNKNOWN, 1);
                        continue;
                    }
                    ErrorKind::Unavailable if self.may_fail() => continue,
                    ErrorKind::NotFound if self.dying(life) => return Ok(None),
                    // Somebody else was faster.
                    ErrorKind::LeaseHeld { .. } if self.others_asked(client, asked) => continue,
                    _ => return Err(odd("an acquire by force", &Err::<(), _>(error))),
                },
            };
            let token = lease.token.get();
            let tail = self.seen(life).await?.unwrap_or(SeqNum::ZERO);
            let acked = self.history().tick();
            self.history().granted(Grant {
                life,
                token,
                asked,
                acked,
                tail,
            })?;
            if let Some(held) = self.leases.borrow_mut().get_mut(client) {
                *held = Some(lease);
            }
            self.bench.sometimes("take-overs", 1);
            self.listed(life);
            return Ok(Some(token));
        }
        Ok(None)
    }

    fn listed(&self, life: usize) {
        if let Some(life) = self.history().lives.get_mut(life) {
            life.listed = true;
        }
    }

    /// Whether another client's request for a lease was, or may still be, under way since then.
    fn others_asked(&self, client: usize, since: u64) -> bool {
        let history = self.history();
        let mut others = history.wanted.iter().filter(|w| w.client != client);
        others.any(|w| w.ended.is_none_or(|ended| ended > since))
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

    /// Appends a batch once.
    pub(super) async fn append(&self, client: usize, batch: usize) -> Held<Answer> {
        let events = self.events(batch);
        let (life, token, len) = {
            let history = self.history();
            let batch = history
                .batches
                .get(batch)
                .ok_or_else(|| breach("no such batch"))?;
            (batch.life, batch.token, events.len() as u64)
        };
        let session = self.session(life)?;
        let asked = self.history().tick();
        let condition = token.map_or(AppendCondition::NONE, |token| {
            AppendCondition::with(FencingToken::new(token))
        });
        let handle = self.client(client)?;
        let appended = self
            .bounded(client, handle.append(&session, events, condition))
            .await?;
        let answer = match appended.as_ref().map_err(Error::kind) {
            Ok(range) => {
                ensure_eq!(range.end, range.start.plus(len), "the positions of a batch");
                self.acked(batch, range.clone(), asked).await?;
                return Ok(Answer::Acked);
            }
            Err(ErrorKind::Indeterminate) => {
                self.bench.sometimes(UNKNOWN, 1);
                if let Some(batch) = self.history().batches.get_mut(batch) {
                    batch.perhaps = true;
                }
                Answer::Unknown
            }
            Err(ErrorKind::Unavailable) if self.may_fail() => Answer::Failed,
            Err(ErrorKind::Fenced { token: newer }) => {
                let own = token.unwrap_or(u64::MAX);
                ensure!(
                    own < newer.get() && self.history().somebody_asked_since(own),
                    "token {own} was fenced by {newer}, and nobody asked for a lease since it was \
                     granted"
                );
                Answer::Fenced
            }
            Err(ErrorKind::NotFound) if self.dying(life) => Answer::Gone,
            Err(_) => return Err(odd("an append", &appended)),
        };
        Ok(answer)
    }

    async fn acked(&self, batch: usize, range: Range<SeqNum>, asked: u64) -> Held {
        let (life, token) = {
            let mut history = self.history();
            let now = history.tick();
            let batch = history
                .batches
                .get_mut(batch)
                .ok_or_else(|| breach("no such batch"))?;
            if let Some((_, earlier)) = &batch.acked {
                ensure_eq!(
                    &range,
                    earlier,
                    "the positions of a batch that was sent again"
                );
            }
            batch.acked.get_or_insert((now, range.clone()));
            (batch.life, batch.token)
        };
        self.listed(life);
        let dead = self.history().lives.get(life).and_then(|l| l.dead);
        ensure!(
            dead.is_none_or(|dead| asked < dead),
            "an append was acknowledged that was sent after the delete of its session had returned"
        );
        let fenced = self.history().grants.iter().any(|g| {
            g.life == life
                && g.acked < asked
                && token.is_some_and(|t| t < g.token)
                && range.start >= g.tail
        });
        ensure!(
            !fenced,
            "an append was acknowledged that was sent with token {token:?} after a newer grant"
        );
        if let Some(tail) = self.seen(life).await? {
            ensure!(
                tail >= range.end,
                "a batch was acknowledged at {}..{}, and the log ends at {tail}",
                range.start,
                range.end
            );
        }
        Ok(())
    }

    /// Appends a batch, and again while nobody knows whether it is there.
    pub(super) async fn append_surely(&self, client: usize, batch: usize) -> Held<Answer> {
        let mut answer = Answer::Failed;
        for _ in 0..TRIES {
            answer = self.append(client, batch).await?;
            if !matches!(answer, Answer::Unknown | Answer::Failed) {
                break;
            }
        }
        Ok(answer)
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

    /// Deletes a life under the lease of a client, repeating what may have failed. Whether it was
    /// acknowledged.
    pub(super) async fn delete(&self, client: usize, life: usize) -> Held<bool> {
        let session = self.session(life)?;
        let token = {
            let leases = self.leases.borrow();
            let lease = leases.get(client).and_then(Option::as_ref);
            lease.map(|l| l.token)
        };
        let now = self.history().tick();
        if let Some(life) = self.history().lives.get_mut(life) {
            life.dying.get_or_insert(now);
        }
        for _ in 0..TRIES {
            let handle = self.client(client)?;
            let deleted = self.bounded(client, handle.delete(&session, token)).await?;
            match deleted.as_ref().map_err(Error::kind) {
                Ok(()) => {
                    let now = self.history().tick();
                    if let Some(life) = self.history().lives.get_mut(life) {
                        life.dead.get_or_insert(now);
                    }
                    self.seen(life).await?;
                    self.bench.sometimes("deletes", 1);
                    return Ok(true);
                }
                Err(ErrorKind::NotFound) => return Ok(false),
                Err(ErrorKind::Indeterminate) => self.bench.sometimes(UNKNOWN, 1),
                Err(ErrorKind::Unavailable) if self.may_fail() => {}
                Err(ErrorKind::Fenced { .. } | ErrorKind::LeaseHeld { .. }) => return Ok(false),
                Err(_) => return Err(odd("a delete", &deleted)),
            }
        }
        Ok(false)
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
