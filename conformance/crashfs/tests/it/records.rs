//! What a record says of each call of `std::fs`, and that it is whole.

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io::{IoSlice, Seek, SeekFrom, Write},
    os::unix::fs::{FileExt, OpenOptionsExt, symlink},
    path::Path,
    sync::Arc,
};

use sessionlog_crashfs::{Fault, FaultKind, FileId, Op, Place, Record, Recorder};
use tempfile::tempdir;

/// The record of `work` below a folder of its own.
pub(crate) fn recorded(work: impl FnOnce(&Path)) -> Record {
    let folder = tempdir().unwrap();
    let recorder = Recorder::new(folder.path()).unwrap();
    work(folder.path());
    recorder.finish().unwrap()
}

pub(crate) fn place(dir: FileId, name: &str) -> Place {
    let name = Arc::from(OsStr::new(name));
    Place { dir, name }
}

fn root(name: &str) -> Place {
    place(FileId::ROOT, name)
}

pub(crate) fn write(file: FileId, at: u64, data: &[u8]) -> Op {
    let data = Arc::from(data);
    Op::Write { file, at, data }
}

const A: FileId = FileId(1);
const B: FileId = FileId(2);

fn create(file: FileId, name: &str) -> Op {
    let place = root(name);
    Op::Create { file, place }
}

fn flush(data_only: bool) -> Op {
    let (file, ok) = (A, true);
    Op::Flush {
        file,
        data_only,
        ok,
    }
}

#[test]
fn creating_writing_and_flushing_are_told_with_their_contents() {
    let record = recorded(|at| {
        let mut file = File::create(at.join("a")).unwrap();
        file.write_all(b"12345").unwrap();
        file.write_all_at(b"678", 1).unwrap();
        let parts = [IoSlice::new(b"9"), IoSlice::new(b"01")];
        assert_eq!(file.write_vectored(&parts).unwrap(), 3);
        file.seek(SeekFrom::Start(20)).unwrap();
        file.write_all(b"end").unwrap();
        file.sync_data().unwrap();
        file.set_len(2).unwrap();
        file.sync_all().unwrap();
        File::open(at).unwrap().sync_all().unwrap();
    });
    let (dir, ok) = (FileId::ROOT, true);
    let expected = [
        create(A, "a"),
        write(A, 0, b"12345"),
        write(A, 1, b"678"),
        write(A, 5, b"901"),
        write(A, 20, b"end"),
        flush(true),
        Op::Truncate { file: A, len: 2 },
        flush(false),
        Op::FlushFolder { dir, ok },
    ];
    assert_eq!(record.ops, expected);
}

#[test]
fn appends_are_where_the_end_was() {
    let record = recorded(|at| {
        fs::write(at.join("a"), b"start").unwrap();
        let mut log = OpenOptions::new().append(true).open(at.join("a")).unwrap();
        let mut twin = log.try_clone().unwrap();
        log.write_all(b"1").unwrap();
        twin.write_all(b"2").unwrap();
        // Linux appends whatever the offset.
        log.write_all_at(b"3", 0).unwrap();
        drop(
            OpenOptions::new()
                .append(true)
                .create(true)
                .open(at.join("a"))
                .unwrap(),
        );
    });
    let appended: Vec<_> = record.ops[2..].to_vec();
    let expected = [write(A, 5, b"1"), write(A, 6, b"2"), write(A, 7, b"3")];
    assert_eq!(appended, expected);
}

#[test]
fn opening_cuts_and_a_file_made_anew_is_another_file() {
    let record = recorded(|at| {
        fs::write(at.join("a"), b"old").unwrap();
        drop(File::create(at.join("a")).unwrap());
        File::create_new(at.join("a")).unwrap_err();
        fs::remove_file(at.join("a")).unwrap();
        // The file system may give the same inode again.
        fs::write(at.join("a"), b"new").unwrap();
    });
    let (node, place) = (A, root("a"));
    let expected = [
        create(A, "a"),
        write(A, 0, b"old"),
        Op::Truncate { file: A, len: 0 },
        Op::Unlink { node, place },
        create(B, "a"),
        write(B, 0, b"new"),
    ];
    assert_eq!(record.ops, expected);
}

#[test]
fn files_are_known_whatever_their_names() {
    let record = recorded(|at| {
        let mut file = File::create(at.join("a")).unwrap();
        fs::create_dir(at.join("d")).unwrap();
        fs::hard_link(at.join("a"), at.join("d/b")).unwrap();
        fs::rename(at.join("a"), at.join("c")).unwrap();
        // Two names of one file: nothing happens.
        fs::rename(at.join("c"), at.join("d/b")).unwrap();
        fs::rename(at.join("d"), at.join("e")).unwrap();
        file.write_all(b"x").unwrap();
        fs::remove_file(at.join("c")).unwrap();
        fs::write(at.join("f"), b"").unwrap();
        fs::rename(at.join("f"), at.join("e/b")).unwrap();
        file.write_all(b"to nobody").unwrap();
        symlink("e/b", at.join("l")).unwrap();
        fs::remove_file(at.join("l")).unwrap();
        fs::remove_file(at.join("e/b")).unwrap();
        fs::remove_dir(at.join("e")).unwrap();
    });
    let (dir, f, l) = (B, FileId(3), FileId(4));
    let rename = |node, from, to, replaced| Op::Rename {
        node,
        from,
        to,
        replaced,
    };
    let unlink = |node, place| Op::Unlink { node, place };
    let expected = [
        create(A, "a"),
        Op::Mkdir {
            dir,
            place: root("d"),
        },
        Op::Link {
            file: A,
            place: place(dir, "b"),
        },
        rename(A, root("a"), root("c"), None),
        rename(dir, root("d"), root("e"), None),
        write(A, 0, b"x"),
        unlink(A, root("c")),
        create(f, "f"),
        rename(f, root("f"), place(dir, "b"), Some(A)),
        write(A, 1, b"to nobody"),
        Op::Symlink {
            link: l,
            place: root("l"),
            target: root("e/b").name,
        },
        unlink(l, root("l")),
        unlink(f, place(dir, "b")),
        Op::Rmdir {
            dir,
            place: root("e"),
        },
    ];
    assert_eq!(record.ops, expected);
}

#[test]
fn a_write_that_flushes_by_itself_is_followed_by_the_flush() {
    let record = recorded(|at| {
        let open = |flags| {
            let mut options = OpenOptions::new();
            options.write(true).create(true).custom_flags(flags);
            options.open(at.join("a")).unwrap()
        };
        open(libc::O_DSYNC).write_all(b"1").unwrap();
        open(libc::O_SYNC).write_all(b"2").unwrap();
    });
    let expected = [
        create(A, "a"),
        write(A, 0, b"1"),
        flush(true),
        write(A, 0, b"2"),
        flush(false),
    ];
    assert_eq!(record.ops, expected);
}

#[test]
fn what_was_there_before_is_the_start_and_its_files_have_ids() {
    let folder = tempdir().unwrap();
    fs::create_dir(folder.path().join("d")).unwrap();
    fs::write(folder.path().join("d/a"), b"old").unwrap();
    let mut open = OpenOptions::new()
        .append(true)
        .open(folder.path().join("d/a"))
        .unwrap();
    let recorder = Recorder::new(folder.path()).unwrap();
    open.write_all(b"!").unwrap();
    fs::rename(folder.path().join("d/a"), folder.path().join("b")).unwrap();
    let record = recorder.finish().unwrap();

    let (dir, file) = (
        record.start.find("d").unwrap(),
        record.start.find("d/a").unwrap(),
    );
    assert_eq!(record.start.bytes("d/a"), Some(&b"old"[..]));
    let rename = Op::Rename {
        node: file,
        from: place(dir, "a"),
        to: root("b"),
        replaced: None,
    };
    assert_eq!(record.ops, [write(file, 3, b"!"), rename]);
    let mut end = record.start.clone();
    record.ops.iter().for_each(|op| end.apply(op));
    assert_eq!(end.bytes("b"), Some(&b"old!"[..]));
}

#[test]
fn a_mark_counts_what_was_done_before_it() {
    let folder = tempdir().unwrap();
    let recorder = Recorder::new(folder.path()).unwrap();
    let mut marks = vec![recorder.mark()];
    for name in ["a", "b"] {
        let mut file = File::create(folder.path().join(name)).unwrap();
        file.write_all(name.as_bytes()).unwrap();
        file.sync_data().unwrap();
        marks.push(recorder.mark());
    }
    assert_eq!(marks, [0, 3, 6]);
    assert_eq!(recorder.finish().unwrap().ops.len(), 6);
}

#[test]
fn two_recorders_keep_to_their_folders_and_one_inside_another_sees_its_part() {
    let (one, two) = (tempdir().unwrap(), tempdir().unwrap());
    fs::create_dir(one.path().join("in")).unwrap();
    let outer = Recorder::new(one.path()).unwrap();
    let inner = Recorder::new(one.path().join("in")).unwrap();
    let other = Recorder::new(two.path()).unwrap();
    fs::write(one.path().join("in/a"), b"1").unwrap();
    fs::write(one.path().join("b"), b"2").unwrap();
    fs::write(two.path().join("c"), b"3").unwrap();
    // Out of one, within the other.
    fs::rename(one.path().join("in/a"), one.path().join("a")).unwrap();
    let ops = |recorder: Recorder| recorder.finish().unwrap().ops.len();
    assert_eq!((ops(outer), ops(inner), ops(other)), (5, 3, 2));
}

#[test]
fn a_recorder_that_is_dropped_leaves_its_place_to_others() {
    let folder = tempdir().unwrap();
    for n in 0..100_u32 {
        let recorder = Recorder::new(folder.path()).unwrap();
        fs::write(folder.path().join("a"), n.to_string()).unwrap();
        assert_eq!(recorder.mark(), 2);
    }
    assert_eq!(recorded(|_| ()).ops, []);
}

#[test]
fn the_least_that_a_power_loss_leaves_is_what_a_flush_has_proved() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("old"), b"old").unwrap();
    let recorder = Recorder::new(folder.path()).unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut file = fs::File::create(path("new")).unwrap();
    file.write_all(b"1").unwrap();
    file.sync_all().unwrap();
    let unnamed = recorder.mark();
    fs::File::open(folder.path()).unwrap().sync_all().unwrap();
    file.write_all(b"2").unwrap();
    fs::remove_file(path("old")).unwrap();
    let named = recorder.mark();
    recorder.inject(Fault {
        kind: FaultKind::Eio,
        at: 1,
        lasting: false,
    });
    file.sync_all().unwrap_err();
    file.write_all(b"3").unwrap();
    file.sync_all().unwrap();
    fs::File::open(folder.path()).unwrap().sync_all().unwrap();
    let record = recorder.finish().unwrap();
    let at = |mark, name| record.least(mark).bytes(name).map(<[u8]>::to_vec);
    assert_eq!(
        (at(unnamed, "new"), at(unnamed, "old")),
        (None, Some(b"old".to_vec()))
    );
    assert_eq!(
        (at(named, "new"), at(named, "old")),
        (Some(b"1".to_vec()), Some(b"old".to_vec()))
    );
    // What came before the flush that failed is gone for ever.
    let all = record.ops.len();
    assert_eq!(
        (at(all, "new"), at(all, "old")),
        (Some(b"1\x003".to_vec()), None)
    );
}
