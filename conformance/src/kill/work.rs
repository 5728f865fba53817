//! What a child does: steps that depend on nothing but the workload's name.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use sessionlog_core::{
    AppendCondition, BlobId, FencingToken, Lease, LeaseRequest, NewEvent, Owner, Result, SessionRef,
};

use crate::bench::{Ask, Handle};
use crate::breach::Held;
use crate::make::{self, event, life, noise, pieces, snapshot, with_data};
use crate::talk::talk;

/// A session in one of its lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Who(pub(crate) &'static str, pub(crate) u64);

impl<'de> Deserialize<'de> for Who {
    /// The workloads have two names.
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        let (name, life) = <(String, u64)>::deserialize(from)?;
        let known = [S.0, OTHER.0].into_iter().find(|known| *known == name);
        let known = known
            .ok_or_else(|| serde::de::Error::custom(format!("no session is called {name:?}")))?;
        Ok(Self(known, life))
    }
}

impl Who {
    pub(crate) fn session(self) -> Held<SessionRef> {
        life(self.0, self.1)
    }
}

/// One thing that is done, and then acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The session that it is about.
    pub(crate) fn who(self) -> Who {
        match self {
            Self::Create(who)
            | Self::Append(who, ..)
            | Self::Say(who, ..)
            | Self::Drive(who, ..)
            | Self::Acquire(who)
            | Self::Release(who)
            | Self::Save(who, _)
            | Self::Put(who, ..)
            | Self::Remove(who, ..)
            | Self::Delete(who) => who,
        }
    }

    /// Whether it can't be there without an earlier step.
    pub(crate) fn rests_on(self, before: Self) -> bool {
        let log = |step| matches!(step, Self::Append(..) | Self::Say(..) | Self::Drive(..));
        let blob = |step| matches!(step, Self::Put(..) | Self::Remove(..));
        // Who gives a lease back may write nothing.
        let apart = matches!(self, Self::Release(_))
            || blob(self) && (log(before) || before.saves())
            || log(self) && (blob(before) || before.saves())
            || self.saves() && blob(before);
        self.who().0 == before.who().0 && !apart
    }

    /// Whether it is a snapshot, which may be lost at any time.
    pub(crate) fn saves(self) -> bool {
        matches!(self, Self::Save(..))
    }

    /// Whether it may be sent again when nobody knows whether it was done.
    pub(crate) fn repeats(self) -> bool {
        matches!(self, Self::Append(..) | Self::Save(..) | Self::Put(..))
    }

    /// How far the conversation has come behind this step of it.
    pub(crate) fn said(self) -> u64 {
        match self {
            Self::Say(_, _, to) => to,
            _ => 0,
        }
    }
}

impl fmt::Display for Step {
    /// As a line of a failure.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Create(who) => write!(f, "create {who}"),
            Self::Append(who, from, to) => write!(f, "append events {from}..{to} to {who}"),
            Self::Say(who, from, to) => write!(f, "append turns {from}..{to} to {who}"),
            Self::Drive(who, from, to) => {
                write!(f, "append events {from}..{to} to {who} under the lease")
            }
            Self::Acquire(who) => write!(f, "acquire {who}"),
            Self::Release(who) => write!(f, "release {who}"),
            Self::Save(who, covers) => write!(f, "save a snapshot of {who} that covers {covers}"),
            Self::Put(who, seed, len) => {
                write!(f, "put blob {seed} of {len} bytes into {who}")
            }
            Self::Remove(who, seed, _) => write!(f, "remove blob {seed} from {who}"),
            Self::Delete(who) => write!(f, "delete {who}"),
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}~{}", self.0, self.1)
    }
}

/// Event `n` of a workload: now and then a long one, but for those of the large batch.
pub(crate) fn work_event(n: u64) -> NewEvent {
    if n % 10 == 7 && n < LARGE.0 {
        let text: Vec<u8> = noise(n, 9_000).iter().map(|b| b'a' + b % 26).collect();
        return with_data(n, format!("\"{}\"", String::from_utf8_lossy(&text)));
    }
    event(n)
}

/// So many events has the conversation that a child has.
const SAID: u64 = 14;

/// The conversation that a child has: with calls that are open where batches end, rollbacks, a
/// move of the head and a compaction.
pub(crate) fn said() -> Vec<NewEvent> {
    talk(9, SAID)
}

fn batch(from: u64, to: u64) -> Vec<NewEvent> {
    (from..to).map(work_event).collect()
}

/// The large batch: more events than a store may take for a small one.
pub(crate) const LARGE: (u64, u64) = (1_000, 1_300);

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
        // The same with a large batch at its end.
        "batches" => {
            let mut steps = steps("appends");
            steps.pop();
            steps.push(Append(S, LARGE.0, LARGE.1));
            steps
        }
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
        "all" => vec![
            Create(S),
            Append(S, 0, 1),
            Append(S, 1, 4),
            Put(S, 1, 100),
            Save(S, 3),
            Append(S, 4, 9),
            Remove(S, 1, 100),
            Delete(S),
            Create(AGAIN),
            Append(AGAIN, 20, 22),
        ],
        // Before a kill and behind it: most appends have another one behind them.
        "killed" => vec![
            Create(S),
            Append(S, 0, 1),
            Append(S, 1, 4),
            Append(S, 4, 9),
            Append(S, 10, 11),
            Put(S, 1, 100),
            Append(S, 11, 12),
            Save(S, 5),
            Delete(S),
            Create(AGAIN),
            Append(AGAIN, 20, 22),
        ],
        "turn" => vec![Create(S), Say(S, 0, 4), Say(S, 4, 9), Say(S, 9, SAID)],
        // So long that whatever a store does now and then is among it.
        "many" => {
            let appends = (0..160).map(|n| Append(S, n, n + 1));
            std::iter::once(Create(S)).chain(appends).collect()
        }
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
    /// Whether it takes a lease whoever holds it.
    forces: bool,
}

impl Worker {
    pub(crate) fn new(store: Handle) -> Self {
        Self {
            store,
            leases: HashMap::new(),
            forces: false,
        }
    }

    /// One behind which a grant may be left that nobody knows of.
    pub(crate) fn forcing(store: Handle) -> Self {
        let forces = true;
        Self {
            forces,
            ..Self::new(store)
        }
    }

    fn token(&self, who: Who) -> Option<FencingToken> {
        self.leases.get(who.0).map(|lease| lease.token)
    }

    /// Does a step; gives the token of a grant.
    pub(crate) async fn perform(&mut self, step: Step) -> Held<Option<FencingToken>> {
        Ok(self.attempt(step).await??)
    }

    /// As [`perform`](Self::perform), for a step that may fail.
    pub(crate) async fn attempt(&mut self, step: Step) -> Held<Result<Option<FencingToken>>> {
        let session = step.who().session()?;
        Ok(self.act(step, &session).await)
    }

    async fn act(&mut self, step: Step, session: &SessionRef) -> Result<Option<FencingToken>> {
        let store = &self.store;
        match step {
            Step::Create(_) => store.create(session).await?,
            Step::Append(_, from, to) => {
                store.put_events(session, batch(from, to)).await?;
            }
            Step::Say(_, from, to) => {
                let all = said().into_iter().zip(0..);
                let some = all.filter(|(_, n)| (from..to).contains(n));
                let some = some.map(|(event, _)| event).collect();
                store.put_events(session, some).await?;
            }
            Step::Drive(who, from, to) => {
                let condition = AppendCondition::new(None, self.token(who));
                store.append(session, batch(from, to), condition).await?;
            }
            Step::Acquire(who) => {
                let mut request = LeaseRequest::new(Owner::new("child")?);
                request.force = self.forces;
                let lease = store.acquire(session, request).await?;
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
                let saved = self.snapshot(session, covers).await?;
                store.save(session, saved, self.token(who)).await?;
            }
            Step::Put(who, seed, len) => {
                let content = pieces(&noise(seed, len), 16_000);
                store.put(session, content, self.token(who)).await?;
            }
            Step::Remove(who, seed, len) => {
                let id = BlobId::of(&noise(seed, len));
                store.remove(session, id, self.token(who)).await?;
            }
            Step::Delete(who) => store.delete(session, self.token(who)).await?,
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
