//! Lists of sessions: what was recorded for them is never believed of another log.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::*;
use sessionlog_backend_jsonl::{Jsonl, Options};

use crate::util::*;

const NAMES: [&str; 3] = ["a", "B", "c."];

/// What is done, by one of two handles.
#[derive(Clone, Debug)]
enum Do {
    Create,
    Append(u8),
    Save,
    /// Deletes it and makes another of its name, with logs of the same length.
    Again,
    Delete,
    Repair,
    Harm(Harm),
    List,
}

/// What is done to what was recorded.
#[derive(Clone, Debug)]
enum Harm {
    Flip(u16),
    Cut(u16),
    Gone,
    /// As it was recorded earlier.
    Older,
    /// As it was recorded for the next session.
    Other,
}

fn step() -> impl Strategy<Value = Do> {
    let harm = prop_oneof![
        any::<u16>().prop_map(Harm::Flip),
        any::<u16>().prop_map(Harm::Cut),
        Just(Harm::Gone),
        Just(Harm::Older),
        Just(Harm::Other),
    ];
    prop_oneof![
        2 => Just(Do::Create),
        6 => (0..4_u8).prop_map(Do::Append),
        6 => Just(Do::Save),
        1 => Just(Do::Again),
        1 => Just(Do::Delete),
        1 => Just(Do::Repair),
        3 => harm.prop_map(Do::Harm),
        2 => Just(Do::List),
    ]
}

/// A message whose title, if it is the first, is another each time, and no longer.
fn message(n: u8, count: usize) -> NewEvent {
    let text = format!("{{\"role\":\"user\",\"message\":{{\"content\":\"{n} {count:05}\"}}}}");
    event(&text)
}

/// The store, and what it must show.
struct World {
    dir: TempDir,
    handles: [Store; 2],
    logs: BTreeMap<SessionId, Vec<NewEvent>>,
    older: BTreeMap<SessionId, Vec<u8>>,
    count: usize,
}

impl World {
    fn new(ahead: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let open = |options| Store::new(Jsonl::open(dir.path().join("store"), options).unwrap());
        let handles = [
            open(Options::default()),
            open(Options::default().write_ahead(ahead)),
        ];
        Self {
            dir,
            handles,
            logs: BTreeMap::new(),
            older: BTreeMap::new(),
            count: 0,
        }
    }

    /// The file that is recorded for a session.
    fn recorded(&self, id: &SessionId) -> Option<PathBuf> {
        let folder = match id.as_str() {
            "B" => "b=1",
            "c." => "c.=0",
            other => other,
        };
        let folder = self.dir.path().join("store").join(folder).join("snapshots");
        let entries = fs::read_dir(folder).ok()?;
        let mut paths = entries.map(|entry| entry.unwrap().path());
        paths.find(|path| path.extension().is_some_and(|e| e == "last"))
    }

    async fn perform(&mut self, who: usize, name: usize, step: &Do) {
        let store = self.handles[who].clone();
        let id = id(NAMES[name]);
        let there = self.logs.contains_key(&id);
        match step {
            Do::Create if !there => {
                store.create(id.clone()).await.unwrap();
                self.logs.insert(id, Vec::new());
            }
            Do::Append(n) if there => {
                self.count += 1;
                let events = vec![message(*n, self.count)];
                let session = store.open(&id).await.unwrap();
                session.append(events.clone()).await.unwrap();
                self.logs.get_mut(&id).unwrap().extend(events);
            }
            Do::Save if there => {
                if let Some(path) = self.recorded(&id) {
                    self.older.insert(id.clone(), fs::read(path).unwrap());
                }
                let session = store.open(&id).await.unwrap();
                session.save_card().await.unwrap();
            }
            Do::Again if there => {
                store.delete(&id).await.unwrap();
                let session = self.handles[1 - who].create(id.clone()).await.unwrap();
                let log = self.logs.get_mut(&id).unwrap();
                for event in log {
                    self.count += 1;
                    *event = message(9, self.count);
                    session.append(vec![event.clone()]).await.unwrap();
                }
            }
            Do::Delete if there => {
                store.delete(&id).await.unwrap();
                self.logs.remove(&id);
            }
            Do::Repair if there => drop(store.repair(&id, true).await.unwrap()),
            Do::Harm(harm) => self.harm(&id, &globally(name), harm),
            Do::List => self.listed(who).await,
            _ => {}
        }
    }

    fn harm(&self, id: &SessionId, other: &SessionId, harm: &Harm) {
        let Some(path) = self.recorded(id) else {
            return;
        };
        let mut bytes = fs::read(&path).unwrap();
        if bytes.is_empty() {
            return;
        }
        match harm {
            Harm::Flip(at) => {
                let at = usize::from(*at) % (bytes.len() * 8);
                bytes[at / 8] ^= 1 << (at % 8);
            }
            Harm::Cut(at) => bytes.truncate(usize::from(*at) % bytes.len()),
            Harm::Gone => return fs::remove_file(path).unwrap(),
            Harm::Older => bytes = self.older.get(id).cloned().unwrap_or_default(),
            Harm::Other => {
                let other = self.recorded(other);
                bytes = other
                    .map(|path| fs::read(path).unwrap())
                    .unwrap_or_default();
            }
        }
        fs::write(path, bytes).unwrap();
    }

    /// A list of a handle, and of one that was just opened, is what it must be.
    async fn listed(&self, who: usize) {
        let fresh = Store::new(open(&self.dir));
        for store in [&self.handles[who], &fresh] {
            let cards = store.cards().await.unwrap();
            let mut shown = BTreeMap::new();
            for listed in cards {
                shown.insert(listed.id, listed.card.unwrap());
            }
            let mut expected = BTreeMap::new();
            for (id, log) in &self.logs {
                let session = store.open(id).await.unwrap();
                let events = session.read(SeqNum::all()).collect().await.unwrap();
                let stored: Vec<_> = events.iter().map(|e| e.clone().into_new()).collect();
                assert_eq!(stored, *log, "{id}");
                let mut card = Card::default();
                events.iter().for_each(|event| card.apply(event));
                expected.insert(id.clone(), card);
            }
            assert_eq!(shown, expected);
        }
    }
}

fn globally(name: usize) -> SessionId {
    id(NAMES[(name + 1) % NAMES.len()])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_list_shows_what_is_not_so(
        ahead in prop_oneof![Just(0_usize), Just(8192)],
        steps in vec((0..2_usize, 0..NAMES.len(), step()), 8..48),
    ) {
        let mut world = World::new(ahead);
        for (who, name, step) in steps {
            block_on(world.perform(who, name, &step));
        }
        for who in [0, 1] {
            block_on(world.listed(who));
        }
    }
}

#[test]
fn what_is_recorded_is_used() {
    let (dir, store, session) = with_events(3);
    let log = log_path(&store, "s");
    let handle = Store::new(store);
    block_on(async { handle.open(&session.id).await.unwrap().save_card().await }).unwrap();
    drop(handle);
    // The bytes are others, and the file looks the same: only a look into it would tell.
    let before = fs::metadata(&log).unwrap();
    let bytes = fs::read(&log).unwrap();
    let spoilt = vec![b'x'; bytes.len()];
    let spoil = |bytes: &[u8]| {
        let file = fs::OpenOptions::new().write(true).open(&log).unwrap();
        std::io::Write::write_all(&mut &file, bytes).unwrap();
        file.set_modified(before.modified().unwrap()).unwrap();
    };
    spoil(&spoilt);
    let cards = block_on(Store::new(open(&dir)).cards()).unwrap();
    assert_eq!(cards[0].card.as_ref().unwrap().events, 3);
    // One that looks otherwise is looked into.
    fs::write(&log, &spoilt).unwrap();
    let cards = block_on(Store::new(open(&dir)).cards()).unwrap();
    assert!(cards[0].card.as_ref().is_err_and(Error::is_corrupt));
}

#[test]
fn a_damaged_record_is_found_and_removed_by_repair() {
    let (_dir, store, session) = with_events(2);
    let handle = Store::new(store.clone());
    block_on(async { handle.open(&session.id).await.unwrap().save_card().await }).unwrap();
    let path = store.path().join("s/snapshots");
    let path = path.join(format!("{}-v{}.last", Card::NAME, Card::VERSION));
    assert_eq!(block_on(handle.verify(&session.id)).unwrap(), []);
    fs::write(&path, "rubbish").unwrap();
    let found = block_on(handle.verify(&session.id)).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Derived);
    block_on(handle.repair(&session.id, true)).unwrap();
    assert!(!path.exists());
    assert_eq!(block_on(handle.verify(&session.id)).unwrap(), []);
}
