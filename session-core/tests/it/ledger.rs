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

fn ledger() -> Ledger {
    let session = SessionRef::fresh("s".parse().unwrap());
    Ledger::new(Head::genesis(&session.id, session.incarnation))
}

fn write(ledger: &mut Ledger, id: u128) -> Event {
    let none = FencingToken::NONE;
    let batch = vec![event(id)];
    match ledger.admit(batch, AppendCondition::NONE, &Limits::DEFAULT, none, &[]) {
        Ok(Admission::Write(mut stored)) => stored.remove(0),
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_a_token_of_the_newest_grant_may_write() {
    let [old, newest, never] = [1, 2, 3].map(FencingToken::new);
    fence(None, newest).unwrap();
    fence(Some(newest), newest).unwrap();
    let error = fence(Some(old), newest).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Fenced { token: newest });
    let error = fence(Some(never), newest).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidInput);

    let mut ledger = ledger();
    let condition = AppendCondition::with(old);
    let refused = ledger.admit(vec![event(1)], condition, &Limits::DEFAULT, newest, &[]);
    assert!(matches!(
        refused.unwrap_err().kind(),
        ErrorKind::Fenced { .. }
    ));
    assert_eq!(ledger.head().tail, SeqNum::ZERO);
}

#[test]
fn a_batch_for_another_tail_is_refused_with_the_tail() {
    let mut ledger = ledger();
    write(&mut ledger, 1);
    let at = |tail| AppendCondition::at(SeqNum::new(tail));
    let mut admit = |id, tail| {
        ledger.admit(
            vec![event(id)],
            at(tail),
            &Limits::DEFAULT,
            FencingToken::NONE,
            &[],
        )
    };
    for wrong in [0, 2] {
        let error = admit(2, wrong).unwrap_err();
        assert_eq!(
            *error.kind(),
            ErrorKind::Conflict {
                tail: SeqNum::new(1)
            }
        );
    }
    assert!(matches!(admit(2, 1), Ok(Admission::Write(_))));
}

#[test]
fn what_must_be_read_is_as_little_as_can_be_known() {
    let mut ledger = ledger();
    for id in [10, 30, 20] {
        write(&mut ledger, id);
    }
    let wanted = |ledger: &Ledger, ids: &[u128]| {
        let batch: Vec<_> = ids.iter().copied().map(event).collect();
        ledger
            .wanted(&batch)
            .map(|wanted| wanted.range.start.get()..wanted.range.end.get())
    };
    // Of a log that the ledger saw from its first event on, all is known.
    assert_eq!(wanted(&ledger, &[31]), None);
    assert_eq!(wanted(&ledger, &[5, 25]), None);
    assert_eq!(wanted(&ledger, &[30]), Some(1..2));
    assert_eq!(wanted(&ledger, &[20, 10]), Some(0..3));
    assert_eq!(wanted(&ledger, &[30, 99, 20]), Some(1..3));
    // Of one that it found, only what is larger than all is new.
    let mut found = Ledger::new(ledger.head());
    assert_eq!(wanted(&found, &[31]), None);
    assert_eq!(wanted(&found, &[30]), Some(0..3));
    assert_eq!(wanted(&found, &[5]), Some(0..3));
    // Another process appended.
    let theirs = write(&mut ledger, 40);
    found.advance(&theirs);
    assert_eq!(found.head(), ledger.head());
    assert_eq!(wanted(&found, &[40]), Some(3..4));
    assert_eq!(wanted(&found, &[35]), None);
    assert_eq!(wanted(&found, &[30]), Some(0..4));
}

#[test]
fn an_event_that_was_not_asked_for_is_no_repeat() {
    let mut ledger = ledger();
    let other = write(&mut ledger, 7);
    let wanted = ledger.wanted(&[event(7), event(8)]).unwrap();
    assert!(wanted.matches(&other));
    assert!(
        !ledger
            .wanted(&[event(7)])
            .unwrap()
            .matches(&write(&mut ledger, 9))
    );
    let none = FencingToken::NONE;
    let batch = vec![event(8)];
    let admitted = ledger.admit(
        batch,
        AppendCondition::NONE,
        &Limits::DEFAULT,
        none,
        &[other],
    );
    assert!(matches!(admitted, Ok(Admission::Write(_))));
}

/// The ids of 4,096 events are remembered, and not one more.
#[test]
fn the_window_forgets_the_oldest_first() {
    let mut ledger = ledger();
    for id in 1..=4096 {
        write(&mut ledger, id * 2);
    }
    let range = |ledger: &Ledger, id| ledger.wanted(&[event(id)]).map(|wanted| wanted.range);
    let whole = SeqNum::ZERO..SeqNum::new(4096);
    assert_eq!(range(&ledger, 1), None);
    assert_eq!(range(&ledger, 2), Some(SeqNum::ZERO..SeqNum::new(1)));
    write(&mut ledger, 4097 * 2);
    assert_eq!(range(&ledger, 1), Some(whole.start..SeqNum::new(4097)));
    assert_eq!(range(&ledger, 2), Some(whole.start..SeqNum::new(4097)));
    assert_eq!(range(&ledger, 3), None);
    assert_eq!(range(&ledger, 4), Some(SeqNum::new(1)..SeqNum::new(2)));
}

#[test]
fn a_batch_of_its_limits_passes_and_a_larger_one_does_not() {
    let limits = Limits::default()
        .with_event_bytes(4)
        .with_batch_events(3)
        .with_batch_bytes(9);
    let default = Limits::default();
    assert_eq!(
        (default.event_bytes, default.batch_events),
        (16 << 20, 10_000)
    );
    assert_eq!(default.batch_bytes, 64 << 20);
    let batch = |sizes: &[usize]| -> Vec<NewEvent> {
        let of = |(n, size): (usize, &usize)| NewEvent {
            data: Data::from_json("1".repeat(*size)).unwrap(),
            ..event(n as u128 + 1)
        };
        sizes.iter().enumerate().map(of).collect()
    };
    for (sizes, says) in [
        (&[4_usize, 4, 1][..], None),
        (&[1, 1, 1], None),
        (&[1, 1, 1, 1], Some("4 events, at most 3")),
        (&[1, 5], Some("event 1 of the batch has 5 bytes, at most 4")),
        (&[4, 4, 2], Some("10 bytes, at most 9")),
        (&[], None),
    ] {
        let checked = limits.check(&batch(sizes));
        match says {
            None => checked.unwrap(),
            Some(says) => {
                let error = checked.unwrap_err();
                assert_eq!(*error.kind(), ErrorKind::InvalidInput);
                assert!(error.message().contains(says), "{error}");
            }
        }
    }
    let none = FencingToken::NONE;
    let refused = ledger().admit(batch(&[5]), AppendCondition::NONE, &limits, none, &[]);
    assert!(refused.is_err());
}

#[test]
fn who_drives_is_named_to_who_comes_second() {
    let owner = Owner::new("somebody").unwrap();
    let holder = Holder::new(owner, FencingToken::new(3), Timestamp::EPOCH);
    let error = held_error(holder.clone(), Some(Timestamp::EPOCH));
    assert!(error.message().contains("somebody"), "{error}");
    let expires_at = Some(Timestamp::EPOCH);
    assert_eq!(*error.kind(), ErrorKind::LeaseHeld { holder, expires_at });
}
