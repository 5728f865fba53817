//! Disks that are full, or fail, at every call there is.

use std::cell::Cell;
use std::io;

use pollster::block_on;
use sessionlog_core::*;

use super::Call;
use crate::{Options, Redb};

thread_local! {
    /// Calls until the fault, and how many calls fail then.
    static PLAN: Cell<Option<(Kinds, u32, u32)>> = const { Cell::new(None) };
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kinds {
    Full,
    FailedFlush,
}

pub(super) fn fault(call: Call) -> io::Result<()> {
    let Some((kind, wait, times)) = PLAN.get() else {
        return Ok(());
    };
    let hit = match kind {
        Kinds::Full => call == Call::Write,
        Kinds::FailedFlush => call == Call::Flush,
    };
    if !hit {
        return Ok(());
    }
    if wait > 0 {
        PLAN.set(Some((kind, wait - 1, times)));
        return Ok(());
    }
    PLAN.set((times > 1).then_some((kind, 0, times - 1)));
    Err(match kind {
        Kinds::Full => io::ErrorKind::StorageFull.into(),
        Kinds::FailedFlush => io::Error::other("the flush failed"),
    })
}

fn event(n: u64) -> NewEvent {
    NewEvent::json(Kind::from_static("note"), format!("{{\"n\":{n}}}")).unwrap()
}

fn put(store: &Redb, session: &SessionRef, new: &NewEvent) -> Result<std::ops::Range<SeqNum>> {
    block_on(store.append(session, vec![new.clone()], AppendCondition::NONE))
}

fn all(store: &Redb, session: &SessionRef) -> Vec<EventId> {
    use futures_util::TryStreamExt;
    let events: Vec<_> = block_on(store.read(session, SeqNum::all()).try_concat()).unwrap();
    let mut head = Head::genesis(&session.id, session.incarnation);
    for event in &events {
        head.verify(&session.id, event).unwrap();
    }
    events.iter().map(|e| e.id).collect()
}

/// A fault at the n-th call of an append, for every n until none is hit.
fn at_every_call(options: &Options, kind: Kinds, times: u32) {
    for wait in 0.. {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.redb");
        let store = Redb::open(&path, options.clone()).unwrap();
        let session = SessionRef::fresh("s".parse().unwrap());
        block_on(store.create(&session)).unwrap();
        let (first, second, third) = (event(1), event(2), event(3));
        put(&store, &session, &first).unwrap();

        PLAN.set(Some((kind, wait, times)));
        let outcome = put(&store, &session, &second);
        let untouched = PLAN
            .take()
            .is_some_and(|(_, left, _)| left > 0 || outcome.is_ok());
        let there = all(&store, &session).contains(&second.id);
        match &outcome {
            Ok(_) => assert!(there),
            Err(error) => match error.kind() {
                ErrorKind::Unavailable => assert!(!there, "{kind:?} {wait}: {error:?}"),
                ErrorKind::Indeterminate => {}
                other => panic!("{kind:?} {wait}: {other:?}"),
            },
        }
        // The fault is gone: the same append again settles it, and the next one works.
        put(&store, &session, &second).unwrap();
        put(&store, &session, &third).unwrap();
        let expected = vec![first.id, second.id, third.id];
        assert_eq!(all(&store, &session), expected, "{kind:?} {wait}");
        drop(store);
        let again = Redb::open(&path, options.clone()).unwrap();
        assert_eq!(all(&again, &session), expected, "{kind:?} {wait}");
        if untouched {
            assert!(outcome.is_ok() && wait > 0);
            return;
        }
    }
}

#[test]
fn a_full_disk_at_any_write_loses_nothing_and_the_next_append_works() {
    at_every_call(&Options::default(), Kinds::Full, 1);
    at_every_call(&Options::default().exclusive(), Kinds::Full, 1);
}

#[test]
fn a_disk_that_stays_full_for_long_loses_nothing() {
    at_every_call(&Options::default(), Kinds::Full, 50);
    at_every_call(&Options::default().exclusive(), Kinds::Full, 50);
}

#[test]
fn a_failed_flush_is_told_and_the_next_append_works() {
    at_every_call(&Options::default(), Kinds::FailedFlush, 1);
    at_every_call(&Options::default(), Kinds::FailedFlush, 3);
    at_every_call(&Options::default().exclusive(), Kinds::FailedFlush, 1);
    at_every_call(&Options::default().exclusive(), Kinds::FailedFlush, 3);
}
