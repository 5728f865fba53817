//! What clients do: each act is repeated while it may have failed, and noted in the history.

use std::ops::Range;

use sessionlog_core::{AppendCondition, Error, ErrorKind, FencingToken, SeqNum};

use super::history::Grant;
use super::play::{Play, UNKNOWN, odd};
use crate::breach::{Held, breach, ensure, ensure_eq};
use crate::make::request;

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

impl Play<'_> {
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

    /// Renews the lease of a client, and gives it back: whatever comes of that.
    pub(super) async fn gives_back(&self, client: usize, life: usize) -> Held {
        let lease = self
            .leases
            .borrow_mut()
            .get_mut(client)
            .and_then(Option::take);
        let Some(mut lease) = lease else {
            return Ok(());
        };
        let handle = self.client(client)?;
        let ttl = std::time::Duration::from_secs(30);
        let renewed = self.bounded(client, handle.renew(&mut lease, ttl)).await?;
        if let Err(error) = &renewed {
            self.may_refuse(error, "a renewal")?;
        }
        self.history().given_back.push((life, lease.token.get()));
        let released = self.bounded(client, handle.release(&lease)).await?;
        match &released {
            Ok(()) => Ok(()),
            Err(error) => self.may_refuse(error, "a release"),
        }
    }

    fn may_refuse(&self, error: &Error, what: &str) -> Held {
        match error.kind() {
            ErrorKind::Indeterminate => Ok(()),
            ErrorKind::Unavailable if self.may_fail() => Ok(()),
            _ => Err(odd(what, &Err::<(), _>(error.clone()))),
        }
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
