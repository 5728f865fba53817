//! After a flush that failed, nothing is acknowledged that may rest on what it lost.

use std::io::Write;

use futures_util::future::join3;
use futures_util::stream;
use sessionlog_backend_jsonl::Jsonl;
use sessionlog_crashfs::{Fault, FaultKind, FileId, Op, Record, Recorder, Tree, armed};

use crate::util::*;

/// What a power loss could take of a byte.
#[derive(Clone, Copy, PartialEq)]
enum Byte {
    Durable,
    Written,
    /// Written before a flush that failed: no other flush makes it durable.
    Lost,
}

/// Whether a power loss behind the first `mark` calls takes nothing of the log's first `len` bytes.
fn is_durable(record: &Record, mark: usize, len: usize) -> bool {
    let log = record.start.find("s/events.jsonl").unwrap();
    let start = record.start.bytes("s/events.jsonl").unwrap();
    let mut bytes = vec![Byte::Durable; start.len()];
    for op in &record.ops[..mark] {
        apply(&mut bytes, log, op);
    }
    bytes.len() >= len && bytes[..len].iter().all(|byte| *byte == Byte::Durable)
}

fn apply(bytes: &mut Vec<Byte>, log: FileId, op: &Op) {
    match op {
        Op::Write { file, at, data } if *file == log => {
            let range = *at as usize..*at as usize + data.len();
            bytes.resize(bytes.len().max(range.end), Byte::Written);
            bytes[range].fill(Byte::Written);
        }
        Op::Truncate { file, len } if *file == log => bytes.resize(*len as usize, Byte::Written),
        Op::Flush { file, ok, .. } if *file == log => {
            let to = if *ok { Byte::Durable } else { Byte::Lost };
            let written = bytes.iter_mut().filter(|byte| **byte == Byte::Written);
            written.for_each(|byte| *byte = to);
        }
        _ => {}
    }
}

fn eio(at: u64, lasting: bool) -> Fault {
    let kind = FaultKind::Eio;
    Fault { kind, at, lasting }
}

/// A process was killed before its flush, and so nobody was told of what it wrote. The flush of the next
/// one fails: what it wrote itself can be taken back, and what was there before is not durable yet.
#[test]
fn what_a_killed_process_left_is_not_taken_for_durable_behind_a_flush_that_failed() {
    armed().unwrap();
    let (_dir, store, session) = with_events(1);
    let start = Tree::read(store.path()).unwrap();
    let before = std::fs::read(log_path(&store, "s")).unwrap().len();
    let left = vec![event("\"a\""), event("\"b\"")];
    let range = block_on(store.append(&session, left.clone(), NONE)).unwrap();
    let log = std::fs::read(log_path(&store, "s")).unwrap();
    let (mut lost, mut settled) = (0, 0);
    for (at, lasting) in (1..12).flat_map(|at| [(at, false), (at, true)]) {
        for with_new in [false, true] {
            let place = tempfile::tempdir().unwrap();
            start.write(place.path()).unwrap();
            let recorder = Recorder::with_room(place.path(), 64 << 20).unwrap();
            let other = Jsonl::open(place.path(), Default::default()).unwrap();
            let path = log_path(&other, "s");
            let mut file = std::fs::File::options().append(true).open(path).unwrap();
            file.write_all(&log[before..]).unwrap();
            drop(file);

            let new = if with_new {
                vec![event("\"c\"")]
            } else {
                vec![]
            };
            let mut marks = Vec::new();
            let mut send = || {
                let late = AppendCondition::at(SeqNum::ZERO);
                let (conflict, again, new) = block_on(join3(
                    other.append(&session, vec![event("0")], late),
                    other.append(&session, left.clone(), NONE),
                    other.append(&session, new.clone(), NONE),
                ));
                // Nothing of it was written, whatever became of the others.
                let conflict = conflict.unwrap_err();
                assert_ne!(*conflict.kind(), ErrorKind::Indeterminate, "{conflict}");
                assert!(again.as_ref().is_ok_and(|r| *r == range) || again.is_err());
                let len = std::fs::metadata(log_path(&other, "s")).unwrap().len() as usize;
                let told = match (&again, &new) {
                    (_, Ok(_)) if with_new => Some(len),
                    (Ok(_), _) => Some(log.len()),
                    _ => None,
                };
                marks.extend(told.map(|len| (recorder.mark(), len)));
                (again.is_ok(), new.is_ok())
            };
            recorder.inject(eio(at, lasting));
            let first = send();
            recorder.heal();
            assert_eq!(send(), (true, true), "call {at}, behind {first:?}");
            drop(other);

            let record = recorder.finish().unwrap();
            let failed = |op: &Op| matches!(op, Op::Flush { ok: false, .. });
            lost += usize::from(record.ops.iter().any(failed));
            settled += usize::from(first.0);
            for (mark, len) in marks {
                let what = format!("call {at}, lasting {lasting}, new {with_new}: {len} bytes");
                assert!(is_durable(&record, mark, len), "{what}");
            }
        }
    }
    assert!(lost >= 4 && settled > 4, "{lost} {settled}");
}

#[test]
fn what_was_durable_before_a_flush_that_failed_is_acknowledged_again() {
    armed().unwrap();
    let (_dir, store, session) = with_events(1);
    let batch = vec![event("\"a\"")];
    let range = block_on(store.append(&session, batch.clone(), NONE)).unwrap();
    let recorder = Recorder::with_room(store.path(), 64 << 20).unwrap();
    recorder.inject(eio(2, false));
    let (conflict, again, new) = block_on(join3(
        store.append(&session, vec![event("0")], AppendCondition::at(range.start)),
        store.append(&session, batch, NONE),
        store.append(&session, vec![event("1")], NONE),
    ));
    assert_eq!(recorder.hits(), 1);
    let tail = range.end;
    assert_eq!(*conflict.unwrap_err().kind(), ErrorKind::Conflict { tail });
    assert_eq!(again.unwrap(), range);
    let new = new.unwrap_err();
    assert_eq!(*new.kind(), ErrorKind::Unavailable, "{new}");
}

/// A grant, a snapshot and a blob may be about events that the handle has read.
#[test]
fn nothing_of_a_handle_is_acknowledged_before_what_its_failed_append_left_is_durable() {
    armed().unwrap();
    type Act = fn(&Jsonl, &SessionRef) -> Result<()>;
    let acts: [Act; 3] = [
        |store, session| block_on(store.acquire(session, request("me"))).map(drop),
        |store, session| {
            let state = Snapshot {
                projection: Kind::from_static("card"),
                version: 1,
                covers: SeqNum::new(2),
                log: Sum::from_u64(2),
                state: "x".into(),
            };
            block_on(store.save(session, state, None))
        },
        |store, session| {
            let content = Box::pin(stream::iter([Ok("x".into())]));
            block_on(store.put(session, content, None)).map(drop)
        },
    ];
    for act in acts {
        let (_dir, store, session) = with_events(1);
        let recorder = Recorder::with_room(store.path(), 64 << 20).unwrap();
        // The flush fails, and so does all that would take the write back.
        recorder.inject(eio(2, true));
        let error = append(&store, &session, &["2"]).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Indeterminate, "{error}");
        recorder.heal();
        let failed = recorder.mark();
        act(&store, &session).unwrap();
        let told = recorder.mark();
        let len = std::fs::metadata(log_path(&store, "s")).unwrap().len() as usize;
        drop(store);
        let record = recorder.finish().unwrap();
        assert!(!is_durable(&record, failed, len));
        assert!(is_durable(&record, told, len));
    }
}

/// More than is written anew at once.
#[test]
fn what_a_failed_flush_left_is_written_anew_in_pieces() {
    armed().unwrap();
    let (_dir, store, session) = with_events(1);
    let recorder = Recorder::with_room(store.path(), 64 << 20).unwrap();
    let batch = vec![event(&format!("\"{}\"", "x".repeat(5 << 19)))];
    recorder.inject(eio(2, true));
    let error = block_on(store.append(&session, batch.clone(), NONE)).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Indeterminate, "{error}");
    recorder.heal();
    let before = recorder.mark();
    block_on(store.append(&session, batch, NONE)).unwrap();
    let len = std::fs::metadata(log_path(&store, "s")).unwrap().len() as usize;
    assert_eq!(read(&store, &session).unwrap().len(), 2);
    drop(store);
    let record = recorder.finish().unwrap();
    assert!(is_durable(&record, record.ops.len(), len));
    let writes = record.ops[before..].iter().filter_map(|op| match op {
        Op::Write { data, .. } => Some(data.len()),
        _ => None,
    });
    let writes: Vec<_> = writes.collect();
    assert_eq!((writes.len(), writes[1]), (3, 1 << 20), "{writes:?}");
}
