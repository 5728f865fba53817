//! What a killed process left, and the record of the next one behind its own.

use sessionlog_crashfs::FileId;

use super::super::history::{Mark, Start};
use super::*;
use crate::breach::End;

const C: u32 = 3;

fn below(dir: u32, name: &str) -> Entry {
    let name = name.into();
    Entry { dir, name }
}

/// A folder with a file in it, that has a second name, and nothing flushed but its first byte.
fn first() -> History {
    History {
        calls: vec![
            Call::Folder(entry("dir"), A),
            Call::Create(below(A, "file"), B),
            write(B, 0, b"1"),
            FOLDER,
            flush(B, true),
            write(B, 1, b"2"),
            Call::Link(entry("other"), B),
            create("later", C),
        ],
        marks: vec![(5, mark(0)), (7, mark(1))],
        ..History::default()
    }
}

fn mark(step: usize) -> Mark {
    Mark {
        step,
        ..Mark::default()
    }
}

/// The number of the folder where it is found again.
const DIR: u32 = 2;
/// The number of its file there.
const FILE: u32 = 1;

/// What finds the folder behind its first six calls.
fn second(calls: Vec<Call>) -> History {
    History {
        start: Start {
            names: vec![(below(DIR, "file"), FILE), (entry("dir"), DIR)],
            files: [(FILE, Data::from_static(b"12"))].into(),
            ..Start::default()
        },
        calls,
        marks: vec![(0, mark(1)), (2, mark(2))],
        since: 1,
    }
}

/// Everything that a power loss behind the last call can leave.
fn lost(history: &History) -> BTreeSet<String> {
    let mut walk = Walk::new(history, Keeping::Journaled);
    walk.go(history.calls.len());
    let choices = walk.choices(0, 0);
    choices.into_iter().map(|c| line(&walk.image(c))).collect()
}

#[test]
fn a_kill_leaves_all_that_was_written_up_to_it() {
    for (upto, expected) in [
        (0, ""),
        (2, "dir/ dir/file="),
        (5, "dir/ dir/file=1"),
        (6, "dir/ dir/file=12"),
        (7, "dir/ dir/file=12 other=12"),
    ] {
        assert_eq!(line(&first().left_by_kill(upto)), expected, "{upto}");
    }
}

#[test]
fn what_the_killed_process_did_not_flush_is_open_until_the_next_one_does() {
    let lost = |calls| lost(&first().then(6, second(calls)).unwrap());
    let open = set(["dir/ dir/file=1", "dir/ dir/file=10*1", "dir/ dir/file=12"]);
    let whole = set(["dir/ dir/file=12"]);
    assert_eq!(lost(vec![]), open);
    assert_eq!(lost(vec![flush(FILE, true)]), whole);
    // A flush that failed may have dropped it, and the next one does not bring it back.
    assert_eq!(lost(vec![flush(FILE, false), flush(FILE, true)]), open);
    // Written anew, it is there.
    let anew = [flush(FILE, false), write(FILE, 1, b"2"), flush(FILE, true)];
    assert_eq!(lost(anew.to_vec()), whole);
}

#[test]
fn every_call_of_the_next_process_is_about_the_same_files() {
    let file = || below(DIR, "file");
    let calls = vec![
        Call::Create(below(DIR, "new"), C),
        write(C, 0, b"n"),
        Call::Link(below(DIR, "link"), FILE),
        Call::Rename {
            from: below(DIR, "link"),
            to: entry("moved"),
            node: FILE,
        },
        Call::Exchange([(file(), C), (below(DIR, "new"), FILE)]),
        Call::Symlink(entry("symlink"), 5, "dir".into()),
        Call::Folder(entry("empty"), 6),
        Call::Create(below(6, "gone"), 7),
        Call::Grow { file: 7, len: 9 },
        Call::Unlink(below(6, "gone"), 7),
        Call::Resize { file: FILE, len: 4 },
        Call::Zero {
            file: FILE,
            at: 0,
            len: 1,
        },
        Call::FlushFolder { dir: DIR, ok: true },
        Call::FlushAll { ok: true },
    ];
    let both = first().then(6, second(calls)).unwrap();
    let expected = "dir/ dir/file=n dir/new=0*120*2 empty/ moved=0*120*2 symlink->dir";
    assert_eq!(lost(&both), set([expected]));
}

#[test]
fn what_was_acknowledged_before_the_kill_counts() {
    let both = first().then(6, second(vec![FOLDER, FOLDER])).unwrap();
    let steps = |upto| -> Vec<_> { both.acknowledged(upto).map(|mark| mark.step).collect() };
    assert_eq!(steps(4), Vec::<usize>::new());
    assert_eq!(steps(5), [0]);
    assert_eq!(steps(6), [0, 1]);
    assert_eq!(steps(8), [0, 1, 2]);
    assert_eq!((both.since, both.calls.len()), (7, 8));
}

#[test]
fn what_nobody_left_breaks_the_record() {
    let both = first().then(1, second(vec![]));
    assert!(matches!(both, Err(End::Broken(_))), "{both:?}");
}

#[test]
fn a_file_without_a_name_is_another_one() {
    let mut next = second(vec![write(9, 0, b"x"), Call::Link(entry("named"), 9)]);
    next.start.files.insert(9, Data::new());
    let both = first().then(6, next).unwrap();
    assert!(lost(&both).contains("dir/ dir/file=12 named=x"));
    let ids: BTreeSet<_> = both.start.files.keys().copied().collect();
    assert!(!ids.contains(&FileId::ROOT.0) && ids.len() == 1, "{ids:?}");
}

#[test]
fn a_file_without_a_name_has_its_bytes_from_the_start_on() {
    let mut next = second(vec![Call::Link(entry("back"), 9)]);
    next.start.files.insert(9, Data::from_static(b"xy"));
    let both = first().then(6, next).unwrap();
    let all = line(&both.left_by_kill(both.calls.len()));
    assert_eq!(all, "back=xy dir/ dir/file=12");
}

#[test]
fn a_flush_that_failed_is_told_from_one_that_did_not_and_from_what_changes() {
    let folder = |ok| Call::FlushFolder { dir: ROOT, ok };
    for (call, fails) in [
        (flush(A, true), false),
        (flush(A, false), true),
        (folder(true), false),
        (folder(false), true),
        (Call::FlushAll { ok: true }, false),
        (Call::FlushAll { ok: false }, true),
        (write(A, 0, b"1"), false),
        (create("name", A), false),
    ] {
        assert_eq!(call.fails(), fails, "{call:?}");
        assert_eq!(call.flushes(), !fails && !call.changes(), "{call:?}");
    }
}
