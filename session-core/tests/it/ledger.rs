//! The ledger knows every id that the log holds, by whatever way they came (G18).

use proptest::prelude::*;
use sessionlog_core::*;

fn event(id: u128) -> NewEvent {
    let data = Data::from_json(format!("{id}")).unwrap();
    NewEvent {
        id: EventId::from_bytes(id.to_be_bytes()),
        at: Timestamp::EPOCH,
        kind: Kind::from_static("message"),
        data,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Ids in any order, also beyond the window, also through a ledger made anew in between.
    #[test]
    fn no_id_is_stored_twice(
        ids in prop::collection::vec(1_u128..40, 1..200),
        padding in prop::sample::select(vec![0_u128, 5000]),
        reopen in prop::collection::vec(any::<bool>(), 200),
    ) {
        let session = SessionRef::fresh("s".parse().unwrap());
        let mut ledger = Ledger::new(Head::genesis(&session.id, session.incarnation));
        let mut log: Vec<Event> = Vec::new();
        let half = ids.len() / 2;
        let far = (0..padding).map(|n| 1_000_000 + n);
        let sequence = ids[..half].iter().copied().chain(far).chain(ids[half..].iter().copied());
        for (n, id) in sequence.enumerate() {
            if reopen.get(n) == Some(&true) {
                ledger = Ledger::new(ledger.head());
            }
            let batch = vec![event(id)];
            let stored = ledger.wanted(&batch).map_or_else(Vec::new, |wanted| {
                let seqs = wanted.range.clone();
                log.iter().filter(|e| seqs.contains(&e.seq) && wanted.matches(e)).cloned().collect()
            });
            let known = log.iter().find(|e| e.id == batch[0].id).map(|e| e.seq);
            let admitted = ledger
                .admit(batch, AppendCondition::NONE, &Limits::default(), FencingToken::NONE, &stored)
                .unwrap();
            match (admitted, known) {
                (Admission::Repeat(range), Some(seq)) => prop_assert_eq!(range.start, seq),
                (Admission::Write(sealed), None) => log.extend(sealed),
                (admitted, known) => prop_assert!(false, "{:?} {:?}", admitted, known),
            }
        }
        let mut head = Head::genesis(&session.id, session.incarnation);
        let mut top = EventId::MIN;
        for event in &log {
            head.verify(&session.id, event).unwrap();
            top = top.max(event.id);
            prop_assert_eq!(head.top, top);
        }
    }
}

#[test]
fn a_batch_that_is_stored_only_in_part_is_refused() {
    let session = SessionRef::fresh("s".parse().unwrap());
    let mut ledger = Ledger::new(Head::genesis(&session.id, session.incarnation));
    let none = (AppendCondition::NONE, Limits::default(), FencingToken::NONE);
    let mut admit = |batch: Vec<NewEvent>, stored: &[Event]| {
        ledger.admit(batch, none.0, &none.1, none.2, stored)
    };
    let Ok(Admission::Write(stored)) = admit(vec![event(1), event(2), event(3)], &[]) else {
        panic!("not written")
    };
    for (batch, part) in [
        (vec![event(3), event(4)], "1 of 2"),
        (vec![event(2), event(1)], "2 of 2"),
        (vec![event(1), event(3)], "2 of 2"),
    ] {
        let error = admit(batch, &stored).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
    let repeat = admit(vec![event(2), event(3)], &stored).unwrap();
    assert_eq!(repeat, Admission::Repeat(SeqNum::new(1)..SeqNum::new(3)));
    let error = admit(vec![event(9), event(9)], &[]).unwrap_err();
    assert!(error.to_string().contains("twice"), "{error}");
    let mut other = event(2);
    other.data = Data::from_json("{}").unwrap();
    let error = admit(vec![other], &stored).unwrap_err();
    assert!(error.to_string().contains("with other content"), "{error}");
}
