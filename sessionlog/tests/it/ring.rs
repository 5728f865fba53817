//! Sessions, copied from one backend to the next until they are back where they came from.

use std::collections::BTreeSet;

use futures_util::StreamExt;
use pollster::block_on;
use proptest::collection::vec;
use proptest::prelude::*;
use sessionlog::transcript::Transcript;
use sessionlog::{
    BlobId, Card, CopyOptions, Data, Event, EventId, Kind, LeaseRequest, NewEvent, Owner,
    Projection, SeqNum, Session, SessionId, SessionRef, Snapshot, Store, Timestamp,
};
use tempfile::TempDir;

const RING: [&str; 4] = ["jsonl", "sqlite", "redb", "jsonl"];

/// Payloads that something between two stores could change.
const ODD: &[&str] = &[
    "{}",
    " null ",
    "-0",
    "1e400",
    "123456789012345678901234567890.10",
    r#"{"a":1,"a":2}"#,
    r#"{"lone":"\ud800","other":"\udc00\ud800","pair":"\ud83d\ude00"}"#,
    r#""\u0000 \u001b[31m \/ / ä \u00e4""#,
    "\"\u{2028}\u{feff}漢\"",
    "{\n\t\"pretty\": [\r\n  1,\r\n  \"\\\"\\\\\"\r\n]\n}\n",
    "[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]",
    r#"{"role":"user","message":{"role":"user","content":"fix the parser"}}"#,
    r#"{"role":"assistant","model":"m","response":"r","usage":{"key":"r","input":7,"output":2}}"#,
];

const KINDS: &[&str] = &[
    "message",
    "tool.called",
    "some.other.thing",
    "usage.reported",
];

fn payload() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(ODD).prop_map(str::to_owned),
        4 => any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
        // Larger than a page, than a chunk of a read, and than a batch of a copy.
        1 => prop::sample::select(&[5_000_usize, 300_000, 4_500_000][..])
            .prop_map(|len| format!("{{\"big\": \"{}\"}}", "x".repeat(len))),
    ]
}

fn event() -> impl Strategy<Value = NewEvent> {
    let at = -2_000_000_000_000_000_i64..4_000_000_000_000_000;
    let kind = prop::sample::select(KINDS);
    (any::<[u8; 16]>(), at, kind, payload()).prop_map(|(id, at, kind, data)| NewEvent {
        // Ids that do not ascend.
        id: EventId::from_bytes(id),
        at: Timestamp::from_micros(at).unwrap(),
        kind: Kind::from_static(kind),
        data: Data::from_json(data).unwrap(),
    })
}

#[derive(Debug)]
struct Given {
    batches: Vec<Vec<NewEvent>>,
    blobs: Vec<Vec<u8>>,
    /// How many batches are there when the first copies are made.
    first: usize,
    carded: bool,
}

fn given() -> impl Strategy<Value = Given> {
    let batches = vec(vec(event(), 1..6), 0..8);
    let blobs = vec(vec(any::<u8>(), 0..3000), 0..3);
    (batches, blobs, any::<prop::sample::Index>(), any::<bool>()).prop_map(
        |(mut batches, mut blobs, first, carded)| {
            let mut ids = BTreeSet::new();
            batches
                .iter_mut()
                .for_each(|batch| batch.retain(|e| ids.insert(e.id)));
            // One that no part of a file holds at once.
            if let Some(blob) = blobs.first_mut() {
                *blob = blob.repeat(100);
            }
            let first = first.index(batches.len() + 1);
            Given {
                batches,
                blobs,
                first,
                carded,
            }
        },
    )
}

/// All that a session is.
#[derive(Debug, PartialEq)]
struct All {
    life: sessionlog::Incarnation,
    head: sessionlog::Head,
    events: Vec<Event>,
    blobs: Vec<(BlobId, usize)>,
    card: Card,
    snapshots: Vec<Option<Snapshot>>,
}

/// The newest snapshot of each projection that this crate knows.
pub(crate) async fn snapshots(store: &Store, session: &SessionRef) -> Vec<Option<Snapshot>> {
    let mut found = Vec::new();
    for (name, version) in [
        (Card::NAME, Card::VERSION),
        (Transcript::NAME, Transcript::VERSION),
    ] {
        let name = Kind::from_static(name);
        let latest = store.backend().latest(session, &name, version, SeqNum::MAX);
        found.push(latest.await.unwrap());
    }
    found
}

fn all(store: &Store, id: &SessionId) -> All {
    block_on(async {
        assert_eq!(store.verify(id).await.unwrap(), []);
        let session = store.open(id).await.unwrap();
        let mut blobs = Vec::new();
        for blob in session.blobs().await.unwrap() {
            // Whole, so it is checked against its name.
            let mut pieces = session.blob(blob.id, 0..u64::MAX);
            let mut len = 0;
            while let Some(piece) = pieces.next().await {
                len += piece.unwrap().len();
            }
            blobs.push((blob.id, len));
        }
        blobs.sort_unstable();
        let (at, head) = store.backend().head(id).await.unwrap();
        All {
            life: session.incarnation(),
            head,
            events: session.read(SeqNum::all()).collect().await.unwrap(),
            blobs,
            card: session.project().await.unwrap().state,
            snapshots: snapshots(store, &at).await,
        }
    })
}

fn fill(session: &Session, batches: &[Vec<NewEvent>]) {
    for batch in batches.iter().filter(|batch| !batch.is_empty()) {
        block_on(session.append(batch.clone())).unwrap();
    }
}

fn around(stores: &[Store], id: &SessionId) {
    let options = CopyOptions::new(Owner::new("ring").unwrap());
    for pair in stores.windows(2) {
        let before = all(&pair[0], id);
        let copied = block_on(pair[0].copy_to(id, &pair[1], &options, |_| {})).unwrap();
        let now = all(&pair[0], id);
        assert!(now == before, "the source was changed");
        assert_eq!(copied.head, now.head);
        let mut there = all(&pair[1], id);
        if now.snapshots.iter().all(Option::is_none) {
            // A card is made where the source has none.
            there.snapshots.clone_from(&now.snapshots);
        }
        assert!(there == now, "{pair:?}");
        let again = block_on(pair[0].copy_to(id, &pair[1], &options, |_| {})).unwrap();
        assert!(again.is_nothing(), "{again:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_session_that_goes_around_comes_back_as_it_was(given in given()) {
        let folder = TempDir::new().unwrap();
        let stores: Vec<Store> = RING
            .iter()
            .enumerate()
            .map(|(n, scheme)| {
                let url = format!("{scheme}:{}", folder.path().join(n.to_string()).display());
                block_on(sessionlog::open(&url)).unwrap()
            })
            .collect();
        let id: SessionId = "Around.1".parse().unwrap();
        let session = block_on(stores[0].create(id.clone())).unwrap();
        let (first, rest) = given.batches.split_at(given.first);
        fill(&session, first);
        around(&stores, &id);

        for blob in &given.blobs {
            block_on(session.put_blob(blob.clone())).unwrap();
        }
        fill(&session, rest);
        if given.carded {
            let request = LeaseRequest::new(Owner::new("me").unwrap());
            let writer = block_on(session.acquire(request)).unwrap();
            block_on(writer.save_card()).unwrap();
            let transcript = block_on(session.project::<Transcript>()).unwrap();
            block_on(writer.save(&transcript)).unwrap();
        }
        around(&stores, &id);
        prop_assert_eq!(
            all(&stores[0], &id).events.into_iter().map(Event::into_new).collect::<Vec<_>>(),
            given.batches.concat()
        );
    }
}
