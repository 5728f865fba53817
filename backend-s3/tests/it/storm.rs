//! Several handles take over from each other while requests are lost, late, refused and repeated.

use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use futures_util::future::join_all;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use pollster::block_on;
use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_conformance::objects::{Fault, Faulty, Request};
use sessionlog_core::{
    AppendCondition, EventId, EventLog, FencingToken, Kind, LeaseRequest, LeaseStore, NewEvent,
    Owner, SeqNum, SessionRef, Upkeep,
};

/// A generator of numbers that looks random.
#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

fn options() -> Options {
    let mut options = Options::default();
    // Chunks, merges and collections happen all the time.
    options.seal_bytes = 300;
    options.collect_every = 4;
    options.reader_grace = Duration::from_secs(3600);
    options.tries = 3;
    options.pause = Duration::from_micros(5);
    options.longest_pause = Duration::from_micros(50);
    options
}

fn verdict(seed: u64, one_in: u64, request: &Request) -> Fault {
    let mut dice = Dice((seed << 32 | request.number).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    dice.roll(7);
    if dice.roll(one_in) > 0 {
        return Fault::None;
    }
    let faults = request.op.faults();
    faults[usize::try_from(dice.roll(faults.len() as u64)).unwrap()]
}

fn batch(n: u64, events: u64) -> Vec<NewEvent> {
    let event = |at: u64| {
        let mut id = [0; 16];
        // Ids in no order: the filters of chunks are asked.
        let number = n * 100 + at;
        id[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        id[8..].copy_from_slice(&number.to_be_bytes());
        let text = format!("\"{number} {}\"", "x".repeat(40));
        NewEvent::json(Kind::from_static("note"), text)
            .unwrap()
            .with_id(EventId::from_bytes(id))
            .with_time(sessionlog_core::Timestamp::EPOCH)
    };
    (0..events).map(event).collect()
}

/// What somebody knows of a batch.
struct Sent {
    events: Vec<NewEvent>,
    at: Option<SeqNum>,
    /// It may be there.
    unknown: bool,
}

struct World {
    store: Arc<InMemory>,
    faulty: Faulty,
    handles: Vec<Bucket>,
    tokens: Vec<Option<FencingToken>>,
    session: SessionRef,
    sent: Vec<Sent>,
    dice: Dice,
}

impl World {
    fn new(seed: u64, one_in: u64) -> Self {
        let store = Arc::new(InMemory::new());
        let faulty = Faulty::new(Arc::clone(&store) as _, move |r| verdict(seed, one_in, r));
        let session = SessionRef::fresh("s".parse().unwrap());
        block_on(Bucket::new(Arc::clone(&store) as _, "", options()).create(&session)).unwrap();
        let open = || {
            Bucket::new(
                Arc::new(faulty.clone()) as Arc<dyn ObjectStore>,
                "",
                options(),
            )
        };
        Self {
            handles: (0..3).map(|_| open()).collect(),
            tokens: vec![None; 3],
            store,
            faulty,
            session,
            sent: Vec::new(),
            dice: Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
        }
    }

    async fn step(&mut self) {
        let who = usize::try_from(self.dice.roll(3)).unwrap();
        match self.dice.roll(12) {
            0 => {
                let request = LeaseRequest::new(Owner::new("me").unwrap()).forced();
                let lease = self.handles[who].acquire(&self.session, request).await;
                self.tokens[who] = lease.ok().map(|lease| lease.token).or(self.tokens[who]);
            }
            1 => {
                let faulty = self.faulty.clone();
                self.handles[who] = Bucket::new(Arc::new(faulty), "", options());
            }
            2 => drop(self.handles[who].compact(&self.session.id).await),
            3 => self.repeat(who).await,
            4..=6 => self.several().await,
            _ => {
                let n = self.next();
                let token = self.tokens[who];
                let condition = token.map_or(AppendCondition::NONE, AppendCondition::with);
                self.append(who, n, condition).await;
            }
        }
    }

    fn next(&mut self) -> usize {
        let n = self.sent.len();
        let events = batch(n as u64, 1 + self.dice.roll(4));
        self.sent.push(Sent {
            events,
            at: None,
            unknown: false,
        });
        n
    }

    async fn append(&mut self, who: usize, n: usize, condition: AppendCondition) {
        let events = self.sent[n].events.clone();
        let end = self.acknowledged();
        let done = self.handles[who]
            .append(&self.session, events, condition)
            .await;
        self.told(n, done, end);
    }

    /// Where acknowledged events end.
    fn acknowledged(&self) -> SeqNum {
        let ends = self.sent.iter().filter_map(|sent| {
            let len = u64::try_from(sent.events.len()).unwrap();
            Some(sent.at?.plus(len))
        });
        ends.max().unwrap_or_default()
    }

    fn told(
        &mut self,
        n: usize,
        done: sessionlog_core::Result<std::ops::Range<SeqNum>>,
        end: SeqNum,
    ) {
        let sent = &mut self.sent[n];
        match done {
            Ok(range) => {
                let fresh = sent.at.is_none() && !sent.unknown;
                assert!(
                    !fresh || range.start >= end,
                    "an append went before one that was done"
                );
                assert!(sent.at.is_none_or(|at| at == range.start), "a repeat moved");
                sent.at = Some(range.start);
            }
            Err(error) if error.kind().name() == "indeterminate" => sent.unknown = true,
            Err(error) => assert!(!error.is_corrupt() && !error.is_not_found(), "{error:?}"),
        }
    }

    /// Sends an old batch again.
    async fn repeat(&mut self, who: usize) {
        if !self.sent.is_empty() {
            let n = usize::try_from(self.dice.roll(self.sent.len() as u64)).unwrap();
            self.append(who, n, AppendCondition::NONE).await;
        }
    }

    /// All handles at once.
    async fn several(&mut self) {
        let new: Vec<usize> = (0..3).map(|_| self.next()).collect();
        let end = self.acknowledged();
        let appends = new.iter().zip(&self.handles).map(|(n, handle)| {
            let events = self.sent[*n].events.clone();
            handle.append(&self.session, events, AppendCondition::NONE)
        });
        let done = join_all(appends).await;
        for (n, done) in new.into_iter().zip(done) {
            self.told(n, done, end);
        }
    }

    /// Everything that was acknowledged is there once, and nothing that was refused.
    async fn check(&self, seed: u64) {
        self.faulty.settle().await;
        let calm = Bucket::new(Arc::clone(&self.store) as _, "", options());
        let found = calm.verify(&self.session.id).await.unwrap();
        assert_eq!(found, vec![], "world {seed}");
        let chunks = calm.read(&self.session, SeqNum::all());
        let log = chunks.try_collect::<Vec<_>>().await.unwrap().concat();
        let mut known = 0;
        for (n, sent) in self.sent.iter().enumerate() {
            let first = sent.events[0].id;
            let mut places = log.iter().filter(|event| event.id == first);
            let place = places.next().map(|event| event.seq);
            assert!(
                places.next().is_none(),
                "world {seed}: batch {n} is there twice"
            );
            if let Some(at) = sent.at {
                assert_eq!(place, Some(at), "world {seed}: batch {n} was acknowledged");
            } else if !sent.unknown {
                assert_eq!(place, None, "world {seed}: batch {n} was refused");
            }
            if let Some(place) = place {
                let at = usize::try_from(place.get()).unwrap();
                let there = &log[at..at + sent.events.len()];
                assert!(
                    there.iter().zip(&sent.events).all(|(a, b)| a.holds(b)),
                    "world {seed}"
                );
                known += sent.events.len();
            }
        }
        assert_eq!(known, log.len(), "world {seed}: events that nobody sent");
    }
}

#[test]
fn what_was_acknowledged_is_there_once_whatever_becomes_of_requests() {
    let worlds = std::env::var("SESSIONLOG_TEST_WORLDS").ok();
    let worlds = worlds.and_then(|n| n.parse().ok()).unwrap_or(12);
    let (mut acknowledged, mut unknown) = (0, 0);
    for seed in 0..worlds {
        for one_in in [2, 3, 15] {
            let mut world = World::new(seed, one_in);
            block_on(async {
                for _ in 0..40 {
                    world.step().await;
                }
                world.check(seed).await;
            });
            acknowledged += world.sent.iter().filter(|sent| sent.at.is_some()).count();
            unknown += world.sent.iter().filter(|sent| sent.unknown).count();
        }
    }
    assert!(acknowledged > 0 && unknown > 0, "{acknowledged} {unknown}");
    println!("{acknowledged} acknowledged, {unknown} unknown at some time");
}

/// Deletes the session, with the others at work.
async fn end(world: &mut World) -> bool {
    let who = usize::try_from(world.dice.roll(3)).unwrap();
    let new: Vec<usize> = (0..3).map(|_| world.next()).collect();
    let appends = new.iter().zip(&world.handles).map(|(n, handle)| {
        let events = world.sent[*n].events.clone();
        handle.append(&world.session, events, AppendCondition::NONE)
    });
    let token = world.tokens[who];
    let delete = world.handles[who].delete(&world.session, token);
    let (_, deleted) = futures_util::future::join(join_all(appends), delete).await;
    deleted.is_ok()
}

#[test]
fn a_deleted_session_stays_deleted_whatever_becomes_of_requests() {
    let mut ended = 0;
    for seed in 0..40 {
        for one_in in [3, 15] {
            let mut world = World::new(seed, one_in);
            block_on(async {
                for _ in 0..10 {
                    world.step().await;
                }
                if !end(&mut world).await {
                    return;
                }
                ended += 1;
                for handle in &world.handles {
                    let late = batch(5_000, 1);
                    let late = handle
                        .append(&world.session, late, AppendCondition::NONE)
                        .await;
                    assert!(
                        late.is_err(),
                        "world {seed}: an append to a deleted session"
                    );
                }
                world.faulty.settle().await;
                let calm = Bucket::new(Arc::clone(&world.store) as _, "", options());
                let head = calm.head(&world.session.id).await;
                assert!(head.is_err_and(|e| e.is_not_found()), "world {seed}");
                let ids: Vec<_> = calm.sessions().try_collect().await.unwrap();
                assert_eq!(ids, [], "world {seed}");
                // The name is free, and nobody of the life before writes into the next.
                let next = SessionRef::fresh(world.session.id.clone());
                calm.create(&next).await.unwrap();
                for handle in &world.handles {
                    let late = batch(6_000, 1);
                    let late = handle
                        .append(&world.session, late, AppendCondition::NONE)
                        .await;
                    assert!(late.is_err(), "world {seed}: an append of the life before");
                }
                world.faulty.settle().await;
                assert_eq!(calm.head(&next.id).await.unwrap().1.tail, SeqNum::ZERO);
                assert_eq!(calm.verify(&next.id).await.unwrap(), [], "world {seed}");
            });
        }
    }
    assert!(ended > 20, "{ended}");
}
