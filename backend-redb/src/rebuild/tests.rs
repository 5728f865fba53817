//! What becomes of those who write while a store is built anew.

use std::path::Path;
use std::time::Duration;

use pollster::block_on;
use sessionlog_core::*;
use sessionlog_crashfs::{Fault, FaultKind, FileId, Op, Recorder, armed};
use sessionlog_local::look::Look;

use super::{hold, replace};
use crate::store::Done;
use crate::{Options, Redb};
use redb::ReadableTable;

fn quick(path: &Path) -> Redb {
    let options = Options::default().busy_timeout(Duration::from_millis(20));
    Redb::open(path, options).unwrap()
}

/// What a repair by another handle does that could not open the store to write.
fn replaced_by_another(path: &Path) -> Result<String> {
    let other = quick(path);
    let engine = &other.shared.engine;
    let open = engine.open_for_reading()?.unwrap();
    replace(&engine.file, &open)
}

#[test]
fn a_commit_to_a_file_that_a_repair_has_replaced_is_not_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    let store = quick(&path);
    let session = SessionRef::fresh(SessionId::new("s").unwrap());
    block_on(store.create(&session)).unwrap();
    let at = path.clone();
    let job = move |write: &mut crate::write::Write<'_>| {
        let row = write.sessions.get(b"s".as_slice()).unwrap().unwrap();
        let bytes = row.value().to_vec();
        drop(row);
        let wrote = write
            .sessions
            .insert(b"s".as_slice(), bytes.as_slice())
            .map(drop);
        write.wrote(wrote)?;
        replaced_by_another(&at).unwrap();
        Ok(Done::Nothing)
    };
    let error = block_on(store.write(&session, job)).map(drop).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Indeterminate, "{error:?}");
    // Asked again, it goes to the file that is there.
    let event = NewEvent::json(Kind::from_static("note"), "1".to_owned()).unwrap();
    block_on(store.append(&session, vec![event], AppendCondition::NONE)).unwrap();
    let (_, head) = block_on(quick(&path).head(&session.id)).unwrap();
    assert_eq!(head.tail, SeqNum::new(1));
}

#[test]
fn nobody_commits_to_a_new_store_that_may_have_to_go_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    let session = SessionRef::fresh(SessionId::new("s").unwrap());
    block_on(quick(&path).create(&session)).unwrap();
    let held = hold(&path).unwrap();
    let store = quick(&path);
    let event = NewEvent::json(Kind::from_static("note"), "1".to_owned()).unwrap();
    let append = || block_on(store.append(&session, vec![event.clone()], AppendCondition::NONE));
    let error = append().unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Unavailable, "{error:?}");
    // It can be read all the while.
    let (_, head) = block_on(store.head(&session.id)).unwrap();
    assert_eq!(head.tail, SeqNum::ZERO);
    drop(held);
    append().unwrap();
}

/// Every call of a repair fails once, or is done and told as failed.
#[test]
fn a_store_that_was_replaced_is_not_called_as_it_was_and_its_name_is_durable() {
    armed().unwrap();
    let (mut unknown, mut whole) = (0, 0);
    for kind in [FaultKind::Eio, FaultKind::AppliedButError] {
        for at in 1.. {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("store.redb");
            let session = SessionRef::fresh(SessionId::new("s").unwrap());
            block_on(quick(&path).create(&session)).unwrap();
            let recorder = Recorder::with_room(folder.path(), 64 << 20).unwrap();
            let before = Look::at(&path).unwrap().identity;
            let fault = Fault {
                kind,
                at,
                lasting: false,
            };
            recorder.inject(fault);
            let replaced = replaced_by_another(&path);
            let hits = recorder.hits();
            recorder.heal();
            let is_new = Look::at(&path).unwrap().identity != before;
            if let Err(error) = replaced {
                let undecided = *error.kind() == ErrorKind::Indeterminate;
                assert_eq!(undecided, is_new, "{kind:?} at {at}: {error:?}");
                unknown += usize::from(undecided);
            }
            let event = NewEvent::json(Kind::from_static("note"), "1".to_owned()).unwrap();
            let store = quick(&path);
            block_on(store.append(&session, vec![event], AppendCondition::NONE)).unwrap();
            let mark = recorder.mark();
            let ops = recorder.finish().unwrap().ops;
            let place = |op: &Op| matches!(op, Op::Rename { to, .. } if &*to.name == "store.redb");
            if let Some(at) = ops.iter().position(place) {
                let flush = Op::FlushFolder {
                    dir: FileId::ROOT,
                    ok: true,
                };
                assert!(ops[at..mark].contains(&flush), "{kind:?} at {at}");
            }
            if hits == 0 {
                whole += 1;
                break;
            }
        }
    }
    assert!(unknown >= 2 && whole == 2, "{unknown} {whole}");
}
