//! Collections beside writers, one request at a time, while hours and days pass.

mod client;
mod collector;
mod dated;
mod history;
mod left;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::stream;
use pollster::block_on;
use sessionlog_conformance::objects::{Stage, Wrapped};
use sessionlog_core::{
    AppendCondition, BlobId, BlobStore, ErrorKind, EventLog, FencingToken, LeaseRequest,
    LeaseStore, Owner, Result as Outcome, SessionRef,
};

use self::client::{Client, Dice, some_time};
use self::collector::{BROKEN, Collector};
use self::dated::Dated;
use self::history::{Batch, History, log};
use crate::moment::pass;
use crate::{Bucket, Options};

const WRITERS: usize = 3;
const COLLECTOR: usize = WRITERS;
const CLOCK: usize = WRITERS + 1;
const ROUNDS: usize = 14;
const DAY: Duration = Duration::from_secs(25 * 3600);
const CONTENTS: [&str; 2] = ["an artifact", "another"];

type Held<T = ()> = Result<T, String>;

/// Chunks, merges and collections happen all the time.
fn options() -> Options {
    Options {
        seal_bytes: 300,
        collect_every: 4,
        tries: 3,
        pause: Duration::ZERO,
        // Requests that wait for their turn are no slow ones.
        request_timeout: Duration::from_secs(3600),
        ..Options::default()
    }
}

struct World {
    store: Arc<Dated>,
    cloud: Wrapped<Client>,
    stage: Stage,
    dice: Dice,
    one_in: usize,
    collector: Collector,
    in_order: Option<bool>,
    history: RefCell<History>,
    acknowledged: Cell<usize>,
}

impl World {
    fn new(seed: u64, collector: Collector) -> Self {
        let (stage, dice) = (Stage::new(seed, CLOCK + 1), Dice::new(seed));
        let store = Arc::new(Dated::default());
        let watch = Client {
            stage: stage.clone(),
            number: COLLECTOR,
            dice: dice.clone(),
            one_in: 0,
        };
        Self {
            cloud: Wrapped::around(Arc::clone(&store) as _, watch),
            store,
            stage,
            dice,
            one_in: [0, 4, 12][usize::try_from(seed % 3).unwrap()],
            collector,
            in_order: seed.is_multiple_of(2).then_some(true),
            history: RefCell::default(),
            acknowledged: Cell::new(0),
        }
    }

    fn open(&self, number: usize, mut options: Options) -> Bucket {
        let watch = Client {
            stage: self.stage.clone(),
            number,
            dice: self.dice.clone(),
            one_in: self.one_in,
        };
        options.lists_in_order = self.in_order;
        Bucket::new(Arc::new(self.cloud.client(watch)), "", options)
    }

    /// Another handle on the store as it is.
    fn calm(&self) -> Bucket {
        Bucket::new(Arc::clone(&self.store) as _, "", options())
    }

    async fn collects(&self) -> Held {
        let bucket = self.open(COLLECTOR, self.collector.options());
        let id = "s".parse().unwrap();
        for _ in 0..5 {
            for _ in 0..self.dice.below(12) {
                self.stage.turn(COLLECTOR).await;
            }
            let collected = self.collector.collect(&bucket, &id).await;
            may_fail("a collection", collected, false)?;
        }
        Ok(())
    }

    async fn time(&self) -> Held {
        for _ in 0..self.dice.below(8) {
            for _ in 0..self.dice.below(20) {
                self.stage.turn(CLOCK).await;
            }
            // What is late comes within a quarter of an hour, or never.
            self.cloud.settle().await;
            some_time(&self.dice);
        }
        Ok(())
    }

    /// The session that is there, for all that is known.
    fn session(&self) -> Option<(usize, SessionRef)> {
        let history = self.history.borrow();
        let (at, life) = history.lives.iter().enumerate().rfind(|(_, l)| l.made)?;
        Some((at, life.session.clone()))
    }

    fn is_dying(&self, life: usize) -> bool {
        self.history.borrow().lives[life].dying
    }

    async fn writer(&self, number: usize) -> Held {
        let mut bucket = self.open(number, options());
        let mut own = None;
        let mut token = None;
        for _ in 0..ROUNDS {
            let Some((life, session)) = self.session().filter(|(life, _)| !self.is_dying(*life))
            else {
                self.create(&bucket, &mut own).await?;
                continue;
            };
            let held = token.filter(|(of, _)| *of == life).map(|(_, token)| token);
            match self.dice.below(20) {
                0 | 1 => bucket = self.open(number, options()),
                2 | 3 => token = self.acquire(&bucket, life, &session).await?,
                4 => {
                    let done = bucket.compact(&session.id).await;
                    may_fail("a compaction", done, self.is_dying(life))?;
                }
                5 if self.dice.below(3) == 0 => self.delete(&bucket, life, &session).await?,
                6 | 7 => self.read(&bucket, life, &session).await?,
                8..=10 => self.blob(&bucket, life, &session).await?,
                _ => self.append(&bucket, life, &session, held).await?,
            }
        }
        Ok(())
    }

    async fn create(&self, bucket: &Bucket, own: &mut Option<usize>) -> Held {
        let made = |life: &usize| self.history.borrow().lives[*life].made;
        let life = own.filter(|life| !made(life));
        let life = life.unwrap_or_else(|| self.history.borrow_mut().life());
        *own = Some(life);
        let session = self.history.borrow().lives[life].session.clone();
        let created = bucket.create(&session).await;
        match created.as_ref().map_err(|error| error.kind()) {
            Ok(()) => self.history.borrow_mut().lives[life].made = true,
            Err(ErrorKind::Conflict { .. }) => *own = None,
            Err(_) => drop(may_fail("a creation", created, true)?),
        }
        Ok(())
    }

    async fn acquire(
        &self,
        bucket: &Bucket,
        life: usize,
        session: &SessionRef,
    ) -> Held<Option<(usize, FencingToken)>> {
        let request = LeaseRequest::new(Owner::new("me").unwrap()).forced();
        let lease = bucket.acquire(session, request).await;
        let lease = may_fail("a grant", lease, self.is_dying(life))?;
        Ok(lease.map(|lease| (life, lease.token)))
    }

    async fn delete(&self, bucket: &Bucket, life: usize, session: &SessionRef) -> Held {
        let Some((_, token)) = self.acquire(bucket, life, session).await? else {
            return Ok(());
        };
        self.history.borrow_mut().lives[life].dying = true;
        let deleted = bucket.delete(session, Some(token)).await;
        if may_fail("a deletion", deleted, true)?.is_some() {
            self.history.borrow_mut().lives[life].dead = true;
        }
        Ok(())
    }

    async fn append(
        &self,
        bucket: &Bucket,
        life: usize,
        session: &SessionRef,
        token: Option<FencingToken>,
    ) -> Held {
        let len = 1 + self.dice.below(3);
        let batch = self.history.borrow_mut().batch(life, len);
        let events = self.history.borrow().batches[batch].events.clone();
        let condition = token.map_or(AppendCondition::NONE, AppendCondition::with);
        let appended = bucket.append(session, events, condition).await;
        let unknown = |error: &sessionlog_core::Error| *error.kind() == ErrorKind::Indeterminate;
        let perhaps = appended.as_ref().is_err_and(unknown);
        let range = may_fail("an append", appended, self.is_dying(life))?;
        self.acknowledged
            .update(|n| n + usize::from(range.is_some()));
        let batch = &mut self.history.borrow_mut().batches[batch];
        (batch.acked, batch.perhaps) = (range, perhaps);
        Ok(())
    }

    async fn read(&self, bucket: &Bucket, life: usize, session: &SessionRef) -> Held {
        let acked = |batch: &&Batch| batch.life == life && batch.acked.is_some();
        let before: Vec<_> = {
            let history = self.history.borrow();
            let batches = history.batches.iter().filter(acked);
            batches.map(|batch| batch.events[0].id).collect()
        };
        let read = log(bucket, session).await;
        let Some(log) = may_fail("a read", read, self.is_dying(life))? else {
            return Ok(());
        };
        let lost = before
            .iter()
            .any(|id| log.iter().all(|event| event.id != *id));
        match lost {
            true => Err("a read lacks what was acknowledged before".to_owned()),
            false => Ok(()),
        }
    }

    async fn blob(&self, bucket: &Bucket, life: usize, session: &SessionRef) -> Held {
        let content = CONTENTS[self.dice.below(CONTENTS.len())];
        let (id, put) = (BlobId::of(content.as_bytes()), self.dice.below(3) > 0);
        let change = self.history.borrow_mut().change(life, id, put);
        let done = match put {
            true => {
                let pieces = stream::iter([Ok(Bytes::from(content))]);
                bucket.put(session, Box::pin(pieces), None).await.map(drop)
            }
            false => bucket.remove(session, id, None).await,
        };
        if may_fail("a blob", done, self.is_dying(life))?.is_some() {
            self.history.borrow_mut().changed(change);
        }
        Ok(())
    }

    async fn end(&self) -> Held {
        self.cloud.settle().await;
        let history = self.history.take();
        history.check(&self.calm()).await?;
        let told = |error| format!("a calm collection: {error:?}");
        for in_order in [Some(true), None, Some(true)] {
            pass(DAY);
            let mut options = options();
            options.lists_in_order = in_order;
            let collector = Bucket::new(Arc::clone(&self.store) as _, "", options);
            collector.gc(false, |_, _| ()).await.map_err(told)?;
        }
        history.check(&self.calm()).await?;
        left::check(&self.calm()).await
    }
}

/// What may be refused, but for no reason that says something is lost.
fn may_fail<T>(what: &str, answer: Outcome<T>, gone: bool) -> Held<Option<T>> {
    let error = match answer {
        Ok(done) => return Ok(Some(done)),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::Unavailable
        | ErrorKind::Indeterminate
        | ErrorKind::Fenced { .. }
        | ErrorKind::LeaseHeld { .. } => Ok(None),
        ErrorKind::NotFound if gone => Ok(None),
        _ => Err(format!("{what}: {error:?}")),
    }
}

/// Lives through a world. Gives how many appends were acknowledged.
fn live(seed: u64, collector: Collector) -> Held<usize> {
    let world = World::new(seed, collector);
    block_on(async {
        let mut all: Vec<_> = (0..WRITERS)
            .map(|number| world.writer(number).boxed_local())
            .collect();
        all.push(world.collects().boxed_local());
        all.push(world.time().boxed_local());
        for ended in world.stage.run(all).await {
            ended?;
        }
        world.end().await
    })?;
    Ok(world.acknowledged.get())
}

#[test]
fn a_collection_beside_writers_takes_nothing_that_lives_and_leaves_no_garbage() {
    let worlds = std::env::var("SESSIONLOG_TEST_WORLDS").ok();
    let worlds = worlds.and_then(|n| n.parse().ok()).unwrap_or(200);
    let mut acknowledged = 0;
    for seed in 0..worlds {
        let lived = live(seed, Collector::Sound);
        acknowledged += lived.unwrap_or_else(|breach| panic!("world {seed}: {breach}"));
    }
    assert!(acknowledged > 0);
}

#[test]
fn collectors_with_a_fault_are_caught() {
    for collector in BROKEN {
        let caught = (0..400).find_map(|seed| Some((seed, live(seed, collector).err()?)));
        let (seed, breach) = caught.unwrap_or_else(|| panic!("{collector:?} was not caught"));
        println!("{collector:?}, in world {seed}: {breach}");
    }
}
