//! One history of generated sessions, written to every kind of store at once: all of them show the
//! same, now, after they were opened anew, and as copies.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use pollster::block_on;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use sessionlog::transcript::{Transcript, kinds};
use sessionlog::{
    BlobId, Card, CopyOptions, Data, Event, EventId, Head, Incarnation, Kind, LeaseRequest,
    NewEvent, Owner, SeqNum, SessionId, SessionRef, Severity, Snapshot, Store, Timestamp,
};
use tempfile::TempDir;

use crate::ring::snapshots;

const SCHEMES: [&str; 4] = ["memory", "jsonl", "sqlite", "redb"];

/// Names that a file system, a table or a key could confuse.
const NAMES: [&str; 6] = ["Con", "con", "a.", "A.", "sessionlog.json", "0_0-0.0"];

/// Payloads that lead a conversation to places, of the kinds that replay knows.
const TOLD: &[(&str, &str)] = &[
    (
        "message",
        r#"{"role":"user","message":{"role":"user","content":"Grüße, 漢字, \u0000"}}"#,
    ),
    (
        "message",
        r#"{"role":"assistant","response":"r1","message":{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"bash","input":{}}]},"calls":[{"id":"c1","name":"bash"}]}"#,
    ),
    (
        "message",
        r#"{"role":"tool","results":[{"call":"c1"}],"message":{"role":"user","content":[]}}"#,
    ),
    ("rollback", r#"{"dropped":2}"#),
    ("rollback", r#"{"dropped":18446744073709551615}"#),
    ("head", r#"{"to":1}"#),
    ("head", r#"{"to":null}"#),
    (
        "compaction",
        r#"{"summary":"…","objective":"all","next_steps":["one"]}"#,
    ),
    ("session.titled", r#"{"title":"Ünïcode ☃","by":"person"}"#),
    ("session.succeeded", r#"{"by":"con"}"#),
    (
        "settings.changed",
        r#"{"model":"m1","effort":"high","mode":"code"}"#,
    ),
    ("usage.reported", r#"{"input":10,"output":4}"#),
    ("permission.requested", r#"{"id":"p1","tool":"bash"}"#),
    ("permission.resolved", r#"{"id":"p1","allowed":true}"#),
    ("turn.started", r#"{"turn":"t1"}"#),
];

const ODD: &[&str] = &[
    "0",
    "\"\"",
    "[]",
    "-0.0e-00",
    "{\"a\":1,\"a\":2}",
    "\"\\ud800\"",
    "\"\u{2028}\u{feff}漢\u{10ffff}\"",
    "{\n\t\"pretty\":\r\n [ ]\n}\n",
];

/// Around what pages, pieces, windows and chunks of the stores hold.
const SIZES: &[usize] = &[
    1, 480, 4_000, 8_150, 16_384, 65_536, 131_072, 262_144, 1_048_576,
];

fn told() -> impl Strategy<Value = (Kind, String)> {
    let kind = || select(kinds::ALL);
    prop_oneof![
        6 => select(TOLD).prop_map(|(kind, data)| (Kind::new(kind).unwrap(), data.to_owned())),
        3 => (kind(), select(ODD)).prop_map(|(kind, data)| (kind, data.to_owned())),
        2 => (kind(), any::<String>())
            .prop_map(|(kind, text)| (kind, serde_json::to_string(&text).unwrap())),
        2 => (kind(), select(SIZES), 0..70_usize).prop_map(|(kind, size, more)| {
            let text = "ab\\n".repeat((size + more) / 4);
            (kind, format!("{{\"content\":\"{text}\"}}"))
        }),
    ]
}

fn event() -> impl Strategy<Value = NewEvent> {
    let at = 1_500_000_000_000_000_i64..2_000_000_000_000_000;
    (any::<[u8; 16]>(), at, told()).prop_map(|(id, at, (kind, data))| NewEvent {
        id: EventId::from_bytes(id),
        at: Timestamp::from_micros(at).unwrap(),
        kind,
        data: Data::from_json(data).unwrap(),
    })
}

#[derive(Clone, Debug)]
enum Do {
    Append(Index, Vec<NewEvent>),
    Blob(Index, u8, usize),
    Save(Index),
    Delete(Index),
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Do>> {
    let sizes = select(&[0_usize, 1, 4_095, 258_048, 262_144, 262_145, 700_001][..]);
    let step = prop_oneof![
        8 => (any::<Index>(), vec(event(), 1..7)).prop_map(|(at, events)| Do::Append(at, events)),
        2 => (any::<Index>(), any::<u8>(), sizes).prop_map(|(at, fill, n)| Do::Blob(at, fill, n)),
        2 => any::<Index>().prop_map(Do::Save),
        1 => any::<Index>().prop_map(Do::Delete),
        1 => Just(Do::Reopen),
    ];
    vec(step, 6..24)
}

/// All that a store shows of a session.
#[derive(Debug, PartialEq)]
struct Shown {
    life: Incarnation,
    head: Head,
    events: Vec<Event>,
    last: Vec<Event>,
    blobs: BTreeMap<BlobId, Vec<u8>>,
    card: Card,
    transcript: Vec<u8>,
    snapshots: Vec<Option<Snapshot>>,
}

fn shown(store: &Store, id: &SessionId) -> Shown {
    block_on(async {
        assert_eq!(store.verify(id).await.unwrap(), [], "{store:?} {id}");
        let (at, head) = store.backend().head(id).await.unwrap();
        let session = store.open(id).await.unwrap();
        let events = session.read(SeqNum::all()).collect().await.unwrap();
        for (n, event) in events.iter().enumerate().step_by(5) {
            let seq = SeqNum::new(n.try_into().unwrap());
            assert!(session.event(seq).await.unwrap() == *event, "{n}");
        }
        let mut blobs = BTreeMap::new();
        for blob in session.blobs().await.unwrap() {
            let mut pieces = session.blob(blob.id, 0..u64::MAX);
            let content: &mut Vec<u8> = blobs.entry(blob.id).or_default();
            while let Some(piece) = pieces.next().await {
                content.extend(piece.unwrap());
            }
            assert_eq!(BlobId::of(content), blob.id);
        }
        Shown {
            life: at.incarnation,
            head,
            last: session.last(3).await.unwrap().collect().await.unwrap(),
            events,
            blobs,
            card: session.project().await.unwrap().state,
            transcript: serde_json::to_vec(&session.project::<Transcript>().await.unwrap().state)
                .unwrap(),
            snapshots: snapshots(store, &at).await,
        }
    })
}

/// All that a store shows.
#[derive(Debug, PartialEq)]
struct Picture {
    sessions: BTreeMap<SessionId, Shown>,
    cards: Vec<(SessionId, Card)>,
}

fn picture(store: &Store) -> Picture {
    let ids = block_on(store.ids()).unwrap();
    let cards = block_on(store.cards()).unwrap();
    let strays = block_on(store.strays()).unwrap();
    let damage = |found: &&sessionlog::Finding| found.severity == Severity::Damage;
    assert_eq!(strays.iter().find(damage), None, "{store:?}");
    Picture {
        sessions: ids
            .into_iter()
            .map(|id| (id.clone(), shown(store, &id)))
            .collect(),
        cards: cards
            .into_iter()
            .map(|listed| (listed.id, listed.card.unwrap()))
            .collect(),
    }
}

struct Stores {
    folder: TempDir,
    open: Vec<Store>,
}

impl Stores {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let open = SCHEMES.iter().map(|scheme| open(&folder, scheme)).collect();
        Self { folder, open }
    }

    fn reopen(&mut self) {
        // What is in memory would be gone.
        for (store, scheme) in self.open.iter_mut().zip(SCHEMES).skip(1) {
            *store = open(&self.folder, scheme);
        }
    }

    /// The picture that all of them show.
    fn picture(&self) -> Picture {
        let mut all = self.open.iter().map(picture);
        let first = all.next().unwrap();
        for (other, scheme) in all.zip(&SCHEMES[1..]) {
            let ids = |p: &Picture| p.sessions.keys().cloned().collect::<Vec<_>>();
            assert_eq!(ids(&other), ids(&first), "{scheme}");
            for (id, shown) in &first.sessions {
                assert!(other.sessions[id] == *shown, "{scheme}: {id}");
            }
            assert_eq!(other.cards, first.cards, "{scheme}");
        }
        first
    }
}

fn open(folder: &TempDir, scheme: &str) -> Store {
    let url = match scheme {
        "memory" => "memory:".to_owned(),
        _ => format!("{scheme}:{}", folder.path().join(scheme).display()),
    };
    block_on(sessionlog::open(&url)).unwrap()
}

async fn perform(store: &Store, lives: &[SessionRef], step: &Do) {
    let life = |at: &Index| at.get(lives);
    match step {
        Do::Append(at, events) => {
            let session = store.open(&life(at).id).await.unwrap();
            session.append(events.clone()).await.unwrap();
        }
        Do::Blob(at, fill, len) => {
            let session = store.open(&life(at).id).await.unwrap();
            session.put_blob(vec![*fill; *len]).await.unwrap();
        }
        Do::Save(at) => {
            let session = store.open(&life(at).id).await.unwrap();
            let request = LeaseRequest::new(Owner::new("me").unwrap());
            let writer = session.acquire(request).await.unwrap();
            writer.save_card().await.unwrap();
            let transcript = session.project::<Transcript>().await.unwrap();
            writer.save(&transcript).await.unwrap();
            writer.release().await.unwrap();
        }
        Do::Delete(at) => {
            store.delete(&life(at).id).await.unwrap();
            // Its name is used again, by another life.
            let mut life = life(at).clone();
            life.incarnation = Incarnation::from_bytes([77; 16]);
            store.backend().create(&life).await.unwrap();
        }
        Do::Reopen => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_store_shows_the_same_of_the_same_history(
        names in prop::sample::subsequence(&NAMES[..], 1..4),
        steps in steps(),
        forked in any::<Index>(),
    ) {
        let mut stores = Stores::new();
        let lives: Vec<SessionRef> = names
            .iter()
            .zip(1..)
            .map(|(name, n)| SessionRef {
                id: name.parse().unwrap(),
                incarnation: Incarnation::from_bytes([n; 16]),
            })
            .collect();
        for (store, life) in stores.open.iter().flat_map(|s| lives.iter().map(move |l| (s, l))) {
            block_on(store.backend().create(life)).unwrap();
        }
        for step in &steps {
            for store in &stores.open {
                block_on(perform(store, &lives, step));
            }
            if matches!(step, Do::Reopen) {
                stores.reopen();
            }
        }
        let before = stores.picture();
        stores.reopen();
        prop_assert!(stores.picture() == before, "opened anew");

        // A fork in one of them, copied to the others, and all sessions to new stores.
        let source = &forked.get(&lives).id;
        let from = &stores.open[forked.index(SCHEMES.len())];
        let fork: SessionId = "Fork.".parse().unwrap();
        let at = before.sessions[source].head.tail;
        block_on(async {
            let session = from.open(source).await.unwrap();
            from.fork(&session, Some(at), fork.clone()).await.unwrap();
        });
        let options = CopyOptions::new(Owner::new("copy").unwrap())
            .with_snapshots::<Transcript>();
        for to in &stores.open {
            for id in [&fork, source] {
                block_on(from.copy_to(id, to, &options, |_| {})).unwrap();
            }
        }
        let whole = |id: &SessionId| {
            let mut all = stores.open.iter().map(|store| {
                let Shown { head, events, blobs, card, transcript, .. } = shown(store, id);
                (head, events, blobs, card, transcript)
            });
            let first = all.next().unwrap();
            assert!(all.all(|other| other == first), "{id}");
        };
        whole(&fork);
        whole(source);
        let events = &before.sessions[source].events;
        let forked = block_on(async {
            let session = stores.open[0].open(&fork).await.unwrap();
            session.read(SeqNum::all()).collect().await.unwrap()
        });
        let bytes = |event: &Event| event.clone().into_new();
        prop_assert_eq!(
            forked.iter().take(events.len()).map(bytes).collect::<Vec<_>>(),
            events.iter().map(bytes).collect::<Vec<_>>()
        );
    }
}
