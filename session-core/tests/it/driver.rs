//! What a writer promises beside its appends: its token goes with all that it does, its card is brought
//! up to date, and its lease is given back.

use futures_util::{StreamExt, stream};
use pollster::block_on;
use sessionlog_core::*;

use crate::wrapper::message;

const CARD: Kind = Kind::from_static("card");

fn session(memory: &Memory) -> Session {
    block_on(Store::new(memory.clone()).create("s".parse().unwrap())).unwrap()
}

fn request(name: &str) -> LeaseRequest {
    LeaseRequest::new(Owner::new(name).unwrap())
}

fn content(text: &'static str) -> Pieces {
    stream::iter([Ok(text.into())]).boxed()
}

/// How much of the log the newest saved card covers.
fn carded(memory: &Memory) -> Option<u64> {
    block_on(memory.scan(&CARD, Card::VERSION).collect::<Vec<_>>())
        .into_iter()
        .map(|found| found.unwrap().1.covers.get())
        .max()
}

fn payload(bytes: usize) -> NewEvent {
    let data = Data::from_json(format!("\"{}\"", "x".repeat(bytes - 2))).unwrap();
    NewEvent::new(Kind::from_static("x"), data)
}

#[test]
fn a_writer_knows_where_the_log_ended_when_it_came() {
    let session = session(&Memory::new());
    block_on(session.append(vec![message("a"), message("b")])).unwrap();
    let writer = block_on(session.acquire(request("one"))).unwrap();
    assert_eq!(writer.tail_at_grant(), SeqNum::new(2));
    assert_eq!(writer.session().id(), session.id());
    assert_eq!(writer.token(), FencingToken::new(1));
    assert_eq!(
        block_on(writer.append_one(message("c"))).unwrap(),
        SeqNum::new(2)
    );
    assert_eq!(writer.tail_at_grant(), SeqNum::new(2));
    let two = vec![message("d"), message("e")];
    assert_eq!(
        block_on(writer.append(two)).unwrap(),
        SeqNum::new(3)..SeqNum::new(5)
    );
    let wrong = block_on(writer.append_at(SeqNum::new(4), vec![message("f")]));
    assert!(matches!(wrong.unwrap_err().kind(), ErrorKind::Conflict { tail } if tail.get() == 5));
    let right = block_on(writer.append_at(SeqNum::new(5), vec![message("f")])).unwrap();
    assert_eq!(right, SeqNum::new(5)..SeqNum::new(6));
    let wrong = block_on(session.append_at(SeqNum::new(5), vec![message("g")]));
    assert!(matches!(wrong.unwrap_err().kind(), ErrorKind::Conflict { tail } if tail.get() == 6));
    let right = block_on(session.append_at(SeqNum::new(6), vec![message("g")])).unwrap();
    assert_eq!(right, SeqNum::new(6)..SeqNum::new(7));
    assert_eq!(block_on(session.tail()).unwrap(), SeqNum::new(7));
}

#[test]
fn whoever_was_replaced_can_do_nothing_more() {
    let session = session(&Memory::new());
    let old = block_on(session.acquire(request("old"))).unwrap();
    block_on(old.append_one(message("a"))).unwrap();
    block_on(old.renew(std::time::Duration::from_secs(1))).unwrap();
    let info = block_on(old.put_blob_pieces(content("mine"))).unwrap();
    assert_eq!(block_on(session.blobs()).unwrap(), [info]);
    let projected = block_on(session.project::<Card>()).unwrap();

    let held = block_on(session.acquire(request("second"))).unwrap_err();
    assert!(matches!(held.kind(), ErrorKind::LeaseHeld { .. }), "{held}");
    let _new = block_on(session.acquire(request("new").forced())).unwrap();
    let fenced = |outcome: Result<()>| {
        let error = outcome.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Fenced { .. }), "{error}");
    };
    fenced(block_on(old.append_one(message("b"))).map(drop));
    fenced(block_on(old.append(vec![message("b")])).map(drop));
    fenced(block_on(old.append_at(SeqNum::new(1), vec![message("b")])).map(drop));
    fenced(block_on(old.renew(std::time::Duration::from_secs(1))));
    fenced(block_on(old.put_blob_pieces(content("late"))).map(drop));
    fenced(block_on(old.save(&projected)));
    fenced(block_on(old.save_card()));
    assert_eq!(block_on(session.tail()).unwrap(), SeqNum::new(1));
}

#[test]
fn a_release_saves_the_card_and_frees_the_session() {
    let memory = Memory::new();
    let session = session(&memory);
    let writer = block_on(session.acquire(request("idle"))).unwrap();
    assert!(matches!(
        block_on(session.holder()).unwrap(),
        Liveness::Live(Some(_))
    ));
    block_on(writer.release()).unwrap();
    assert_eq!(block_on(session.holder()).unwrap(), Liveness::Idle);
    assert_eq!(carded(&memory), None);

    block_on(session.append(vec![message("from outside")])).unwrap();
    let writer = block_on(session.acquire(request("idle"))).unwrap();
    block_on(writer.release()).unwrap();
    assert_eq!(
        carded(&memory),
        None,
        "who wrote nothing has no card to save"
    );

    let writer = block_on(session.acquire(request("busy"))).unwrap();
    block_on(writer.append_one(message("b"))).unwrap();
    assert_eq!(carded(&memory), None);
    block_on(writer.release()).unwrap();
    assert_eq!(carded(&memory), Some(2));
}

#[test]
fn a_card_is_saved_each_quarter_of_a_mebibyte() {
    const EVERY: usize = 256 << 10;
    let memory = Memory::new();
    let session = session(&memory);
    let writer = block_on(session.acquire(request("busy"))).unwrap();
    let carded_after = |bytes| {
        block_on(writer.append_one(payload(bytes))).unwrap();
        carded(&memory)
    };
    assert_eq!(carded_after(EVERY - 10), None);
    assert_eq!(carded_after(9), None);
    assert_eq!(carded_after(4), Some(3));
    assert_eq!(carded_after(EVERY - 1), Some(3));
    assert_eq!(carded_after(EVERY), Some(5));
    assert_eq!(carded_after(EVERY), Some(6));
    assert_eq!(carded_after(EVERY - 1), Some(6));
    block_on(writer.release()).unwrap();
    assert_eq!(carded(&memory), Some(7));
}

#[test]
fn a_session_gives_its_blobs_and_single_events() {
    let session = session(&Memory::new());
    let info = block_on(session.put_blob("one")).unwrap();
    assert_eq!(info.len, 3);
    let other = block_on(session.put_blob_pieces(content("other"))).unwrap();
    let mut blobs = block_on(session.blobs()).unwrap();
    blobs.sort_by_key(|blob| blob.len);
    assert_eq!(blobs, [info, other]);
    let read = block_on(
        session
            .blob(info.id, 1..9)
            .map(|piece| piece.unwrap())
            .collect::<Vec<_>>(),
    );
    assert_eq!(read.concat(), b"ne");

    let events = vec![message("a"), message("b"), message("c")];
    block_on(session.append(events.clone())).unwrap();
    assert!(
        block_on(session.event(SeqNum::new(1)))
            .unwrap()
            .holds(&events[1])
    );
    assert!(
        block_on(session.event(SeqNum::new(3)))
            .unwrap_err()
            .is_not_found()
    );
    let last = block_on(block_on(session.last(2)).unwrap().collect()).unwrap();
    assert_eq!(last.iter().map(|e| e.seq.get()).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_handle_of_a_deleted_life_does_not_see_the_next() {
    let store = Store::new(Memory::new());
    let old = block_on(store.create("s".parse().unwrap())).unwrap();
    block_on(store.delete(old.id())).unwrap();
    let new = block_on(store.create("s".parse().unwrap())).unwrap();
    assert_ne!(old.incarnation(), new.incarnation());
    assert!(block_on(old.head()).unwrap_err().is_not_found());
    assert!(block_on(old.tail()).unwrap_err().is_not_found());
    assert!(
        block_on(old.read(SeqNum::all()).collect())
            .unwrap_err()
            .is_not_found()
    );
    assert_eq!(block_on(new.tail()).unwrap(), SeqNum::ZERO);
}
