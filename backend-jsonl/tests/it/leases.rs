//! Leases and tokens.

use std::fs;

use crate::util::*;
use sessionlog_backend_jsonl::{Jsonl, Options};

#[test]
fn one_holder_at_a_time_and_tokens_grow() {
    let (_dir, store, session) = with_events(1);
    let other = Jsonl::open(store.path(), Options::default()).unwrap();
    assert_eq!(block_on(other.holder(&session)).unwrap(), Liveness::Idle);
    for n in 1..6 {
        let mut lease = block_on(store.acquire(&session, request("me"))).unwrap();
        assert_eq!(lease.token.get(), n);
        let error = block_on(other.acquire(&session, request("you"))).unwrap_err();
        let ErrorKind::LeaseHeld { holder, .. } = error.kind() else {
            panic!("{error}");
        };
        assert_eq!((holder.owner.as_str(), holder.token.get()), ("me", n));
        let before = everything(store.path());
        let live = block_on(other.holder(&session)).unwrap();
        assert!(matches!(live, Liveness::Live(Some(h)) if h.owner.as_str() == "me"));
        assert_eq!(everything(store.path()), before);
        block_on(store.renew(&mut lease, std::time::Duration::ZERO)).unwrap();
        if n % 2 == 0 {
            block_on(store.release(&lease)).unwrap();
            block_on(other.release(&lease)).unwrap();
            assert!(block_on(store.renew(&mut lease, std::time::Duration::ZERO)).is_err());
        }
        drop(lease);
        assert_eq!(block_on(other.holder(&session)).unwrap(), Liveness::Idle);
    }
}

#[test]
fn a_holder_that_was_replaced_can_do_nothing_and_frees_nothing() {
    let (_dir, store, session) = with_events(1);
    let other = Jsonl::open(store.path(), Options::default()).unwrap();
    let old = block_on(store.acquire(&session, request("old"))).unwrap();
    let new = block_on(other.acquire(&session, request("new").forced())).unwrap();
    let with = |token| AppendCondition::with(token);
    let late = block_on(store.append(&session, vec![event("1")], with(old.token)));
    assert!(matches!(late.unwrap_err().kind(), ErrorKind::Fenced { token } if *token == new.token));
    assert!(block_on(store.delete(&session, Some(old.token))).is_err());
    block_on(store.release(&old)).unwrap();
    assert!(matches!(
        block_on(store.acquire(&session, request("third"))).unwrap_err().kind(),
        ErrorKind::LeaseHeld { holder, .. } if holder.owner.as_str() == "new"
    ));
    block_on(other.append(&session, vec![event("2")], with(new.token))).unwrap();
    // A plain append is anybody's.
    append(&store, &session, &["3"]).unwrap();
    assert!(matches!(
        block_on(store.delete(&session, None)).unwrap_err().kind(),
        ErrorKind::LeaseHeld { .. }
    ));
    let never = block_on(store.append(&session, vec![event("1")], with(new.token.next())));
    assert_eq!(*never.unwrap_err().kind(), ErrorKind::InvalidInput);
    block_on(other.delete(&session, Some(new.token))).unwrap();
}

#[test]
fn tokens_never_go_back_whatever_happens_to_their_file() {
    for damaged in 0..2 {
        let (_dir, store, session) = with_events(1);
        let path = store.path().join("s/lease.json");
        let mut last = 0;
        for _ in 0..3 {
            let lease = block_on(store.acquire(&session, request("me"))).unwrap();
            assert!(lease.token.get() > last);
            last = lease.token.get();
            let bytes = fs::read(&path).unwrap();
            let mut changed = bytes.clone();
            changed[damaged * 1024 + 10] ^= 1;
            fs::write(&path, &changed).unwrap();
            assert!(block_on(store.acquire(&session, request("you"))).is_err());
            let live = block_on(store.holder(&session)).unwrap();
            assert!(matches!(live, Liveness::Live(_)), "{live:?}");
            let found = block_on(store.verify(&session.id)).unwrap();
            assert_eq!(found.len(), 1, "{found:?}");
        }
        // Both damaged, or the file lost.
        for content in [Some(vec![0; 2048]), Some(Vec::new()), None] {
            match content {
                Some(content) => fs::write(&path, content).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            assert!(
                block_on(store.acquire(&session, request("me")))
                    .unwrap_err()
                    .is_corrupt()
            );
            append(&store, &session, &["1"]).unwrap();
            block_on(store.repair(&session.id, true)).unwrap();
            let lease = block_on(store.acquire(&session, request("me"))).unwrap();
            assert!(lease.token.get() > last);
            last = lease.token.get();
        }
    }
}

#[test]
fn lease_files_of_the_dead_hold_nothing() {
    let (_dir, store, session) = with_events(1);
    drop(block_on(store.acquire(&session, request("dead"))).unwrap());
    fs::write(store.path().join("s/lease.lock"), "pid 1").unwrap();
    fs::write(store.path().join("s/append.lock"), "pid 1").unwrap();
    assert_eq!(block_on(store.holder(&session)).unwrap(), Liveness::Idle);
    let lease = block_on(store.acquire(&session, request("me"))).unwrap();
    block_on(store.append(
        &session,
        vec![event("1")],
        AppendCondition::with(lease.token),
    ))
    .unwrap();
}
