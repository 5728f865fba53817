//! The core finds what a backend hands out wrongly, whatever the backend (G4, G15).

use crate::wrapper::{Wrapper, message};
use sessionlog_core::*;

fn read_with(tamper: impl Fn(&mut Vec<Event>) + Send + Sync + 'static, from: u64) -> Result<u64> {
    pollster::block_on(async {
        let backend = Wrapper::default();
        let store = Store::new(backend.clone());
        let session = store.create("s".parse().unwrap()).await.unwrap();
        let events = (0..10).map(|n| message(&n.to_string())).collect();
        session.append(events).await.unwrap();
        let store = Store::new(backend.tampered(tamper));
        let session = store.open(session.id()).await?;
        Ok(session
            .read(SeqNum::new(from)..SeqNum::MAX)
            .collect()
            .await?
            .len() as u64)
    })
}

fn place(outcome: Result<u64>) -> u64 {
    let error = outcome.unwrap_err();
    match error.kind() {
        ErrorKind::Corrupt { place } => place.seq.unwrap().get(),
        other => panic!("{other:?}: {error}"),
    }
}

#[test]
fn an_honest_backend_passes() {
    assert_eq!(read_with(|_| {}, 0).unwrap(), 10);
    assert_eq!(read_with(|_| {}, 7).unwrap(), 3);
    assert_eq!(read_with(|_| {}, 10).unwrap(), 0);
    assert_eq!(read_with(|_| {}, 99).unwrap(), 0);
}

#[test]
fn every_changed_field_is_found_at_its_place() {
    let changes: [fn(&mut Event); 6] = [
        |e| e.data = Data::from_json("{}").unwrap(),
        |e| e.kind = Kind::from_static("notice"),
        |e| e.at = Timestamp::EPOCH,
        |e| e.id = EventId::generate(),
        |e| e.sum = Sum::from_u64(e.sum.as_u64() ^ 1),
        |e| e.top = Some(EventId::MIN),
    ];
    for change in changes {
        let outcome = read_with(
            move |events| {
                events
                    .iter_mut()
                    .filter(|e| e.seq.get() == 4)
                    .for_each(change);
            },
            0,
        );
        assert_eq!(place(outcome), 4);
    }
}

#[test]
fn missing_doubled_swapped_and_lost_events_are_found() {
    assert_eq!(place(read_with(|e| drop(e.remove(4)), 0)), 4);
    assert_eq!(place(read_with(|e| e.insert(4, e[4].clone()), 0)), 5);
    assert_eq!(place(read_with(|e| e.swap(4, 5), 0)), 4);
    assert_eq!(place(read_with(|e| e.truncate(4), 0)), 4);
    assert_eq!(place(read_with(Vec::clear, 0)), 0);
    assert_eq!(place(read_with(Vec::clear, 5)), 4);
    assert_eq!(place(read_with(|e| drop(e.remove(0)), 5)), 4);
}

#[test]
fn what_is_before_the_damage_is_handed_out() {
    pollster::block_on(async {
        let backend = Wrapper::default();
        let store = Store::new(backend.clone());
        let session = store.create("s".parse().unwrap()).await.unwrap();
        let events = (0..10).map(|n| message(&n.to_string())).collect();
        session.append(events).await.unwrap();
        let store = Store::new(backend.tampered(|events| {
            let changed = events.iter_mut().filter(|e| e.seq.get() == 4);
            changed.for_each(|e| e.at = Timestamp::EPOCH);
        }));
        let session = store.open(session.id()).await.unwrap();
        let mut events = session.read(SeqNum::all());
        assert_eq!(events.next_chunk().await.unwrap().unwrap().len(), 4);
        let error = events.next_chunk().await.unwrap().unwrap_err();
        assert!(error.is_corrupt(), "{error}");
        assert!(events.next_chunk().await.is_none());
    });
}

#[test]
fn another_session_and_another_life_do_not_pass() {
    pollster::block_on(async {
        let a = SessionRef::fresh("a".parse().unwrap());
        let mut head = Head::genesis(&a.id, a.incarnation);
        let event = head.seal(message("x"));
        let other = SessionRef::fresh("b".parse().unwrap());
        let mut wrong = Head::genesis(&other.id, a.incarnation);
        assert!(wrong.verify(&other.id, &event).unwrap_err().is_corrupt());
        let mut later = Head::genesis(&a.id, other.incarnation);
        assert!(later.verify(&a.id, &event).unwrap_err().is_corrupt());
        let mut right = Head::genesis(&a.id, a.incarnation);
        right.verify(&a.id, &event).unwrap();
    });
}
