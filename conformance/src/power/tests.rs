//! The model on histories written by hand.

use std::collections::BTreeSet;

use bytes::Bytes as Data;
use sessionlog_crashfs::{FileId, Tree};

use super::content::Bytes;
use super::history::{Call, Entry, History, ROOT};
use super::names::{Keeping, Names};
use super::walk::{Choice, Walk};

mod choices;
mod fates;
mod killed;

const A: u32 = 1;
const B: u32 = 2;

fn entry(name: &str) -> Entry {
    Entry {
        dir: ROOT,
        name: name.into(),
    }
}

fn write(file: u32, at: u64, text: &[u8]) -> Call {
    Call::Write {
        file,
        at,
        bytes: Data::copy_from_slice(text),
    }
}

fn flush(file: u32, ok: bool) -> Call {
    Call::Flush {
        file,
        data_only: true,
        ok,
    }
}

const FOLDER: Call = Call::FlushFolder {
    dir: ROOT,
    ok: true,
};

fn create(name: &str, file: u32) -> Call {
    Call::Create(entry(name), file)
}

fn rename(from: &str, to: &str, node: u32) -> Call {
    Call::Rename {
        from: entry(from),
        to: entry(to),
        node,
    }
}

/// Everything that a power loss behind the last call can leave, one line each: names and bytes.
fn left(calls: Vec<Call>, keeping: Keeping) -> BTreeSet<String> {
    let history = History {
        calls,
        ..History::default()
    };
    let mut walk = Walk::new(&history, keeping);
    walk.go(history.calls.len());
    let choices = walk.choices(40, 0);
    choices.into_iter().map(|c| line(&walk.image(c))).collect()
}

fn line(image: &Tree) -> String {
    let mut lines = Vec::new();
    paths(image, FileId::ROOT, "", &mut lines);
    lines.join(" ")
}

fn paths(image: &Tree, dir: FileId, before: &str, lines: &mut Vec<String>) {
    for (name, id) in &image.folders[&dir] {
        let path = format!("{before}{}", name.display());
        if let Some(bytes) = image.files.get(id) {
            lines.push(format!("{path}={}", runs(bytes)));
        } else if let Some(to) = image.links.get(id) {
            lines.push(format!("{path}->{}", to.display()));
        } else if image.folders.contains_key(id) {
            lines.push(format!("{path}/"));
            paths(image, *id, &format!("{path}/"), lines);
        }
    }
}

fn runs(bytes: &[u8]) -> String {
    let short = |run: &[u8]| match (run[0], run.len()) {
        (0, n) => format!("0*{n}"),
        (b, n) if n > 8 => format!("{}*{n}", char::from(b)),
        (b, n) => char::from(b).to_string().repeat(n),
    };
    bytes.chunk_by(|a, b| a == b).map(short).collect()
}

fn set<const N: usize>(lines: [&str; N]) -> BTreeSet<String> {
    lines.into_iter().map(str::to_owned).collect()
}

#[test]
fn what_was_flushed_stays() {
    let calls = vec![
        create("a", A),
        write(A, 0, b"one"),
        flush(A, true),
        FOLDER,
        write(A, 3, b"two"),
    ];
    for keeping in [Keeping::Journaled, Keeping::Posix] {
        let found = left(calls.clone(), keeping);
        // Both are in one sector, which has its old bytes, with the new length or without.
        assert_eq!(found, set(["a=one", "a=one0*3", "a=onetwo"]));
    }
}

#[test]
fn a_flushed_file_keeps_its_name_in_a_journal_alone() {
    let calls = vec![create("a", A), write(A, 0, b"x"), flush(A, true)];
    assert_eq!(left(calls.clone(), Keeping::Journaled), set(["a=x"]));
    assert_eq!(left(calls, Keeping::Posix), set(["", "a=x"]));
}

#[test]
fn a_journal_keeps_the_order_of_names_and_posix_does_not() {
    let calls = vec![create("a", A), create("b", B)];
    let journaled = left(calls.clone(), Keeping::Journaled);
    assert_eq!(journaled, set(["", "a=", "a= b="]));
    let posix = left(calls, Keeping::Posix);
    assert_eq!(posix, set(["", "a=", "b=", "a= b="]));
}

#[test]
fn a_rename_can_come_before_the_bytes() {
    let calls = vec![
        create("new", A),
        FOLDER,
        write(A, 0, b"x"),
        rename("new", "a", A),
    ];
    let found = left(calls, Keeping::Journaled);
    assert_eq!(
        found,
        set(["new=", "new=x", "new=0*1", "a=", "a=x", "a=0*1"])
    );
}

#[test]
fn a_flush_of_data_does_not_keep_a_rename() {
    let upto_rename = |data_only| {
        vec![
            create("new", A),
            FOLDER,
            rename("new", "a", A),
            Call::Flush {
                file: A,
                data_only,
                ok: true,
            },
        ]
    };
    let found = left(upto_rename(true), Keeping::Journaled);
    assert_eq!(found, set(["new=", "a="]));
    assert_eq!(left(upto_rename(false), Keeping::Journaled), set(["a="]));
    assert_eq!(
        left(upto_rename(false), Keeping::Posix),
        set(["new=", "a="])
    );
}

#[test]
fn a_name_out_of_a_folder_that_is_lost_is_lost() {
    let inner = |name: &str| Entry {
        dir: 7,
        name: name.into(),
    };
    let calls = vec![
        Call::Folder(entry("d"), 7),
        Call::Create(inner("a"), A),
        Call::FlushFolder { dir: 7, ok: true },
    ];
    assert_eq!(
        left(calls.clone(), Keeping::Posix),
        set(["", "d/ d/a="]),
        "the folder itself was not flushed into its own"
    );
    assert_eq!(left(calls, Keeping::Journaled), set(["d/ d/a="]));
}

#[test]
fn a_name_that_moves_to_another_folder_rests_on_both() {
    let inner = |name: &str| Entry {
        dir: 7,
        name: name.into(),
    };
    let calls = |make: &dyn Fn(&str) -> Call| {
        vec![
            Call::Folder(entry("d"), 7),
            make("x"),
            Call::FlushFolder { dir: 7, ok: true },
            FOLDER,
            Call::Rename {
                from: inner("x"),
                to: entry("x"),
                node: A,
            },
        ]
    };
    let file = |name: &str| Call::Create(inner(name), A);
    let found = left(calls(&file), Keeping::Posix);
    assert_eq!(found, set(["d/", "d/ d/x=", "d/ x=", "d/ d/x= x="]));
    let mut flushed = calls(&file);
    flushed.push(FOLDER);
    let found = left(flushed, Keeping::Posix);
    assert_eq!(found, set(["d/ x=", "d/ d/x= x="]));
    let folder = |name: &str| Call::Folder(inner(name), A);
    let mut flushed = calls(&folder);
    flushed.push(FOLDER);
    assert_eq!(left(flushed, Keeping::Posix), set(["d/ x/"]));
    let mut source = calls(&folder);
    source.push(Call::FlushFolder { dir: 7, ok: true });
    let found = left(source, Keeping::Posix);
    assert_eq!(found, set(["d/", "d/ x/"]));
}

#[test]
fn a_sector_is_whole_and_sectors_are_apart() {
    let old = vec![b'a'; 1024];
    let new = vec![b'b'; 1024];
    let calls = vec![
        create("f", A),
        write(A, 0, &old),
        flush(A, true),
        FOLDER,
        write(A, 0, &new),
    ];
    let found = left(calls, Keeping::Journaled);
    let expected = set(["f=a*1024", "f=b*1024", "f=a*512b*512", "f=b*512a*512"]);
    assert_eq!(found, expected);
}

#[test]
fn a_write_is_never_mixed_with_its_own_sectors_past() {
    let calls = vec![
        create("f", A),
        write(A, 0, b"----"),
        flush(A, true),
        FOLDER,
        write(A, 0, b"a"),
        write(A, 1, b"b"),
    ];
    let found = left(calls, Keeping::Journaled);
    assert_eq!(found, set(["f=----", "f=a---", "f=ab--"]));
}

#[test]
fn a_failed_flush_leaves_what_was_before_it_open_for_ever() {
    let calls = vec![
        create("f", A),
        FOLDER,
        write(A, 0, b"a"),
        flush(A, false),
        flush(A, true),
    ];
    let found = left(calls.clone(), Keeping::Journaled);
    assert_eq!(found, set(["f=", "f=a", "f=0*1"]));
    let mut anew = calls;
    anew.extend([write(A, 0, b"b"), flush(A, true)]);
    assert_eq!(left(anew, Keeping::Journaled), set(["f=b"]));
    let cut = vec![
        create("f", A),
        FOLDER,
        write(A, 0, &[b'a'; 600]),
        flush(A, false),
        Call::Resize { file: A, len: 0 },
        flush(A, true),
        write(A, 0, &[b'c'; 600]),
        flush(A, true),
    ];
    assert_eq!(left(cut, Keeping::Journaled), set(["f=c*600"]));
}

#[test]
fn what_is_cut_off_is_gone_with_the_length() {
    let calls = vec![
        create("f", A),
        FOLDER,
        write(A, 0, &[b'a'; 1024]),
        flush(A, true),
        Call::Resize { file: A, len: 0 },
        write(A, 0, &[b'b'; 512]),
    ];
    let found = left(calls, Keeping::Journaled);
    assert_eq!(found, set(["f=a*1024", "f=", "f=b*512", "f=0*512"]));
}

#[test]
fn a_longer_file_may_have_no_bytes_yet() {
    let calls = vec![
        create("f", A),
        FOLDER,
        write(A, 0, b"x"),
        flush(A, true),
        Call::Grow { file: A, len: 4 },
    ];
    assert_eq!(left(calls, Keeping::Journaled), set(["f=x", "f=x0*3"]));
}

#[test]
fn a_removed_name_can_come_back() {
    let calls = vec![
        create("f", A),
        FOLDER,
        flush(A, true),
        Call::Unlink(entry("f"), A),
    ];
    let found = left(calls.clone(), Keeping::Posix);
    assert_eq!(found, set(["", "f="]));
    let mut flushed = calls;
    flushed.push(FOLDER);
    assert_eq!(left(flushed, Keeping::Posix), set([""]));
}

#[test]
fn without_a_flush_less_is_sure() {
    let history = History {
        calls: vec![create("f", A), write(A, 0, b"x"), flush(A, true)],
        ..History::default()
    };
    let less = history.without(2);
    let mut walk = Walk::new(&less, Keeping::Journaled);
    walk.go(3);
    let lost = Choice {
        names: Names::Lost,
        bytes: Bytes::Lost,
    };
    assert_eq!(line(&walk.image(lost)), "");
    assert_eq!(less.calls.len(), history.calls.len());
}

#[test]
fn a_history_survives_a_file() {
    let mut history = History {
        calls: vec![
            create("f", A),
            write(A, 3, b"\0\xff\n"),
            flush(A, false),
            Call::Exchange([(entry("a"), A), (entry("b"), B)]),
        ],
        ..History::default()
    };
    history.start.files.insert(B, Data::from_static(b"old"));
    history.start.names.push((entry("b"), B));
    let text = serde_json::to_string(&history).unwrap();
    let again: History = serde_json::from_str(&text).unwrap();
    assert_eq!(again, history);
}
