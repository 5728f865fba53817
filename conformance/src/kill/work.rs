//! What a child does: steps that depend on nothing but the workload's name.

use std::collections::HashMap;

use sessionlog_core::{AppendCondition, BlobId, FencingToken, Lease, NewEvent, Result, SessionRef};

use crate::bench::{Ask, Handle};
use crate::breach::Held;
use crate::make::{self, event, life, noise, pieces, snapshot, with_data};
use crate::talk::talk;

/// A session in one of its lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Who(pub(crate) &'static str, pub(crate) u64);

impl Who {
    pub(crate) fn session(self) -> Held<SessionRef> {
        life(self.0, self.1)
    }
}

/// One thing that a child does, and then acknowledges.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Create(Who),
    /// Events `from..to`.
    Append(Who, u64, u64),
    /// Events `from..to` of a conversation.
    Say(Who, u64, u64),
    /// Events `from..to` under the lease.
    Drive(Who, u64, u64),
    Acquire(Who),
    Release(Who),
    /// A snapshot that covers so many events.
    Save(Who, u64),
    /// A blob made from a seed, of a length.
    Put(Who, u64, usize),
    Remove(Who, u64, usize),
    Delete(Who),
}

impl Step {
    /// How far the conversation has come behind this step of it.
    pub(crate) fn said(self) -> u64 {
        match self {
            Self::Say(_, _, to) => to,
            _ => 0,
        }
    }
}

/// Event `n` of a workload: now and then a long one.
pub(crate) fn work_event(n: u64) -> NewEvent {
    if n % 10 == 7 {
        let text: Vec<u8> = noise(n, 9_000).iter().map(|b| b'a' + b % 26).collect();
        return with_data(n, format!("\"{}\"", String::from_utf8_lossy(&text)));
    }
    event(n)
}

/// So many events has the conversation that a child has.
const SAID: u64 = 14;

/// The conversation that a child has.
pub(crate) fn said() -> Vec<NewEvent> {
    talk(40, SAID)
}

fn batch(from: u64, to: u64) -> Vec<NewEvent> {
    (from..to).map(work_event).collect()
}

const S: Who = Who("s", 1);
const OTHER: Who = Who("other", 2);
const AGAIN: Who = Who("s", 3);

/// The steps of a workload; none for a name that there is not.
pub(crate) fn steps(work: &str) -> Vec<Step> {
    use Step::{Acquire, Append, Create, Delete, Drive, Put, Release, Remove, Save, Say};
    match work {
        "appends" => vec![
            Create(S),
            Append(S, 0, 1),
            Append(S, 1, 4),
            Append(S, 4, 9),
            Append(S, 10, 11),
            Append(S, 11, 40),
        ],
        "lease" => vec![
            Create(S),
            Acquire(S),
            Drive(S, 0, 2),
            Append(S, 2, 3),
            Release(S),
            Acquire(S),
            Drive(S, 3, 5),
        ],
        "beside" => vec![
            Create(S),
            Append(S, 0, 5),
            Put(S, 1, 100),
            Save(S, 3),
            Put(S, 2, 40_000),
            Append(S, 5, 6),
            Save(S, 5),
            Save(S, 6),
            Remove(S, 1, 100),
        ],
        "delete" => vec![
            Create(S),
            Create(OTHER),
            Append(S, 0, 3),
            Append(OTHER, 0, 3),
            Put(S, 1, 100),
            Save(S, 2),
            Delete(S),
            Create(AGAIN),
            Append(AGAIN, 1, 2),
            Delete(OTHER),
        ],
        "turn" => vec![Create(S), Say(S, 0, 4), Say(S, 4, 9), Say(S, 9, SAID)],
        "endless" => {
            let appends = (0..200).map(|n| Append(S, n * 3, n * 3 + 1 + n % 3));
            std::iter::once(Create(S)).chain(appends).collect()
        }
        _ => Vec::new(),
    }
}

/// Who does the steps, with the leases that it holds.
pub(crate) struct Worker {
    pub(crate) store: Handle,
    leases: HashMap<&'static str, Lease>,
}

impl Worker {
    pub(crate) fn new(store: Handle) -> Self {
        Self {
            store,
            leases: HashMap::new(),
        }
    }

    fn token(&self, who: Who) -> Option<FencingToken> {
        self.leases.get(who.0).map(|lease| lease.token)
    }

    /// Does a step; gives the token of a grant.
    pub(crate) async fn perform(&mut self, step: Step) -> Held<Option<FencingToken>> {
        let store = &self.store;
        match step {
            Step::Create(who) => store.create(&who.session()?).await?,
            Step::Append(who, from, to) => {
                store.put_events(&who.session()?, batch(from, to)).await?;
            }
            Step::Say(who, from, to) => {
                let all = said().into_iter().zip(0..);
                let some = all.filter(|(_, n)| (from..to).contains(n));
                let some = some.map(|(event, _)| event).collect();
                store.put_events(&who.session()?, some).await?;
            }
            Step::Drive(who, from, to) => {
                let condition = AppendCondition::new(None, self.token(who));
                let session = who.session()?;
                store.append(&session, batch(from, to), condition).await?;
            }
            Step::Acquire(who) => {
                let lease = store.lease(&who.session()?, "child").await?;
                let token = lease.token;
                self.leases.insert(who.0, lease);
                return Ok(Some(token));
            }
            Step::Release(who) => {
                if let Some(lease) = self.leases.remove(who.0) {
                    store.release(&lease).await?;
                }
            }
            Step::Save(who, covers) => {
                let session = who.session()?;
                let saved = self.snapshot(&session, covers).await?;
                store.save(&session, saved, self.token(who)).await?;
            }
            Step::Put(who, seed, len) => {
                let content = pieces(&noise(seed, len), 16_000);
                store.put(&who.session()?, content, self.token(who)).await?;
            }
            Step::Remove(who, seed, len) => {
                let id = BlobId::of(&noise(seed, len));
                store.remove(&who.session()?, id, self.token(who)).await?;
            }
            Step::Delete(who) => store.delete(&who.session()?, self.token(who)).await?,
        }
        Ok(None)
    }

    /// What a save step saves: it depends on the log alone.
    async fn snapshot(
        &self,
        session: &SessionRef,
        covers: u64,
    ) -> Result<sessionlog_core::Snapshot> {
        let last = make::span(covers.saturating_sub(1), covers);
        let log = self.store.events(session, last).await?;
        let sum = log
            .first()
            .map_or(sessionlog_core::Sum::from_u64(0), |e| e.sum);
        Ok(snapshot(covers, sum, noise(covers, 3_000)))
    }
}
