//! What is durable, and in which order: seen by a record of the file calls.

use std::io::{self, ErrorKind as Io};

use sessionlog_core::ErrorKind;
use sessionlog_crashfs::{Fault, FaultKind, FileId, Op, Recorder, armed};
use sessionlog_local::anew::write_anew;
use sessionlog_local::files::{
    failed_to_move, make_all, open_or_create, open_read, open_write, replace,
};

/// The kinds of calls that `work` made, in order.
fn calls(ops: &[Op]) -> Vec<&'static str> {
    ops.iter()
        .map(|op| match op {
            Op::Create { .. } => "create",
            Op::Write { .. } => "write",
            Op::Flush { ok: true, .. } => "flush",
            Op::FlushFolder {
                dir: FileId::ROOT,
                ok: true,
            } => "flush the root",
            Op::FlushFolder { ok: true, .. } => "flush a folder",
            Op::Rename { .. } => "rename",
            Op::Mkdir { .. } => "mkdir",
            Op::Unlink { .. } => "unlink",
            Op::Failed { .. } => "failed",
            _ => "something else",
        })
        .collect()
}

#[test]
fn a_file_is_replaced_by_one_that_is_flushed_and_then_named() {
    armed().unwrap();
    for (durable, expected) in [
        (
            true,
            &["create", "write", "flush", "rename", "flush the root"][..],
        ),
        (false, &["create", "write", "rename"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let recorder = Recorder::new(folder.path()).unwrap();
        replace(folder.path(), "name", b"content", durable).unwrap();
        let record = recorder.finish().unwrap();
        assert_eq!(calls(&record.ops), expected);
        assert_eq!(
            std::fs::read(folder.path().join("name")).unwrap(),
            b"content"
        );
    }
}

#[test]
fn what_is_written_anew_is_every_byte_of_it_and_no_other_and_then_flushed() {
    armed().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("name");
    let content: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    std::fs::write(&path, &content).unwrap();
    let recorder = Recorder::with_room(folder.path(), 64 << 20).unwrap();
    let (from, to) = (open_read(&path).unwrap(), open_write(&path).unwrap());
    write_anew(&from, &to, 1_000..11_000_000).unwrap();
    let record = recorder.finish().unwrap();
    let (flush, writes) = record.ops.split_last().unwrap();
    assert!(matches!(flush, Op::Flush { ok: true, .. }), "{flush:?}");
    let mut next = 1_000;
    for write in writes {
        let Op::Write { at, data, .. } = write else {
            panic!("{write:?}");
        };
        assert_eq!(*at, next);
        // No sector is written by two calls.
        assert!(*at == 1_000 || at % 512 == 0);
        assert!(data.len() <= 1 << 20);
        next += data.len() as u64;
    }
    assert_eq!(next, 11_000_000);
    assert!(std::fs::read(&path).unwrap() == content);
}

#[test]
fn a_replacement_that_is_told_as_failed_and_happened_is_not_called_undone() {
    armed().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::new(folder.path()).unwrap();
    recorder.inject(Fault {
        kind: FaultKind::AppliedButError,
        at: 4,
        lasting: false,
    });
    let error = replace(folder.path(), "name", b"new", true).unwrap_err();
    drop(recorder);
    assert_eq!(std::fs::read(folder.path().join("name")).unwrap(), b"new");
    assert_eq!(*error.kind(), ErrorKind::Indeterminate, "{error}");
}

/// Each of the five calls fails once: up to the rename nothing has changed, and what was begun is
/// cleared; a name that may not be durable is told as such.
#[test]
fn a_replacement_that_fails_leaves_the_old_file_or_says_that_it_may_not() {
    armed().unwrap();
    for at in 1..=5 {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("name"), "old").unwrap();
        let recorder = Recorder::new(folder.path()).unwrap();
        recorder.inject(Fault {
            kind: FaultKind::Eio,
            at,
            lasting: false,
        });
        let error = replace(folder.path(), "name", b"new", true).unwrap_err();
        assert_eq!(recorder.hits(), 1);
        recorder.finish().unwrap();
        let (kind, left) = match at {
            5 => (ErrorKind::Indeterminate, "new"),
            _ => (ErrorKind::Unavailable, "old"),
        };
        assert_eq!(*error.kind(), kind, "call {at}: {error}");
        assert_eq!(
            std::fs::read_to_string(folder.path().join("name")).unwrap(),
            left
        );
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            1,
            "call {at}"
        );
    }
}

#[test]
fn each_new_folder_is_durable_in_the_one_above() {
    armed().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::new(folder.path()).unwrap();
    let deep = folder.path().join("a/b");
    make_all(&deep).unwrap();
    make_all(&deep).unwrap();
    let record = recorder.finish().unwrap();
    assert_eq!(
        calls(&record.ops),
        [
            "mkdir",
            "flush the root",
            "mkdir",
            "flush a folder",
            // Asked for once more, it flushes what somebody else may have made.
            "flush a folder"
        ]
    );
    assert!(deep.is_dir());
}

#[test]
fn the_name_of_a_folder_whose_flush_failed_is_flushed_by_whoever_asks_for_it_next() {
    armed().unwrap();
    for at in 1..=6 {
        let folder = tempfile::tempdir().unwrap();
        let recorder = Recorder::new(folder.path()).unwrap();
        let deep = folder.path().join("a/b/c");
        recorder.inject(Fault {
            kind: FaultKind::Eio,
            at,
            lasting: false,
        });
        make_all(&deep).unwrap_err();
        make_all(&deep).unwrap();
        let ops = recorder.finish().unwrap().ops;
        for (n, op) in ops.iter().enumerate() {
            let Op::Mkdir { place, .. } = op else {
                continue;
            };
            let flush = Op::FlushFolder {
                dir: place.dir,
                ok: true,
            };
            assert!(ops[n..].contains(&flush), "call {at}: {place:?}");
        }
    }
}

#[test]
fn a_lock_file_that_cannot_be_made_is_an_error_and_no_endless_search() {
    armed().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::new(folder.path()).unwrap();
    recorder.inject(Fault {
        kind: FaultKind::Enospc,
        at: 1,
        lasting: true,
    });
    let error = open_or_create(&folder.path().join("lock")).unwrap_err();
    assert_eq!(error.kind(), Io::StorageFull);
    recorder.finish().unwrap();
}

#[test]
fn a_move_is_told_as_not_done_only_if_the_name_is_seen_to_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a");
    let lost = || io::Error::from_raw_os_error(5);
    let error = failed_to_move("rename", &file)(lost());
    assert_eq!(*error.kind(), ErrorKind::Indeterminate);
    assert!(error.message().contains("rename"), "{error}");
    std::fs::write(&file, "").unwrap();
    let error = failed_to_move("rename", &file)(lost());
    assert_eq!(*error.kind(), ErrorKind::Unavailable);
    // A look that fails says nothing of the move.
    let error = failed_to_move("rename", &file.join("below a file"))(lost());
    assert_eq!(*error.kind(), ErrorKind::Indeterminate);
}
