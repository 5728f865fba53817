//! One store under commands, and what is seen of it.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::TryStreamExt;
use sessionlog_core::{
    AppendCondition, BlobId, BlobInfo, Error, ErrorKind, FencingToken, Lease, Liveness, NewEvent,
    SeqNum, SessionRef, Severity, Sum,
};

use super::command::{Change, Command, Show, State, Target};
use super::seen::Seen;
use crate::bench::{Ask, Handle};
use crate::breach::Held;
use crate::make::{FOLD, event, id, life, noise, pieces, request, snapshot, with_data};

/// What a world may do that not every backend can.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Can {
    pub(crate) force: bool,
    pub(crate) drop_leases: bool,
}

/// A store, and what its user knows.
pub(crate) struct World {
    pub(crate) handles: Vec<Handle>,
    pub(crate) current: usize,
    can: Can,
    lives: HashMap<u8, Vec<SessionRef>>,
    deleted: HashMap<u8, bool>,
    leases: HashMap<(SessionRef, u8), Lease>,
    shown: HashMap<(SessionRef, u8), FencingToken>,
    grants: HashMap<SessionRef, Vec<FencingToken>>,
    batches: Vec<(SessionRef, Vec<NewEvent>)>,
    next: u64,
}

impl World {
    pub(crate) fn new(handles: Vec<Handle>, can: Can) -> Self {
        Self {
            handles,
            current: 0,
            can,
            lives: HashMap::new(),
            deleted: HashMap::new(),
            leases: HashMap::new(),
            shown: HashMap::new(),
            grants: HashMap::new(),
            batches: Vec::new(),
            next: 0,
        }
    }

    /// Lets all leases go, before the handles are closed.
    pub(crate) async fn let_go(&mut self) -> Held {
        for (_, lease) in self.leases.drain() {
            if !self.can.drop_leases {
                for store in self.handles.iter().take(1) {
                    store.release(&lease).await?;
                }
            }
        }
        Ok(())
    }

    fn store(&self) -> Held<&Handle> {
        let handle = self.handles.get(self.current).or(self.handles.first());
        handle.ok_or_else(|| crate::breach::End::Broken("a world without a handle".into()))
    }

    /// The session that a target means; one that never was, if it means none.
    fn session(&self, target: Target) -> Held<SessionRef> {
        let name = target.name % 3;
        let lives = self.lives.get(&name).map_or(&[][..], Vec::as_slice);
        let gone = self.deleted.get(&name).copied().unwrap_or(false);
        let back = usize::from(target.old && !gone);
        match lives.iter().rev().nth(back) {
            Some(session) => Ok(session.clone()),
            None => life(text(name), 999 + u64::from(name)),
        }
    }

    fn token(&self, session: &SessionRef, show: Show) -> Option<FencingToken> {
        match show {
            Show::Nothing => None,
            Show::Of(owner) => self.shown.get(&(session.clone(), owner % 2)).copied(),
            Show::Unknown => {
                let grants = self.grants.get(session);
                let newest = grants.and_then(|g| g.iter().max()).copied();
                Some(FencingToken::new(newest.unwrap_or_default().get() + 1_000))
            }
        }
    }

    /// The rank of a token among the grants of a life; larger than any for one that is unknown.
    fn rank(&self, session: &SessionRef, token: FencingToken) -> usize {
        let grants = self.grants.get(session).map_or(&[][..], Vec::as_slice);
        grants
            .iter()
            .position(|t| *t == token)
            .unwrap_or(usize::MAX)
    }

    fn refused(&self, session: &SessionRef, error: &Error) -> Seen {
        Seen::Refused(match error.kind() {
            ErrorKind::Conflict { tail } => format!("conflict, tail {tail}"),
            ErrorKind::Fenced { token } => format!("fenced, grant {}", self.rank(session, *token)),
            ErrorKind::LeaseHeld { holder, .. } => {
                let rank = self.rank(session, holder.token);
                format!("lease-held, {}, grant {rank}", holder.owner)
            }
            other => other.name().to_owned(),
        })
    }

    /// Does a command. Only the suite's own failures are errors.
    pub(crate) async fn apply(&mut self, command: &Command) -> Held<Seen> {
        match *command {
            Command::Create(name) => self.create(name % 3).await,
            Command::Append {
                to,
                size,
                low,
                tail,
                token,
            } => {
                let session = self.session(to)?;
                let batch = self.fresh(size % 4, low);
                let token = self.token(&session, token);
                self.append(session, batch, tail, token).await
            }
            Command::Again { nth, change } => self.again(nth, change).await,
            Command::Acquire { of, owner, force } => self.acquire(of, owner % 2, force).await,
            Command::Renew { of, owner } => self.renew(of, owner % 2).await,
            Command::Release { of, owner } => self.release(of, owner % 2, true).await,
            Command::Drop { of, owner } => {
                let release = !self.can.drop_leases;
                self.release(of, owner % 2, release).await
            }
            Command::Delete { of, token } => self.delete(of, token).await,
            Command::Save { of, token } => self.save(of, token).await,
            Command::Put { to, content, token } => {
                let session = self.session(to)?;
                let token = self.token(&session, token);
                let content = pieces(&content_of(content), 700);
                let put = self.store()?.put(&session, content, token).await;
                Ok(self.shown(&session, put, Seen::Blob))
            }
            Command::Remove { of, content, token } => {
                let session = self.session(of)?;
                let token = self.token(&session, token);
                let blob = BlobId::of(&content_of(content));
                let removed = self.store()?.remove(&session, blob, token).await;
                Ok(self.shown(&session, removed, |()| Seen::Done))
            }
            Command::Reopen | Command::Switch => Ok(Seen::Nothing),
            ref read => self.look(read).await,
        }
    }

    fn shown<T>(
        &self,
        session: &SessionRef,
        result: Result<T, Error>,
        show: impl FnOnce(T) -> Seen,
    ) -> Seen {
        match result {
            Ok(value) => show(value),
            Err(error) => self.refused(session, &error),
        }
    }

    /// Commands that change nothing.
    async fn look(&self, command: &Command) -> Held<Seen> {
        let store = self.store()?;
        let never = life("never", 0)?;
        Ok(match *command {
            Command::Read { of, from, len } => {
                let session = self.session(of)?;
                let from = SeqNum::new(u64::from(from));
                let log = store
                    .events(&session, from..from.plus(u64::from(len)))
                    .await;
                self.shown(&session, log, Seen::Events)
            }
            Command::Head(name) => {
                let head = store.head(&id(text(name % 3))?).await;
                self.shown(&never, head, |(life, head)| Seen::Head(life, head))
            }
            Command::List => self.shown(&never, store.ids().await, Seen::Ids),
            Command::Probe(of) => {
                let session = self.session(of)?;
                let probe = store.holder(&session).await;
                self.shown(&session, probe, |l| self.live(&session, l))
            }
            Command::Latest { of, bound } => {
                let session = self.session(of)?;
                let bound = SeqNum::new(u64::from(bound));
                let latest = store.latest(&session, &FOLD, 1, bound).await;
                self.shown(&session, latest, Seen::Snapshot)
            }
            Command::Get { of, content } => {
                let session = self.session(of)?;
                let blob = BlobId::of(&content_of(content));
                let bytes = store.blob(&session, blob, 0..u64::MAX).await;
                self.shown(&session, bytes, Seen::Bytes)
            }
            Command::Blobs(of) => {
                let session = self.session(of)?;
                let list: Result<Vec<BlobInfo>, _> = store.list(&session).try_collect().await;
                self.shown(&session, list, |infos| {
                    let mut all: Vec<_> = infos.iter().map(|i| (i.id, i.len)).collect();
                    all.sort_unstable();
                    Seen::Blobs(all)
                })
            }
            Command::Verify(name) => {
                let found = store.verify(&id(text(name % 3))?).await;
                self.shown(&never, found, |found| {
                    match found.iter().find(|f| f.severity > Severity::Note) {
                        Some(finding) => Seen::Refused(format!("{finding:?}")),
                        None => Seen::Done,
                    }
                })
            }
            _ => Seen::Nothing,
        })
    }

    fn live(&self, session: &SessionRef, liveness: Liveness) -> Seen {
        match liveness {
            Liveness::Live(Some(holder)) => {
                let rank = self.rank(session, holder.token);
                Seen::Live(holder.owner.as_str().to_owned(), rank)
            }
            Liveness::Idle => Seen::Idle,
            other => Seen::Refused(format!("{other:?}")),
        }
    }

    async fn create(&mut self, name: u8) -> Held<Seen> {
        let lives = self.lives.get(&name).map_or(0, Vec::len) as u64;
        let session = life(text(name), u64::from(name) * 100 + lives + 1)?;
        let created = self.store()?.create(&session).await;
        if created.is_ok() {
            self.lives.entry(name).or_default().push(session.clone());
            self.deleted.insert(name, false);
        }
        Ok(self.shown(&session, created, |()| Seen::Done))
    }

    fn fresh(&mut self, size: u8, low: bool) -> Vec<NewEvent> {
        let numbers = (0..u64::from(size)).map(|n| {
            let n = self.next + n;
            if low { 500_000 - n } else { 1_000_000 + n }
        });
        let batch = numbers.map(event).collect();
        self.next += u64::from(size);
        batch
    }

    async fn append(
        &mut self,
        session: SessionRef,
        batch: Vec<NewEvent>,
        state: State,
        token: Option<FencingToken>,
    ) -> Held<Seen> {
        let store = self.store()?;
        let tail = match state {
            State::Nothing => None,
            State::Tail(off) => {
                let end = store.end(&session).await.map_or(0, |h| h.tail.get());
                Some(SeqNum::new(end.saturating_add_signed(off.into())))
            }
        };
        let condition = AppendCondition::new(tail, token);
        let appended = store.append(&session, batch.clone(), condition).await;
        let seen = self.shown(&session, appended, |r| {
            Seen::Positions(r.start.get(), r.end.get())
        });
        self.batches.push((session, batch));
        Ok(seen)
    }

    async fn again(&mut self, nth: u8, change: Change) -> Held<Seen> {
        let count = self.batches.len().max(1);
        let Some((session, mut batch)) = self.batches.get(usize::from(nth) % count).cloned() else {
            return Ok(Seen::Nothing);
        };
        match change {
            Change::Same => {}
            Change::Reversed => batch.reverse(),
            Change::WithoutLast => drop(batch.pop()),
            Change::WithNew => batch.append(&mut self.fresh(1, false)),
            Change::Payload => {
                if let Some(last) = batch.last_mut() {
                    last.data = with_data(0, "\"another\"").data;
                }
            }
        }
        self.append(session, batch, State::Nothing, None).await
    }

    async fn acquire(&mut self, of: Target, owner: u8, force: bool) -> Held<Seen> {
        let session = self.session(of)?;
        let mut wanted = request(&format!("owner {owner}"))?;
        wanted.force = force && self.can.force;
        let granted = self.store()?.acquire(&session, wanted).await;
        Ok(match granted {
            Ok(lease) => {
                let grants = self.grants.entry(session.clone()).or_default();
                let grown = grants.iter().all(|t| *t < lease.token);
                grants.push(lease.token);
                let rank = grants.len() - 1;
                self.shown.insert((session.clone(), owner), lease.token);
                // A newer lease of the same owner ends the one before.
                self.leases.insert((session, owner), lease);
                if grown {
                    Seen::Granted(rank)
                } else {
                    Seen::Refused("a token that did not grow".into())
                }
            }
            Err(error) => self.refused(&session, &error),
        })
    }

    async fn renew(&mut self, of: Target, owner: u8) -> Held<Seen> {
        let session = self.session(of)?;
        let Some(mut lease) = self.leases.remove(&(session.clone(), owner)) else {
            return Ok(Seen::Nothing);
        };
        let renewed = self
            .store()?
            .renew(&mut lease, Duration::from_secs(3_600))
            .await;
        self.leases.insert((session.clone(), owner), lease);
        Ok(self.shown(&session, renewed, |()| Seen::Done))
    }

    async fn release(&mut self, of: Target, owner: u8, release: bool) -> Held<Seen> {
        let session = self.session(of)?;
        let Some(lease) = self.leases.remove(&(session.clone(), owner)) else {
            return Ok(Seen::Nothing);
        };
        if release {
            // Of a deleted life, this may say that it is gone, or nothing.
            drop(self.store()?.release(&lease).await);
        }
        Ok(Seen::Done)
    }

    async fn delete(&mut self, of: Target, token: Show) -> Held<Seen> {
        let session = self.session(of)?;
        let token = self.token(&session, token);
        let deleted = self.store()?.delete(&session, token).await;
        if deleted.is_ok() {
            self.deleted.insert(of.name % 3, true);
        }
        Ok(self.shown(&session, deleted, |()| Seen::Done))
    }

    async fn save(&mut self, of: Target, token: Show) -> Held<Seen> {
        let session = self.session(of)?;
        let token = self.token(&session, token);
        let store = self.store()?;
        // Of a session that is not there, the save itself must say so.
        let (tail, sum) = match store.end(&session).await {
            Ok(head) => (head.tail.get(), head.sum),
            Err(_) => (0, Sum::from_u64(0)),
        };
        let saved = store
            .save(&session, snapshot(tail, sum, format!("{tail}")), token)
            .await;
        Ok(self.shown(&session, saved, |()| Seen::Done))
    }
}

fn text(name: u8) -> &'static str {
    match name {
        0 => "a",
        1 => "b",
        _ => "A",
    }
}

fn content_of(n: u8) -> Vec<u8> {
    noise(u64::from(n), usize::from(n % 3) * 1_000)
}
