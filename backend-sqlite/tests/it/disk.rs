//! How much the store takes, and what happens when there is no more.

use std::fs;

use futures_util::StreamExt;
use sessionlog_crashfs::{Fault, FaultKind, Recorder, armed};
use sessionlog_testkit::child::{part, run_behind};

use crate::util::*;

fn wal(store: &Sqlite) -> u64 {
    let mut name = store.path().as_os_str().to_owned();
    name.push("-wal");
    fs::metadata(name).map_or(0, |meta| meta.len())
}

fn text(n: usize) -> String {
    format!("\"{}\"", "x".repeat(n))
}

#[test]
fn a_long_reader_does_not_let_the_write_ahead_log_grow() {
    const LIMIT: u64 = 24 << 20;
    let (_dir, store, session) = with_events(0);
    let large = text(100_000);
    let batch: Vec<_> = (0..10).map(|_| large.as_str()).collect();
    for _ in 0..70 {
        append(&store, &session, &batch).unwrap();
    }
    // Beside each chunk of a read that never comes to its end, a megabyte is written.
    let mut reader = store.read(&session, SeqNum::all());
    let mut most = 0;
    for _ in 0..60 {
        assert!(block_on(reader.next()).unwrap().is_ok());
        append(&store, &session, &batch).unwrap();
        most = most.max(wal(&store));
    }
    assert!(most < LIMIT, "{most}");
}

#[test]
fn deleted_sessions_give_their_space_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let large = text(20_000);
    let sessions: Vec<_> = (0..40).map(|n| create(&store, &format!("s{n}"))).collect();
    for _ in 0..10 {
        for session in &sessions {
            append(&store, session, &[&large]).unwrap();
        }
    }
    block_on(store.compact()).unwrap();
    let full = fs::metadata(store.path()).unwrap().len();
    for session in sessions.iter().step_by(2) {
        block_on(store.delete(session, None)).unwrap();
    }
    let half = fs::metadata(store.path()).unwrap().len();
    assert!(half < full * 6 / 10, "{half} of {full}");
    assert_eq!(wal(&store), 0);
    for session in sessions.iter().skip(1).step_by(2) {
        assert_eq!(read(&store, session.id.as_str()).unwrap().len(), 10);
    }
}

#[test]
fn compacting_fills_half_empty_pages_and_changes_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let sessions: Vec<_> = (0..20).map(|n| create(&store, &format!("s{n}"))).collect();
    let kilobyte = text(1000);
    for _ in 0..50 {
        for session in &sessions {
            append(&store, session, &[&kilobyte]).unwrap();
        }
    }
    let lease = block_on(store.acquire(&sessions[3], request("me"))).unwrap();
    let before: Vec<_> = sessions
        .iter()
        .map(|s| chunks(&store, s).unwrap().concat())
        .collect();
    let spread = fs::metadata(store.path()).unwrap().len() + wal(&store);
    let freed = block_on(store.compact()).unwrap();
    let after: Vec<_> = sessions
        .iter()
        .map(|s| chunks(&store, s).unwrap().concat())
        .collect();
    assert!(before == after);
    let size = fs::metadata(store.path()).unwrap().len();
    assert!(size < 1000 * 1350, "{size}");
    assert_eq!(freed, spread - size);
    assert_eq!(block_on(store.strays()).unwrap(), []);
    let under = AppendCondition::with(lease.token);
    block_on(store.append(&sessions[3], vec![event("1")], under)).unwrap();
}

#[test]
fn a_message_that_grows_costs_what_it_grew() {
    let (_dir, store, session) = with_events(0);
    let mut size = 0;
    for n in 0..2000 {
        append(&store, &session, &[&format!("{{\"delta\":\"word {n} \"}}")]).unwrap();
        size = fs::metadata(store.path()).unwrap().len();
    }
    assert!(size < 2000 * 160 + 200_000, "{size}");
}

#[test]
fn bytes_on_disk_stay_near_the_payload() {
    let (_dir, store, session) = with_events(0);
    block_on(store.compact()).unwrap();
    let empty = fs::metadata(store.path()).unwrap().len();
    let kilobyte = text(1022);
    for _ in 0..20 {
        let batch: Vec<_> = (0..100).map(|_| kilobyte.as_str()).collect();
        append(&store, &session, &batch).unwrap();
    }
    let path = store.path().to_owned();
    drop(store);
    let payload = 2000 * 1024;
    let size = fs::metadata(path).unwrap().len() - empty;
    assert!(size * 1000 < payload * 1155, "{size}");
}

/// A limit on the size of files stands in for a full disk: every write beyond it fails.
#[test]
#[cfg(unix)]
fn an_append_that_the_disk_refuses_is_not_there_and_the_next_works() {
    let (_dir, store, session) = with_events(2);
    let path = store.path().to_owned();
    drop(store);
    let small = "trap '' XFSZ; ulimit -S -f 1200";
    let text = run_behind(small, "disk::child_that_fills_up", &path, "full");
    let word = |name: &str| -> u64 {
        let line = text.lines().find_map(|l| l.strip_prefix(name)).unwrap();
        line.trim().parse().unwrap()
    };
    let store = Sqlite::open(&path, Options::default()).unwrap();
    let found = tail(&store, &session);
    let (acknowledged, unknown) = (word("acknowledged "), word("unknown "));
    assert!(
        found >= acknowledged && found <= acknowledged + unknown,
        "{found} {text}"
    );
    assert!(word("failed ") >= 3, "{text}");
    assert_eq!(read(&store, "s").unwrap().len() as u64, found);
    append(&store, &session, &["1"]).unwrap();
    assert_eq!(block_on(store.verify(&session.id)).unwrap(), []);
    assert_eq!(block_on(store.strays()).unwrap(), []);
}

#[test]
fn child_that_fills_up() {
    let Some((path, _)) = part() else {
        return;
    };
    let store = Sqlite::open(path, Options::default()).unwrap();
    let (session, head) = block_on(store.head(&id("s"))).unwrap();
    let (mut acknowledged, mut unknown, mut failed) = (head.tail.get(), 0, 0);
    let large = text(120_000);
    while failed < 4 && acknowledged < 100 {
        match append(&store, &session, &[&large]) {
            Ok(range) => acknowledged = range.end.get(),
            Err(error) => {
                failed += 1;
                println!("\n{error} {error:?}");
                match error.kind() {
                    ErrorKind::Indeterminate => unknown += 1,
                    ErrorKind::Unavailable => {
                        assert_eq!(tail(&store, &session), acknowledged, "{error}");
                    }
                    other => panic!("{other:?}"),
                }
                // What is small still fits.
                if let Ok(range) = append(&store, &session, &["1"]) {
                    acknowledged = range.end.get();
                    unknown = 0;
                }
            }
        }
    }
    println!("\nacknowledged {acknowledged}\nunknown {unknown}\nfailed {failed}");
}

/// SQLite takes a disk that fails for one that is read-only.
#[test]
fn a_disk_that_fails_is_not_told_as_one_that_is_read_only() {
    armed().unwrap();
    let (mut refused, mut whole) = (0, 0);
    for (odd, kind) in (0..).zip(FaultKind::ALL) {
        // The kinds are alike in this: at a call they fail once and for good by turns.
        for (at, lasting) in (1..400).map(|at| (at, (at + odd) % 2 == 0)) {
            let dir = tempfile::tempdir().unwrap();
            let recorder = Recorder::with_room(dir.path(), 64 << 20).unwrap();
            recorder.inject(Fault { kind, at, lasting });
            let created = block_on(open(&dir).create(&SessionRef::fresh(id("s"))));
            let hits = recorder.hits();
            drop(recorder);
            if hits == 0 {
                whole += 1;
                break;
            }
            let Err(error) = created else { continue };
            refused += 1;
            let kind = error.kind();
            let honest = matches!(kind, ErrorKind::Unavailable | ErrorKind::Indeterminate);
            assert!(
                honest,
                "{kind:?} at {at}: {error}, {:?}",
                std::error::Error::source(&error)
            );
        }
    }
    assert!(
        refused > 50 && whole == FaultKind::ALL.len(),
        "{refused} {whole}"
    );
}
