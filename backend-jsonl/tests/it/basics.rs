//! The contract on whole files.

use crate::util::*;
use sessionlog_backend_jsonl::{Jsonl, Options};

#[test]
fn appends_are_read_back_byte_for_byte() {
    let (_dir, store, session) = with_events(0);
    assert_eq!(tail(&store, &session), 0);
    let first = append(&store, &session, &["{ \"a\": 1e400 }"]).unwrap();
    assert_eq!(first, SeqNum::ZERO..SeqNum::new(1));
    let pretty = "{\n  \"b\": [1,\r\n\t2, \"\\n\\\\\"]\n}";
    let second = append(&store, &session, &[pretty, "null", "\"\u{2028}\""]).unwrap();
    assert_eq!(second, SeqNum::new(1)..SeqNum::new(4));
    let events = read(&store, &session).unwrap();
    assert_eq!(
        texts(&events),
        ["{ \"a\": 1e400 }", pretty, "null", "\"\u{2028}\""]
    );
    let again = Jsonl::open(store.path(), Options::default()).unwrap();
    assert_eq!(read(&again, &session).unwrap(), events);
    assert_eq!(tail(&again, &session), 4);
}

#[test]
fn every_slice_is_what_it_should_be() {
    let (_dir, store, session) = with_events(0);
    let mut all = Vec::new();
    for i in 0_u64..300 {
        let pad = "x".repeat(if i % 50 == 7 { 40_000 } else { 20 });
        all.push(event(&format!("{{\"n\":{i},\"pad\":\"{pad}\"}}")));
    }
    for batch in all.chunks(7) {
        block_on(store.append(&session, batch.to_vec(), NONE)).unwrap();
    }
    let whole = read(&store, &session).unwrap();
    assert_eq!(whole.len(), 300);
    for start in (0..=300).step_by(13) {
        for end in [start, start + 1, start + 60, 300, u64::MAX] {
            let range = SeqNum::new(start)..SeqNum::new(end);
            let slice = read_range(&store, &session, range).unwrap();
            let expected = &whole[start as usize..(end.min(300) as usize).max(start as usize)];
            assert_eq!(slice, expected, "{start}..{end}");
        }
    }
}

#[test]
fn conditions_conflicts_and_repeats() {
    let (_dir, store, session) = with_events(3);
    let at = |n| AppendCondition::at(SeqNum::new(n));
    let late = block_on(store.append(&session, vec![event("1")], at(2))).unwrap_err();
    assert_eq!(
        *late.kind(),
        ErrorKind::Conflict {
            tail: SeqNum::new(3)
        }
    );
    let batch = vec![event("1"), event("2")];
    let first = block_on(store.append(&session, batch.clone(), at(3))).unwrap();
    for handle in [
        store.clone(),
        Jsonl::open(store.path(), Options::default()).unwrap(),
    ] {
        let again = block_on(handle.append(&session, batch.clone(), at(3))).unwrap();
        assert_eq!(again, first);
        let mut other = batch.clone();
        other[1].data = Data::from_json("7").unwrap();
        let error = block_on(handle.append(&session, other, NONE)).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::InvalidInput);
    }
    let empty = block_on(store.append(&session, Vec::new(), at(5))).unwrap();
    assert_eq!(empty, SeqNum::new(5)..SeqNum::new(5));
    let taken = block_on(store.create(&SessionRef::fresh(id("s")))).unwrap_err();
    assert_eq!(
        *taken.kind(),
        ErrorKind::Conflict {
            tail: SeqNum::new(5)
        }
    );
}

#[test]
fn two_handles_append_in_turn() {
    let (_dir, one, session) = with_events(0);
    let two = Jsonl::open(one.path(), Options::default().write_ahead(10_000)).unwrap();
    for i in 0..40 {
        let store = if i % 3 == 0 { &one } else { &two };
        append(store, &session, &["1", "2"]).unwrap();
        assert_eq!(tail(&one, &session), 2 * i + 2);
        assert_eq!(tail(&two, &session), 2 * i + 2);
    }
    assert_eq!(read(&one, &session).unwrap().len(), 80);
}

/// A read moves a handle on without the ids of what it passes: those of the log before them must not be
/// taken for all that there are.
#[test]
fn a_repeat_of_what_another_handle_wrote_and_a_read_passed_is_known() {
    let (dir, one, session) = with_events(1);
    let two = open(&dir);
    append(&one, &session, &["1"]).unwrap();
    let batch = vec![event("2")];
    let range = block_on(two.append(&session, batch.clone(), NONE)).unwrap();
    assert_eq!(tail(&one, &session), 3);
    append(&two, &session, &["3"]).unwrap();
    assert_eq!(block_on(one.append(&session, batch, NONE)).unwrap(), range);
    assert_eq!(texts(&read(&one, &session).unwrap())[1..], ["1", "2", "3"]);
}

/// The end of a log that grew by more than 4 MiB is looked for from behind.
#[test]
fn a_handle_goes_on_behind_more_than_it_reads_through() {
    let (dir, one, session) = with_events(2);
    let two = open(&dir);
    let long = format!("\"{}\"", "x".repeat(5 << 20));
    append(&two, &session, &[&long]).unwrap();
    append(&one, &session, &["3"]).unwrap();
    append(&two, &session, &["4"]).unwrap();
    assert_eq!(texts(&read(&one, &session).unwrap())[3..], ["3", "4"]);
}

#[test]
fn a_deleted_life_stays_deleted() {
    let (dir, store, old) = with_events(2);
    let other = open(&dir);
    assert_eq!(tail(&other, &old), 2);
    block_on(store.delete(&old, None)).unwrap();
    for handle in [&store, &other] {
        assert!(append(handle, &old, &["1"]).unwrap_err().is_not_found());
        assert!(read(handle, &old).unwrap_err().is_not_found());
        assert!(block_on(handle.head(&old.id)).unwrap_err().is_not_found());
    }
    let new = SessionRef::fresh(old.id.clone());
    block_on(store.create(&new)).unwrap();
    for handle in [&store, &other] {
        assert!(append(handle, &old, &["1"]).unwrap_err().is_not_found());
        assert!(
            block_on(handle.delete(&old, None))
                .unwrap_err()
                .is_not_found()
        );
        assert_eq!(block_on(handle.head(&old.id)).unwrap().0, new);
    }
}
