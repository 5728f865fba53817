//! What the operating system refuses is told with what to do about it.

use std::fs;
use std::time::Duration;

use crate::util::*;
use sessionlog_backend_jsonl::{Jsonl, Options};
use sessionlog_local::lock::Held;

#[test]
fn each_refusal_says_what_to_do() {
    use std::io::{Error as Os, ErrorKind as Io};
    for (kind, of, words) in [
        (
            Io::ReadOnlyFilesystem,
            ErrorKind::Unsupported,
            "make it writable",
        ),
        (
            Io::PermissionDenied,
            ErrorKind::Unsupported,
            "change the rights",
        ),
        (Io::StorageFull, ErrorKind::Unavailable, "free some space"),
        (Io::QuotaExceeded, ErrorKind::Unavailable, "free some space"),
        (Io::Interrupted, ErrorKind::Unavailable, "can't write: /x"),
    ] {
        let error = sessionlog_local::files::failed("write", "/x".as_ref())(Os::from(kind));
        assert_eq!(*error.kind(), of, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }
}

#[test]
fn a_lock_that_is_held_for_longer_than_the_busy_timeout_is_told() {
    let (dir, store, session) = with_events(1);
    let lock = dir.path().join("store/s/append.lock");
    let quick = Options::default().busy_timeout(Duration::from_millis(50));
    let quick = Jsonl::open(store.path(), quick).unwrap();
    let held = Held::whole(sessionlog_local::files::open_write(&lock).unwrap());
    let held = held.unwrap().unwrap();
    let error = append(&quick, &session, &["1"]).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable);
    assert!(
        error.to_string().contains("busy timeout of 50 ms"),
        "{error}"
    );
    drop(held);
    append(&quick, &session, &["1"]).unwrap();
    assert_eq!(tail(&quick, &session), 2);
}

/// A session is deleted only when that is asked for, whatever is wrong with it.
#[test]
fn a_damaged_session_is_deleted_when_asked_explicitly() {
    type Damage = fn(&std::path::Path);
    let damage: [(&str, Damage); 4] = [
        ("no first line", |dir| {
            let log = dir.join("events.jsonl");
            let bytes = fs::read(&log).unwrap();
            fs::write(log, &bytes[40..]).unwrap();
        }),
        ("no bytes", |dir| {
            fs::write(dir.join("events.jsonl"), "").unwrap();
        }),
        ("no log", |dir| {
            fs::remove_file(dir.join("events.jsonl")).unwrap();
        }),
        ("no token", |dir| {
            fs::write(dir.join("lease.json"), "x".repeat(2048)).unwrap();
        }),
    ];
    for (what, damage) in damage {
        let (dir, store, session) = with_events(5);
        drop(block_on(store.acquire(&session, request("me"))).unwrap());
        drop(store);
        damage(&dir.path().join("store/s"));
        let store = Store::new(open(&dir));
        let refused = block_on(store.delete(&session.id)).unwrap_err();
        assert!(refused.is_corrupt(), "{what}: {refused}");
        block_on(store.delete_damaged(&session.id)).unwrap();
        assert!(block_on(store.ids()).unwrap().is_empty(), "{what}");
        assert!(!dir.path().join("store/s").exists(), "{what}");
        assert!(
            block_on(store.delete_damaged(&session.id))
                .unwrap_err()
                .is_not_found()
        );
    }
}

/// A grant that failed has changed nothing, or says that this is not known.
#[test]
#[cfg(target_os = "linux")]
fn a_grant_of_which_something_took_effect_is_never_unavailable() {
    use sessionlog_crashfs::{Fault, FaultKind, Recorder};
    let mut unknown = 0;
    for granted in [0, 1, 2] {
        for at in 1..10 {
            let (dir, store, session) = with_events(1);
            for _ in 0..granted {
                drop(block_on(store.acquire(&session, request("before"))).unwrap());
            }
            let recorder = Recorder::with_room(dir.path(), 64 << 20).unwrap();
            recorder.inject(Fault {
                kind: FaultKind::Eio,
                at,
                lasting: false,
            });
            let got = block_on(store.acquire(&session, request("me")));
            recorder.heal();
            drop(recorder);
            let other = open(&dir);
            let next = block_on(other.acquire(&session, request("next").forced())).unwrap();
            let took_effect = next.token.get() > granted + 1;
            match got {
                Ok(lease) => assert!(lease.token < next.token),
                Err(error) if *error.kind() == ErrorKind::Indeterminate => unknown += 1,
                Err(error) => assert!(!took_effect, "{granted}, call {at}: {error:?}"),
            }
        }
    }
    assert!(unknown > 2, "{unknown}");
}
