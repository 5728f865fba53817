//! What is acknowledged is flushed: seen by a record of the store's file calls.

use sessionlog_backend_jsonl::{Jsonl, Options};
use sessionlog_crashfs::{Fault, FaultKind, FileId, Op, Recorder, Tree, armed};

use crate::util::*;
use futures_util::future::join_all;

/// How often `file` was flushed, and how often it was changed.
fn flushes_and_writes(ops: &[Op], file: FileId) -> (usize, usize) {
    let count = |what: fn(&Op) -> Option<FileId>| {
        let of_file = |op: &&Op| what(op) == Some(file);
        ops.iter().filter(of_file).count()
    };
    let flush = |op: &Op| match op {
        Op::Flush { file, ok: true, .. } => Some(*file),
        _ => None,
    };
    let write = |op: &Op| match op {
        Op::Write { file, .. } | Op::Truncate { file, .. } => Some(*file),
        _ => None,
    };
    (count(flush), count(write))
}

#[test]
fn what_a_killed_process_left_unflushed_is_written_anew_before_it_is_acknowledged_again() {
    armed().unwrap();
    let (_dir, store, session) = with_events(1);
    let events = vec![event("\"a\""), event("\"b\"")];
    let range = block_on(store.append(&session, events.clone(), NONE)).unwrap();
    // A kill leaves what was written. Here, nobody has flushed it.
    let left = tempfile::tempdir().unwrap();
    Tree::read(store.path())
        .unwrap()
        .write(left.path())
        .unwrap();

    let recorder = Recorder::new(left.path()).unwrap();
    let other = Jsonl::open(left.path(), Options::default()).unwrap();
    assert_eq!(tail(&other, &session), 3);
    let mut marks = vec![recorder.mark()];
    // Who is refused learns nothing that has to be durable.
    let late = AppendCondition::at(SeqNum::new(1));
    let conflict = block_on(other.append(&session, vec![event("1")], late)).unwrap_err();
    assert!(matches!(conflict.kind(), ErrorKind::Conflict { .. }));
    marks.push(recorder.mark());
    for _ in 0..2 {
        let again = block_on(other.append(&session, events.clone(), NONE));
        assert_eq!(again.unwrap(), range);
        marks.push(recorder.mark());
    }
    drop(other);
    let record = recorder.finish().unwrap();
    let log = record.start.find("s/events.jsonl").unwrap();
    let between = |n: usize| flushes_and_writes(&record.ops[marks[n]..marks[n + 1]], log);
    // Perhaps a flush of it failed, so that a second one would prove nothing. The same handle knows the second
    // time that it is durable.
    assert_eq!(
        [between(0), between(1), between(2)],
        [(0, 0), (1, 1), (0, 0)]
    );
}

/// A snapshot stands for events: those that its writer has read, and that a killed process wrote, are
/// made durable before it is there. What nobody has read through this handle is none of its business.
#[test]
fn what_a_killed_process_left_unflushed_is_durable_before_a_snapshot_of_it() {
    armed().unwrap();
    let (_dir, store, session) = with_events(3);
    let snapshot = Snapshot {
        projection: Kind::from_static("fold"),
        version: 1,
        covers: SeqNum::new(3),
        log: Sum::from_u64(0),
        state: "state".into(),
    };
    for reads in [false, true] {
        let left = tempfile::tempdir().unwrap();
        let files = Tree::read(store.path()).unwrap();
        files.write(left.path()).unwrap();
        let recorder = Recorder::new(left.path()).unwrap();
        let other = Jsonl::open(left.path(), Options::default()).unwrap();
        if reads {
            assert_eq!(tail(&other, &session), 3);
        }
        for _ in 0..2 {
            block_on(other.save(&session, snapshot.clone(), None)).unwrap();
        }
        append(&other, &session, &["4"]).unwrap();
        block_on(other.save(&session, snapshot.clone(), None)).unwrap();
        let record = recorder.finish().unwrap();
        let log = record.start.find("s/events.jsonl").unwrap();
        let first = record
            .ops
            .iter()
            .position(|op| matches!(op, Op::Rename { .. }));
        let before = flushes_and_writes(&record.ops[..first.unwrap()], log);
        assert_eq!(before, (usize::from(reads), usize::from(reads)));
        // The append writes and flushes what is before it, if nobody has, and then itself.
        assert_eq!(flushes_and_writes(&record.ops, log), (2, 2));
    }
}

/// What is ready at the same time shares a commit, up to 8 MiB.
#[test]
fn appends_that_wait_share_a_write_and_a_flush_until_it_is_large() {
    armed().unwrap();
    for (batches, len, commits) in [(20, 10_000, 1), (3, 3 << 20, 2)] {
        let (_dir, store, session) = with_events(1);
        let recorder = Recorder::with_room(store.path(), 64 << 20).unwrap();
        let text = format!("\"{}\"", "x".repeat(len));
        let all = (0..batches).map(|_| store.append(&session, vec![event(&text)], NONE));
        let outcomes = block_on(join_all(all));
        let starts = outcomes.into_iter().map(|range| range.unwrap().start.get());
        assert!(starts.eq(1..=batches));
        let record = recorder.finish().unwrap();
        let log = record.start.find("s/events.jsonl").unwrap();
        assert_eq!(flushes_and_writes(&record.ops, log), (commits, commits));
    }
}

/// More sessions than a handle keeps open.
const MANY: usize = 140;

#[test]
fn sessions_that_are_closed_to_make_room_lose_nothing() {
    let (_dir, store, _) = with_events(0);
    let name = |n| format!("s{n}");
    let all: Vec<_> = (0..MANY).map(|n| filled(&store, &name(n), 1)).collect();
    for session in &all {
        append(&store, session, &["2"]).unwrap();
    }
    let here = std::fs::read_dir("/proc/self/fd").unwrap().filter(|fd| {
        let file = fd.as_ref().unwrap().path().read_link();
        file.is_ok_and(|file| file.starts_with(store.path()))
    });
    assert!(here.count() <= 3 * 128, "no session was closed");
    for session in &all {
        let events = texts(&read(&store, session).unwrap());
        assert_eq!(events, ["{\"n\":0}", "2"]);
    }
}

#[test]
fn what_a_failed_flush_left_is_not_forgotten_when_sessions_are_closed_to_make_room() {
    armed().unwrap();
    let (_dir, store, session) = with_events(1);
    let others: Vec<_> = (0..MANY)
        .map(|n| create(&store, &format!("other-{n}")))
        .collect();
    let recorder = Recorder::with_room(store.path(), 64 << 20).unwrap();
    let batch = vec![event("2")];
    // The flush fails, and so does all that would take the write back.
    recorder.inject(Fault {
        kind: FaultKind::Eio,
        at: 2,
        lasting: true,
    });
    let error = block_on(store.append(&session, batch.clone(), NONE)).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Indeterminate, "{error}");
    recorder.heal();
    for other in &others {
        assert_eq!(tail(&store, other), 0);
    }
    let before = recorder.mark();
    let range = block_on(store.append(&session, batch, NONE)).unwrap();
    assert_eq!((range.start.get(), range.end.get()), (1, 2));
    let record = recorder.finish().unwrap();
    let log = record.start.find("s/events.jsonl").unwrap();
    // A flush alone would prove nothing: the system may take for clean what it could not write. And a cut of
    // which the flush failed is made once more.
    assert_eq!(flushes_and_writes(&record.ops[before..], log), (1, 2));
    assert_eq!(texts(&read(&store, &session).unwrap()), ["{\"n\":0}", "2"]);
}

#[test]
fn a_commit_as_long_as_the_space_that_is_written_ahead_takes_none() {
    let dir = tempfile::tempdir().unwrap();
    let store = Jsonl::open(dir.path(), Options::default().write_ahead(1000)).unwrap();
    let session = create(&store, "s");
    let length = || std::fs::metadata(log_path(&store, "s")).unwrap().len();
    let growth = |text: &str| {
        let before = length();
        append(&store, &session, &[text]).unwrap();
        length() - before
    };
    let line = growth("1") - 1000;
    assert_eq!(growth("2"), 0, "it fits into the space");
    let payload = |line_len: u64| "7".repeat((line_len - line + 1) as usize);
    // The line before it took some of the space; what it needs beyond that is all that is added.
    assert_eq!(growth(&payload(3000)), 3000 - (1000 - line));
    assert_eq!(growth(&payload(1000)), 1000);
    assert_eq!(growth(&payload(999)), 999 + 1000);
    // Used up to its last byte.
    assert_eq!([growth(&payload(500)), growth(&payload(500))], [0, 0]);
    assert_eq!(growth(&payload(500)), 500 + 1000);
}

/// A name that was given or taken, and of which the folder could not be flushed, is flushed before the same is
/// acknowledged: that it is there already, or gone, says nothing of the disk.
#[test]
fn a_folder_that_could_not_be_flushed_is_flushed_before_the_same_is_acknowledged() {
    armed().unwrap();
    let content = || -> Pieces { Box::pin(futures_util::stream::iter([Ok("content".into())])) };
    type Act = fn(&Jsonl, &SessionRef, Pieces) -> Result<()>;
    let acts: [(&str, Act); 4] = [
        ("create", |store, session, _| {
            let created = block_on(store.create(session));
            created.or_else(|e| match e.kind() {
                ErrorKind::Conflict { .. } => append(store, session, &["1"]).map(drop),
                _ => Err(e),
            })
        }),
        ("acquire", |store, session, _| {
            let request = LeaseRequest::new(Owner::new("me")?);
            block_on(store.acquire(session, request)).map(drop)
        }),
        ("put", |store, session, content| {
            block_on(store.put(session, content, None)).map(drop)
        }),
        ("remove", |store, session, _| {
            let id = BlobId::of(b"content");
            block_on(store.remove(session, id, None))
        }),
    ];
    for (what, act) in acts {
        let mut met = 0;
        for at in 1..40 {
            let (_dir, store, session) = with_events(1);
            block_on(store.put(&session, content(), None)).unwrap();
            let session = match what {
                "create" => SessionRef::fresh(id("t")),
                _ => session,
            };
            let recorder = Recorder::new(store.path()).unwrap();
            recorder.inject(Fault {
                kind: FaultKind::Eio,
                at,
                lasting: false,
            });
            let failed = act(&store, &session, content());
            if recorder.hits() == 0 {
                break;
            }
            if failed.is_err() {
                act(&store, &session, content()).unwrap();
            }
            let record = recorder.finish().unwrap();
            let of = |op: &Op, expected| match op {
                Op::FlushFolder { dir, ok } if *ok == expected => Some(*dir),
                _ => None,
            };
            let failed = record.ops.iter().position(|op| of(op, false).is_some());
            let Some(failed) = failed else { continue };
            met += 1;
            let dir = of(&record.ops[failed], false);
            let later = &record.ops[failed..];
            // A folder that is gone has no names to lose.
            let gone = |op: &Op| matches!(op, Op::Rmdir { dir: gone, .. } if Some(*gone) == dir);
            let made_up = later.iter().any(|op| of(op, true) == dir || gone(op));
            assert!(made_up, "{what}, at call {at}: {:?}", &record.ops[failed..]);
        }
        assert!(met > 0, "{what}");
    }
}
