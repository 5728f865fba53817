//! The store that is harmed, and everything that was acknowledged while it was built.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sessionlog_core::{
    BlobId, Card, Event, Head, Incarnation, LeaseRequest, NewEvent, SeqNum, SessionId, SessionRef,
    Snapshot, Store,
};

use super::harm::Image;
use super::tree::Tree;
use crate::bench::{Ask, Bench, Handle};
use crate::breach::{End, Held};
use crate::make::{event, event_id, id, noise, pieces, snapshot, span, with_data};
use crate::{Capability, Place};

/// What was acknowledged of one session.
#[derive(Clone, Debug)]
pub(crate) struct Truth {
    pub(crate) life: SessionRef,
    pub(crate) events: Vec<Event>,
    /// Where batches end, with 0 first.
    pub(crate) ends: Vec<usize>,
    pub(crate) blobs: BTreeMap<BlobId, Vec<u8>>,
    /// All that was ever saved.
    pub(crate) snapshots: Vec<Snapshot>,
    /// The newest token that was ever granted.
    pub(crate) token: u64,
    pub(crate) card: Card,
}

impl Truth {
    /// The head behind the first `len` events.
    pub(crate) fn head(&self, len: usize) -> Head {
        let genesis = Head::genesis(&self.life.id, self.life.incarnation);
        let last = len.checked_sub(1).and_then(|last| self.events.get(last));
        last.map_or(genesis, Head::after)
    }

    /// Whether a loss of so many bytes can have reached all batches behind the first `len` events:
    /// those between the first and the last of them lay in it altogether.
    pub(crate) fn ends_in(&self, len: usize, lost: usize) -> bool {
        let later: Vec<_> = self.ends.iter().filter(|end| **end > len).collect();
        match later.as_slice() {
            [first, .., last, _] => {
                let between = self.events.get(**first..**last).unwrap_or_default();
                between.iter().map(|event| event.data.len()).sum::<usize>() <= lost
            }
            _ => true,
        }
    }
}

pub(crate) type Truths = BTreeMap<SessionId, Truth>;

/// A folder, and what was acknowledged when it was taken.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) tree: Tree,
    pub(crate) truths: Truths,
}

/// The store in all its stages.
pub(crate) struct Built {
    /// After each stage, closed. The last one is harmed.
    pub(crate) stages: Vec<Stage>,
    /// Written on, and copied while it was open.
    pub(crate) killed: Stage,
    /// Another store, built alike.
    pub(crate) other: Tree,
    pub(crate) other_truths: Truths,
    /// The files that changed while one session alone was worked on.
    pub(crate) owners: BTreeMap<PathBuf, SessionId>,
}

impl Built {
    /// Builds it.
    pub(crate) async fn new(bench: &Bench) -> Held<Self> {
        let (stages, killed, owners) = Builder::build(bench, 1).await?;
        let (other, _, _) = Builder::build(bench, 2).await?;
        let last = other.last();
        let last = last.ok_or_else(|| End::Broken("a store without stages".into()))?;
        Ok(Self {
            stages,
            killed,
            other: last.tree.clone(),
            other_truths: last.truths.clone(),
            owners,
        })
    }

    fn closed(&self) -> &Stage {
        self.stages.last().unwrap_or(&self.killed)
    }

    pub(crate) fn image(&self, image: Image) -> &Tree {
        match image {
            Image::Closed => &self.closed().tree,
            Image::Killed => &self.killed.tree,
        }
    }

    pub(crate) fn truths(&self, image: Image) -> &Truths {
        match image {
            Image::Closed => &self.closed().truths,
            Image::Killed => &self.killed.truths,
        }
    }

    /// Whose file it is, if it is one session's alone.
    pub(crate) fn owner(&self, file: &Path) -> Option<&SessionId> {
        self.owners.get(file)
    }
}

/// One thing that is done to a session while the store is built.
enum Do {
    Create,
    /// Events of these numbers, in one batch.
    Append(u64, u64),
    /// The same under a lease, which is given back.
    Drive(u64, u64),
    Save(u64),
    Put(u64, usize),
    Card,
    Delete,
}

/// The stages, each on one session. The first makes what all sessions share.
fn stages() -> Vec<(&'static str, Vec<Do>)> {
    use Do::{Append, Card, Create, Delete, Drive, Put, Save};
    vec![
        (
            "gone",
            vec![Create, Drive(900, 903), Put(9, 300), Save(2), Delete],
        ),
        (
            "a",
            vec![Create, Append(0, 4), Drive(4, 5), Save(3), Put(1, 700)],
        ),
        (
            "b",
            vec![
                Create,
                Drive(100, 103),
                Append(103, 104),
                Put(2, 40_000),
                Card,
            ],
        ),
        ("c", vec![Create]),
        (
            "a",
            vec![
                Drive(5, 7),
                Append(7, 8),
                Append(8, 12),
                Save(12),
                Put(3, 9_000),
                Card,
            ],
        ),
        ("b", vec![Drive(104, 105), Append(105, 109), Save(9)]),
        (
            "a",
            vec![Append(12, 14), Drive(14, 15), Save(14), Append(15, 17)],
        ),
    ]
}

/// Event `n`: now and then a long one.
fn told(n: u64, store: u64) -> NewEvent {
    if n % 10 == 7 {
        let text: Vec<u8> = noise(n, 5_000).iter().map(|b| b'a' + b % 26).collect();
        return with_data(n, format!("\"{}\"", String::from_utf8_lossy(&text)));
    }
    if store == 1 {
        return event(n);
    }
    with_data(n, format!("{{\"other\":{n}}}"))
}

struct Builder<'a> {
    bench: &'a Bench,
    place: Place,
    store: u64,
    truths: Truths,
}

type Owners = BTreeMap<PathBuf, SessionId>;

impl<'a> Builder<'a> {
    async fn build(bench: &'a Bench, store: u64) -> Held<(Vec<Stage>, Stage, Owners)> {
        let mut this = Self {
            bench,
            place: bench.quick_place()?,
            store,
            truths: Truths::new(),
        };
        let mut built: Vec<Stage> = Vec::new();
        let mut owners: BTreeMap<PathBuf, BTreeSet<SessionId>> = BTreeMap::new();
        for (name, steps) in stages() {
            let handle = bench.open_at(&this.place).await?;
            for step in &steps {
                this.perform(&handle, &id(name)?, step).await?;
            }
            drop(handle);
            let stage = this.stage(Tree::of(&this.place)?);
            let before = built.last().map(|s| s.tree.clone()).unwrap_or_default();
            for file in before.changed(&stage.tree) {
                owners.entry(file).or_default().insert(id(name)?);
            }
            built.push(stage);
        }
        let handle = bench.open_at(&this.place).await?;
        for (name, step) in [
            ("a", Do::Append(20, 23)),
            ("b", Do::Append(110, 111)),
            ("a", Do::Append(23, 24)),
            ("a", Do::Append(24, 28)),
        ] {
            this.perform(&handle, &id(name)?, &step).await?;
        }
        let killed = this.stage(Tree::settled(&this.place)?);
        drop(handle);
        let gone = id("gone")?;
        let alone = owners
            .into_iter()
            .filter(|(_, by)| by.len() == 1 && !by.contains(&gone));
        let alone = alone.filter_map(|(file, mut by)| Some((file, by.pop_first()?)));
        Ok((built, killed, alone.collect()))
    }

    fn stage(&self, tree: Tree) -> Stage {
        Stage {
            tree,
            truths: self.truths.clone(),
        }
    }

    fn fresh(&self, id: &SessionId) -> SessionRef {
        let name = id.as_str().bytes().next().map_or(0, u64::from);
        SessionRef {
            id: id.clone(),
            incarnation: Incarnation::from_bytes(*event_id(self.store * 1_000 + name).as_bytes()),
        }
    }

    async fn perform(&mut self, handle: &Handle, id: &SessionId, step: &Do) -> Held {
        let life = self.fresh(id);
        let numbers = |from: u64, to: u64| (from..to).map(|n| told(n, self.store)).collect();
        match *step {
            Do::Create => {
                handle.create(&life).await?;
                let truth = Truth {
                    life,
                    events: Vec::new(),
                    ends: vec![0],
                    blobs: BTreeMap::new(),
                    snapshots: Vec::new(),
                    token: 0,
                    card: Card::default(),
                };
                self.truths.insert(id.clone(), truth);
                return Ok(());
            }
            Do::Append(from, to) => {
                handle.put_events(&life, numbers(from, to)).await?;
            }
            Do::Drive(from, to) => {
                let mut wanted = crate::make::request("builder")?;
                if self.bench.subject.prompt_leases != Capability::Yes {
                    wanted = LeaseRequest::forced(wanted);
                }
                let lease = handle.acquire(&life, wanted).await?;
                handle.put_under(&life, numbers(from, to), &lease).await?;
                handle.release(&lease).await?;
                if let Some(truth) = self.truths.get_mut(id) {
                    truth.token = lease.token.get();
                }
            }
            Do::Save(covers) => {
                let last = handle.events(&life, span(covers - 1, covers)).await?;
                let sum = last.first().map(|event| event.sum);
                let sum = sum.ok_or_else(|| End::Broken("a snapshot ahead of its log".into()))?;
                let saved = snapshot(covers, sum, noise(covers, 900));
                handle.save(&life, saved.clone(), None).await?;
                self.truth(id)?.snapshots.push(saved);
            }
            Do::Put(seed, len) => {
                let content = noise(seed * self.store, len);
                handle.put(&life, pieces(&content, 16_000), None).await?;
                let blobs = &mut self.truth(id)?.blobs;
                blobs.insert(BlobId::of(&content), content);
            }
            Do::Card => {
                Store::shared(handle.clone())
                    .open(id)
                    .await?
                    .save_card()
                    .await?;
            }
            Do::Delete => {
                handle.delete(&life, None).await?;
                self.truths.remove(id);
                return Ok(());
            }
        }
        let session = Store::shared(handle.clone()).open(id).await?;
        let events = session.read(SeqNum::all()).collect().await?;
        let card = session.project::<Card>().await?.state;
        let truth = self.truth(id)?;
        if events.len() > truth.events.len() {
            truth.ends.push(events.len());
        }
        truth.events = events;
        truth.card = card;
        Ok(())
    }

    fn truth(&mut self, id: &SessionId) -> Held<&mut Truth> {
        let truth = self.truths.get_mut(id);
        truth.ok_or_else(|| End::Broken(format!("{id} was not made")))
    }
}
