//! Twins that several processes have open at once: the tutorial's backend, opened for each call.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind as Io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};
use futures_util::{FutureExt, TryStreamExt};
use sessionlog_conformance::{Capability, ChildCommand, Level, Medium, Options, Place, Subject};
use sessionlog_core::*;

use crate::custom_backend::Journal;

/// What such a twin does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    Nothing,
    /// Some appends are acknowledged and not written.
    LosesUpdates,
    /// Tokens are not looked at.
    StaleHolderWrites,
    /// Tokens are looked at some time before the batch is written.
    ChecksTokensEarly,
    /// The head is the one that this handle saw first.
    RemembersHeads,
    /// The list is the one that this handle gave first.
    RemembersLists,
    /// Leases are granted whoever holds them.
    GrantsToAll,
}

#[derive(Clone)]
struct PerCall {
    dir: PathBuf,
    wrong: Wrong,
    calls: Arc<AtomicU64>,
    head: Arc<Mutex<Option<(SessionRef, Head)>>>,
    list: Arc<Mutex<Option<Vec<SessionId>>>>,
}

/// Waits for whoever has the journal open.
async fn journal(dir: &std::path::Path) -> Result<Journal> {
    for _ in 0..20_000 {
        match Journal::open(dir).await {
            Err(e) if e.kind() == Io::WouldBlock => {
                std::thread::sleep(Duration::from_micros(300));
            }
            opened => {
                return opened.map_err(|e| Error::unavailable("can't be opened").with_source(e));
            }
        }
    }
    Err(Error::unavailable("somebody has the journal open"))
}

fn private(path: &std::path::Path) -> File {
    let mut options = fs::OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    options.open(path).unwrap()
}

impl PerCall {
    async fn open(&self) -> Result<Journal> {
        journal(&self.dir).await
    }

    /// The lock of the lease, taken; `None` if another holds it.
    fn lock(&self, session: &SessionRef, force: bool) -> Option<File> {
        let path = self.dir.join(format!("lease-{}", session.id));
        if force {
            drop(fs::remove_file(&path));
        }
        let file = private(&path);
        match file.try_lock() {
            Ok(()) => Some(file),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Error(e)) => panic!("{e}"),
        }
    }
}

#[async_trait]
impl EventLog for PerCall {
    async fn create(&self, session: &SessionRef) -> Result<()> {
        self.open().await?.create(session).await
    }
    async fn head(&self, id: &SessionId) -> Result<(SessionRef, Head)> {
        if self.wrong == Wrong::RemembersHeads
            && let Some(known) = super::lock(&self.head).clone()
        {
            return Ok(known);
        }
        let head = self.open().await?.head(id).await?;
        *super::lock(&self.head) = Some(head.clone());
        Ok(head)
    }
    async fn append(
        &self,
        session: &SessionRef,
        events: Vec<NewEvent>,
        mut condition: AppendCondition,
    ) -> Result<Range<SeqNum>> {
        let mut journal = self.open().await?;
        let n = self.calls.fetch_add(1, Ordering::SeqCst);
        if self.wrong == Wrong::LosesUpdates && n % 3 == 1 {
            let tail = journal.head(&session.id).await?.1.tail;
            return Ok(tail..tail.plus(events.len() as u64));
        }
        if self.wrong == Wrong::StaleHolderWrites {
            condition.token = None;
        }
        if self.wrong == Wrong::ChecksTokensEarly
            && let Some(token) = condition.token.take()
        {
            let with = AppendCondition::with(token);
            journal.append(session, Vec::new(), with).await?;
            drop(journal);
            // Long enough for others to force their way, whose tokens come at once.
            let pause = Duration::from_millis(if token.get() % 2 == 1 { 40 } else { 1 });
            futures_timer::Delay::new(pause).await;
            journal = self.open().await?;
        }
        journal.append(session, events, condition).await
    }
    fn read(&self, session: &SessionRef, range: Range<SeqNum>) -> Chunks {
        let (this, session) = (self.clone(), session.clone());
        let read = async move {
            let journal = this.open().await?;
            let events: Vec<Event> = journal.read(&session, range).try_concat().await?;
            Ok(events)
        };
        read.into_stream().boxed()
    }
    async fn changed(&self, _: &SessionRef, _: SeqNum) -> Result<()> {
        Ok(())
    }
    fn sessions(&self) -> SessionIds {
        let this = self.clone();
        let list = async move {
            let known = super::lock(&this.list).clone();
            if let Some(known) = known.filter(|_| this.wrong == Wrong::RemembersLists) {
                return Ok(known);
            }
            let journal = this.open().await?;
            let ids: Vec<SessionId> = journal.sessions().try_collect().await?;
            *super::lock(&this.list) = Some(ids.clone());
            Ok(ids)
        };
        let ids = list.map(|ids: Result<Vec<SessionId>>| match ids {
            Ok(ids) => ids.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        });
        ids.map(stream::iter).into_stream().flatten().boxed()
    }
    async fn delete(&self, session: &SessionRef, token: Option<FencingToken>) -> Result<()> {
        self.open().await?.delete(session, token).await
    }
}

#[async_trait]
impl LeaseStore for PerCall {
    async fn acquire(&self, session: &SessionRef, request: LeaseRequest) -> Result<Lease> {
        let journal = self.open().await?;
        let force = request.force || self.wrong == Wrong::GrantsToAll;
        let Some(lock) = self.lock(session, force) else {
            let holder = Holder::new(request.owner, FencingToken::NONE, Timestamp::EPOCH);
            return Err(held_error(holder, None));
        };
        let lease = journal.acquire(session, request.clone()).await?;
        let token = lease.token;
        Ok(Lease::new(
            session.clone(),
            token,
            request.owner,
            None,
            lock,
        ))
    }
    async fn renew(&self, _: &mut Lease, _: Duration) -> Result<()> {
        Ok(())
    }
    async fn release(&self, lease: &Lease) -> Result<()> {
        if let Some(lock) = lease.guard::<File>() {
            drop(lock.unlock());
        }
        Ok(())
    }
    async fn holder(&self, _: &SessionRef) -> Result<Liveness> {
        Ok(Liveness::Unknown("nobody looks".into()))
    }
}

fn none<T>() -> Result<T> {
    Err(Error::unsupported("this twin has logs and leases"))
}

#[async_trait]
impl SnapshotStore for PerCall {
    async fn save(&self, _: &SessionRef, _: Snapshot, _: Option<FencingToken>) -> Result<()> {
        none()
    }
    async fn latest(
        &self,
        _: &SessionRef,
        _: &Kind,
        _: u32,
        _: SeqNum,
    ) -> Result<Option<Snapshot>> {
        none()
    }
    fn scan(&self, _: &Kind, _: u32) -> Snapshots {
        stream::empty().boxed()
    }
}

#[async_trait]
impl BlobStore for PerCall {
    async fn put(&self, _: &SessionRef, _: Pieces, _: Option<FencingToken>) -> Result<BlobInfo> {
        none()
    }
    fn get(&self, _: &SessionRef, _: BlobId, _: Range<u64>) -> Pieces {
        stream::empty().boxed()
    }
    fn list(&self, _: &SessionRef) -> BoxStream<'static, Result<BlobInfo>> {
        stream::empty().boxed()
    }
    async fn remove(&self, _: &SessionRef, _: BlobId, _: Option<FencingToken>) -> Result<()> {
        none()
    }
}

#[async_trait]
impl Upkeep for PerCall {
    async fn verify(&self, _: &SessionId) -> Result<Vec<Finding>> {
        none()
    }
    async fn repair(&self, _: &SessionId, _: bool) -> Result<Repair> {
        none()
    }
    async fn strays(&self) -> Result<Vec<Finding>> {
        none()
    }
}

/// Runs the laws of races on a twin, which must fail those that it names and no other.
macro_rules! racing {
    ($($name:ident $wrong:ident [$($law:ident),* $(,)?])*) => {
        $(
            #[test]
            fn $name() {
                struct Twin;
                impl Subject for Twin {
                    type Backend = PerCall;
                    const MEDIUM: Medium = Medium::Directory;
                    const LIVE_NOTIFICATION: Capability = Capability::No("nobody is told");
                    async fn open(place: &Place) -> Result<PerCall> {
                        drop(journal(place.dir()).await?);
                        Ok(PerCall {
                            dir: place.dir().to_owned(),
                            wrong: Wrong::$wrong,
                            calls: Arc::default(),
                            head: Arc::default(),
                            list: Arc::default(),
                        })
                    }
                }
                if sessionlog_conformance::child::<Twin>() {
                    return;
                }
                let child = ChildCommand::test(concat!("twins::race::", stringify!($name)));
                let options = Options::smoke().with_child(child);
                let races = |law: &sessionlog_conformance::Law| law.level == Level::Race;
                let report = sessionlog_conformance::run_some::<Twin>(&options, races);
                super::must_be_red(&report, &[$(stringify!($law)),*]);
                assert!(Wrong::$wrong != Wrong::Nothing || report.is_green(), "{report}");
            }
        )*

        /// The twins and the laws that they must fail.
        pub(crate) const ALL: &[(&str, &[&str])] = &[
            $((stringify!($name), &[$(stringify!($law)),*])),*
        ];
    };
}

racing! {
    is_sound Nothing []
    loses_updates LosesUpdates [
        g06_processes_make_one_history,
        g06_threads_make_one_history,
        g08_a_stopped_holder_is_fenced,
        g09_processes_hold_the_lease_one_at_a_time,
        g09_threads_hold_the_lease_one_at_a_time,
        g14_lists_beside_creates_and_deletes_are_right,
        g14_lists_beside_other_processes_are_right,
    ]
    stale_holder_writes StaleHolderWrites [
        g08_a_stopped_holder_is_fenced,
    ]
    checks_tokens_early ChecksTokensEarly [
        g09_threads_hold_the_lease_one_at_a_time,
    ]
    remembers_heads RemembersHeads [
        g06_processes_make_one_history,
        g06_threads_make_one_history,
    ]
    remembers_lists RemembersLists [
        g14_lists_beside_creates_and_deletes_are_right,
        g14_lists_beside_other_processes_are_right,
    ]
    grants_to_all GrantsToAll [
        g09_processes_hold_the_lease_one_at_a_time,
        g09_threads_hold_the_lease_one_at_a_time,
    ]
}
