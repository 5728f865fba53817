//! Faults come at the call that was asked for, and the record tells what became of it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::Path,
};

use sessionlog_crashfs::{Call, Fault, FaultKind, FileId, Op, Record, Recorder};
use tempfile::tempdir;

use crate::records::write;

const A: FileId = FileId(1);
const ONCE: bool = false;
const FOR_EVER: bool = true;

/// The record of `work` with a fault, and how often it struck.
fn with_fault(
    kind: FaultKind,
    at: u64,
    lasting: bool,
    work: impl FnOnce(&Path, &Recorder),
) -> (Record, u64) {
    let folder = tempdir().unwrap();
    let recorder = Recorder::new(folder.path()).unwrap();
    recorder.inject(Fault { kind, at, lasting });
    work(folder.path(), &recorder);
    let hits = recorder.hits();
    (recorder.finish().unwrap(), hits)
}

fn errno<T: std::fmt::Debug>(result: io::Result<T>) -> Option<i32> {
    result.unwrap_err().raw_os_error()
}

fn failed(call: Call, errno: i32) -> Op {
    let on = Some(A);
    Op::Failed { call, on, errno }
}

#[test]
fn the_nth_call_fails_and_is_not_carried_out() {
    // create, write, flush, rename, remove
    let work = |folder: &Path| -> io::Result<()> {
        let mut file = File::create(folder.join("a"))?;
        file.write_all(b"12")?;
        file.sync_all()?;
        fs::rename(folder.join("a"), folder.join("b"))?;
        fs::remove_file(folder.join("b"))
    };
    for (kind, errno) in [
        (FaultKind::Eio, libc::EIO),
        (FaultKind::AppliedButError, libc::EIO),
    ] {
        let mut struck = 0;
        for at in 1..100 {
            let (record, hits) = with_fault(kind, at, ONCE, |folder, _| {
                let result = work(folder);
                assert_eq!(result.is_err(), at <= 5, "{kind:?} at {at}");
                if let Err(e) = result {
                    assert_eq!(e.raw_os_error(), Some(errno));
                }
            });
            if hits == 0 {
                break;
            }
            struck += 1;
            let effects = record.ops.len() - 1;
            let flush = usize::from(at == 3 && kind == FaultKind::Eio);
            let applied = usize::from(kind == FaultKind::AppliedButError);
            assert_eq!(effects, at as usize - 1 + applied + flush, "{record:?}");
            assert!(matches!(record.ops.last(), Some(Op::Failed { .. })));
        }
        assert_eq!(struck, 5);
    }
}

#[test]
fn a_flush_that_fails_is_told_as_such_and_one_that_was_applied_as_well() {
    let work = |folder: &Path, _: &Recorder| {
        let mut file = File::create(folder.join("a")).unwrap();
        file.write_all(b"x").unwrap();
        assert_eq!(errno(file.sync_data()), Some(libc::EIO));
        file.sync_data().unwrap();
        drop(file);
    };
    let flush = |ok| {
        let (file, data_only) = (A, true);
        Op::Flush {
            file,
            data_only,
            ok,
        }
    };
    let (record, _) = with_fault(FaultKind::Eio, 3, ONCE, work);
    let told = failed(Call::Flush, libc::EIO);
    assert_eq!(record.ops[2..], [flush(false), told.clone(), flush(true)]);
    let (record, _) = with_fault(FaultKind::AppliedButError, 3, ONCE, work);
    assert_eq!(record.ops[2..], [flush(true), told, flush(true)]);
}

#[test]
fn a_failed_flush_of_a_folder_and_of_a_write_that_flushes() {
    use std::os::unix::fs::OpenOptionsExt;
    let folder_flush = |folder: &Path, _: &Recorder| {
        let folder = File::open(folder).unwrap();
        assert_eq!(errno(folder.sync_all()), Some(libc::EIO));
    };
    let (record, _) = with_fault(FaultKind::Eio, 1, ONCE, folder_flush);
    let (dir, ok) = (FileId::ROOT, false);
    assert_eq!(record.ops[0], Op::FlushFolder { dir, ok });

    let (record, _) = with_fault(FaultKind::Eio, 2, ONCE, |folder, _| {
        let mut options = OpenOptions::new();
        options.write(true).create(true).custom_flags(libc::O_DSYNC);
        let mut file = options.open(folder.join("a")).unwrap();
        assert_eq!(errno(file.write(b"x")), Some(libc::EIO));
    });
    assert!(
        matches!(record.ops[1], Op::Flush { ok: false, .. }),
        "{record:?}"
    );
}

#[test]
fn no_room_lasts_until_it_is_healed() {
    let (record, hits) = with_fault(FaultKind::Enospc, 3, FOR_EVER, |folder, recorder| {
        let mut file = File::create(folder.join("a")).unwrap();
        file.write_all(b"1").unwrap();
        for _ in 0..3 {
            assert_eq!(errno(file.write(b"2")), Some(libc::ENOSPC));
        }
        assert_eq!(errno(File::create(folder.join("b"))), Some(libc::ENOSPC));
        assert_eq!(errno(fs::create_dir(folder.join("d"))), Some(libc::ENOSPC));
        fs::remove_file(folder.join("a")).unwrap();
        recorder.heal();
        file.write_all(b"3").unwrap();
    });
    assert_eq!(hits, 5);
    assert_eq!(record.ops.last(), Some(&write(A, 1, b"3")));
}

#[test]
fn half_a_write_is_taken_and_the_caller_goes_on() {
    let (record, hits) = with_fault(FaultKind::ShortWrite, 2, ONCE, |folder, _| {
        let mut file = File::create(folder.join("a")).unwrap();
        file.write_all(b"1").unwrap();
        file.write_all(b"whole").unwrap();
        file.write_all(b"12345").unwrap();
    });
    let expected = [
        write(A, 0, b"1"),
        write(A, 1, b"whole"),
        write(A, 6, b"12"),
        write(A, 8, b"345"),
    ];
    assert_eq!((&record.ops[1..], hits), (&expected[..], 1));
}

#[test]
fn half_of_a_scattered_write_is_told() {
    let (record, _) = with_fault(FaultKind::ShortWrite, 1, ONCE, |folder, _| {
        let mut file = File::create(folder.join("a")).unwrap();
        let parts = [io::IoSlice::new(b"one"), io::IoSlice::new(b"three")];
        assert_eq!(file.write_vectored(&parts).unwrap(), 4);
        let mut log = OpenOptions::new()
            .append(true)
            .open(folder.join("a"))
            .unwrap();
        log.write_all(b"!").unwrap();
    });
    assert_eq!(record.ops[1..], [write(A, 0, b"onet"), write(A, 4, b"!")]);
}

#[test]
fn callers_get_past_interruptions_even_lasting_ones() {
    let (record, hits) = with_fault(FaultKind::Eintr, 1, FOR_EVER, |folder, _| {
        let mut file = File::create(folder.join("a")).unwrap();
        file.write_all(b"1").unwrap();
        file.set_len(5).unwrap();
        file.sync_all().unwrap();
    });
    let told: Vec<_> = record
        .ops
        .iter()
        .filter(|op| matches!(op, Op::Failed { .. }))
        .collect();
    assert_eq!((told.len(), hits, record.ops.len()), (4, 4, 9));
}

#[test]
fn an_open_that_was_applied_leaves_the_file_and_no_descriptor() {
    // Other tests open files at the same time, elsewhere.
    let open_below = |folder: &Path| {
        let links = fs::read_dir("/proc/self/fd").unwrap();
        let links = links.filter_map(|link| fs::read_link(link.unwrap().path()).ok());
        links.filter(|to| to.starts_with(folder)).count()
    };
    let (record, _) = with_fault(
        FaultKind::AppliedButError,
        1,
        FOR_EVER,
        |folder, recorder| {
            for name in 0..50 {
                let result = File::create(folder.join(name.to_string()));
                assert_eq!(errno(result), Some(libc::EIO));
            }
            assert_eq!(open_below(&folder.canonicalize().unwrap()), 0);
            recorder.heal();
            File::create(folder.join("0")).unwrap();
        },
    );
    assert_eq!(record.ops.len(), 101);
}

#[test]
fn a_second_fault_is_counted_from_the_first() {
    let once = |kind, at| Fault {
        kind,
        at,
        lasting: ONCE,
    };
    let folder = tempdir().unwrap();
    let recorder = Recorder::new(folder.path()).unwrap();
    let mut file = File::create(folder.path().join("a")).unwrap();
    recorder.inject(once(FaultKind::ShortWrite, 2));
    recorder.inject_then(once(FaultKind::Eio, 2));
    file.write_all(b"1").unwrap();
    file.write_all(b"22").unwrap();
    assert_eq!(recorder.hits(), 0);
    assert_eq!(file.write(b"3333").unwrap(), 2);
    assert_eq!(recorder.hits(), 1);
    file.set_len(3).unwrap();
    assert_eq!(errno(file.set_len(2)), Some(libc::EIO));
    assert_eq!(recorder.hits(), 2);
    file.set_len(2).unwrap();

    // What is injected anew begins anew, without the second one.
    recorder.inject(once(FaultKind::Eio, 1));
    assert_eq!(recorder.hits(), 0);
    assert_eq!(errno(file.sync_all()), Some(libc::EIO));
    file.sync_all().unwrap();
    file.sync_all().unwrap();
    recorder.inject(once(FaultKind::Eio, 1));
    recorder.inject_then(once(FaultKind::Eio, 1));
    assert_eq!(errno(file.sync_all()), Some(libc::EIO));
    recorder.heal();
    file.sync_all().unwrap();
    assert_eq!(recorder.hits(), 1);
    drop(file);
    recorder.finish().unwrap();
}

#[test]
fn other_folders_and_other_calls_are_spared() {
    let elsewhere = tempdir().unwrap();
    let (record, hits) = with_fault(FaultKind::Eio, 1, FOR_EVER, |folder, _| {
        fs::write(elsewhere.path().join("a"), b"x").unwrap();
        File::open(folder).unwrap();
        File::open(folder.join("none")).unwrap_err();
        fs::read_dir(folder).unwrap();
    });
    assert_eq!((record.ops.len(), hits), (0, 0));
    let (_, hits) = with_fault(FaultKind::Eio, 0, FOR_EVER, |folder, _| {
        fs::write(folder.join("a"), b"x").unwrap();
    });
    assert_eq!(hits, 0);
}

#[test]
fn every_call_is_spared_by_some_kind_or_struck_by_it_as_documented() {
    let strikes = |call| FaultKind::ALL.map(|kind| kind.strikes(call));
    let (yes, no) = (true, false);
    // Eio, Enospc, Eintr, ShortWrite, AppliedButError
    assert_eq!(strikes(Call::Write), [yes, yes, yes, yes, yes]);
    assert_eq!(strikes(Call::Flush), [yes, yes, yes, no, yes]);
    assert_eq!(strikes(Call::FlushFolder), [yes, no, yes, no, yes]);
    assert_eq!(strikes(Call::Unlink), [yes, no, no, no, yes]);
    assert_eq!(strikes(Call::Rename), [yes, yes, no, no, yes]);
}
