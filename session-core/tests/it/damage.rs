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
    assert_eq!(read_with(|_| {}, 11).unwrap(), 0);
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

/// A session of ten events, and a second store on it whose reads `tamper` changes.
fn tampered(tamper: impl Fn(&mut Vec<Event>) + Send + Sync + 'static) -> (Session, Session, Store) {
    pollster::block_on(async {
        let backend = Wrapper::default();
        let session = (Store::new(backend.clone()).create("s".parse().unwrap())).await;
        let session = session.unwrap();
        let events = (0..10).map(|n| message(&n.to_string())).collect();
        session.append(events).await.unwrap();
        let store = Store::new(backend.tampered(tamper));
        let other = store.open(session.id()).await.unwrap();
        (session, other, store)
    })
}

fn collected(session: &Session, from: u64, to: u64) -> Result<Vec<Event>> {
    let range = SeqNum::new(from)..SeqNum::new(to);
    pollster::block_on(session.read(range).collect())
}

#[test]
fn a_slice_is_checked_at_both_ends() {
    let (_, same, _) = tampered(|_| {});
    for (from, to) in [(0, 5), (3, 7), (9, 10), (10, 10), (7, 3), (11, 12)] {
        let slice = collected(&same, from, to).unwrap();
        let seqs: Vec<_> = slice.iter().map(|event| event.seq.get()).collect();
        assert_eq!(seqs, (from..to.min(10)).collect::<Vec<_>>());
    }
    let (_, short, _) = tampered(|events| drop(events.pop()));
    assert_eq!(place(collected(&short, 3, 7).map(|_| 0)), 6);
}

#[test]
fn what_was_not_asked_for_is_not_handed_out() {
    let (session, _, _) = tampered(|_| {});
    let fifth = collected(&session, 5, 6).unwrap().remove(0);
    let (_, more, _) = tampered(move |events| events.push(fifth.clone()));
    // Another life's event is no continuation; one that is would come from behind the range.
    assert_eq!(place(collected(&more, 0, 5).map(|_| 0)), 5);

    let behind = std::sync::Arc::new(std::sync::OnceLock::<Event>::new());
    let found = std::sync::Arc::clone(&behind);
    let (session, more, _) = tampered(move |events| events.extend(found.get().cloned()));
    behind
        .set(collected(&session, 5, 6).unwrap().remove(0))
        .unwrap();
    let error = collected(&more, 0, 5).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Internal, "{error}");
}

#[test]
fn a_last_event_that_is_whole_and_not_the_one_at_the_tail_is_found() {
    let (_, other, _) = tampered(|events| {
        if let [.., before, last] = &mut events[..] {
            *last = Head::after(before).seal(message("another"));
        }
    });
    assert_eq!(place(collected(&other, 0, 10).map(|_| 0)), 9);
    assert_eq!(place(collected(&other, 5, 10).map(|_| 0)), 9);
}

#[test]
fn a_look_at_a_whole_log_finds_its_first_damage() {
    let found = |tamper: fn(&mut Vec<Event>)| {
        let (session, _, store) = tampered(tamper);
        pollster::block_on(store.backend().verify(session.id())).unwrap()
    };
    assert!(found(|_| {}).is_empty());
    let changed = found(|events| {
        let whole = events.iter_mut().skip(4);
        whole.for_each(|event| event.at = Timestamp::EPOCH);
    });
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0].severity, Severity::Damage);
    assert_eq!(changed[0].place.seq, Some(SeqNum::new(4)));
    let short = found(|events| events.truncate(6));
    assert_eq!(short[0].place.seq, Some(SeqNum::new(6)));
    let (_, _, store) = tampered(|_| {});
    let nobody = pollster::block_on(store.backend().verify(&"nobody".parse().unwrap()));
    assert!(nobody.unwrap_err().is_not_found());
}

#[test]
fn no_chunk_is_empty() {
    let (_, first, _) = tampered(|events| {
        let first = events.iter_mut().filter(|event| event.seq.get() == 3);
        first.for_each(|event| event.at = Timestamp::EPOCH);
    });
    let mut read = first.read(SeqNum::new(3)..SeqNum::new(10));
    let chunk = pollster::block_on(read.next_chunk()).unwrap();
    assert_eq!(place(chunk.map(|_| 0)), 3);
}
