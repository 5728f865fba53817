//! Snapshots are a cache: used only when proven, never missed (G11, G12).

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use sessionlog_core::*;

use crate::wrapper::message;

/// A fold that depends on every event and on their order.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Trace(Vec<String>);

impl Projection for Trace {
    const NAME: &'static str = "trace";
    const VERSION: u32 = 3;
    fn apply(&mut self, event: &Event) {
        self.0.push(event.data.as_text().into_owned());
    }
}

async fn save(session: &Session, backend: &Memory, snapshot: Snapshot) {
    let (at, _) = backend.head(session.id()).await.unwrap();
    backend.save(&at, snapshot, None).await.unwrap();
}

proptest! {
    #[test]
    fn a_snapshot_and_its_tail_give_what_the_whole_log_gives(
        batches in prop::collection::vec(1_usize..4, 1..12),
        saves in prop::collection::vec(any::<bool>(), 12),
    ) {
        pollster::block_on(async {
            let store = Store::new(Memory::new());
            let session = store.create("s".parse().unwrap()).await.unwrap();
            let writer = session.acquire(LeaseRequest::new(Owner::new("t").unwrap())).await.unwrap();
            let mut all = Vec::new();
            for (n, size) in batches.iter().enumerate() {
                let batch: Vec<_> = (0..*size).map(|k| message(&format!("{n}-{k}"))).collect();
                all.extend(batch.iter().map(|e| e.data.as_text().into_owned()));
                writer.append(batch).await.unwrap();
                let projected = session.project::<Trace>().await.unwrap();
                assert_eq!(projected.state.0, all);
                if saves[n] {
                    writer.save(&projected).await.unwrap();
                    assert_eq!(session.project::<Trace>().await.unwrap().folded, 0);
                }
            }
            for until in 0..=all.len() {
                let part = session.project_until::<Trace>(SeqNum::new(until as u64)).await.unwrap();
                assert_eq!(part.state.0, all[..until]);
            }
        });
    }
}

#[test]
fn a_snapshot_that_is_not_of_this_log_is_ignored() {
    pollster::block_on(async {
        let backend = Memory::new();
        let store = Store::new(backend.clone());
        let session = store.create("s".parse().unwrap()).await.unwrap();
        session
            .append((0..6).map(|n| message(&n.to_string())).collect())
            .await
            .unwrap();
        let honest = session.project::<Trace>().await.unwrap();
        let name: Kind = Trace::NAME.parse().unwrap();
        let forged = |covers: u64, log: Sum, version, state: &'static str| Snapshot {
            projection: name.clone(),
            version,
            covers: SeqNum::new(covers),
            log,
            state: state.into(),
        };
        let third = session.event(SeqNum::new(2)).await.unwrap().sum;
        for wrong in [
            forged(6, Sum::from_u64(1), 3, r#"["foreign"]"#),
            forged(7, honest.head.sum, 3, r#"["ahead"]"#),
            forged(6, honest.head.sum, 2, r#"["another version"]"#),
            forged(6, honest.head.sum, 3, "not json"),
            forged(4, third, 3, r#"["one event ahead"]"#),
            forged(0, honest.head.sum, 3, r#"["empty"]"#),
        ] {
            save(&session, &backend, wrong).await;
            let projected = session.project::<Trace>().await.unwrap();
            assert_eq!(projected.state, honest.state);
        }
    });
}

#[test]
fn a_stored_snapshot_with_any_byte_changed_is_not_one() {
    let snapshot = Snapshot {
        projection: Kind::from_static("trace"),
        version: 1,
        covers: SeqNum::new(12),
        log: Sum::from_u64(7),
        state: r#"{"a":1}"#.into(),
    };
    let bytes = snapshot.to_bytes();
    assert_eq!(Snapshot::from_bytes(&bytes).unwrap(), snapshot);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.to_vec();
            changed[at] ^= 1 << bit;
            assert!(
                Snapshot::from_bytes(&changed.into()).is_err(),
                "byte {at} bit {bit}"
            );
        }
        assert!(
            Snapshot::from_bytes(&bytes.slice(..at)).is_err(),
            "cut at {at}"
        );
    }
}
