//! What is said of each call is what a power loss left of it.

use super::super::content::Fate::{self, Kept, Lost, Torn};
use super::*;

fn start(len: usize) -> Vec<Call> {
    let durable = write(A, 0, &vec![b'a'; len]);
    vec![create("f", A), FOLDER, durable, flush(A, true)]
}

/// What becomes of the calls behind those of [`start`].
fn fates(len: usize, calls: &[Call], bytes: Bytes) -> Vec<(usize, Fate)> {
    let calls = [&start(len), calls].concat();
    let history = History {
        calls,
        ..History::default()
    };
    let mut walk = Walk::new(&history, Keeping::Journaled);
    walk.go(history.calls.len());
    let names = Names::Kept;
    let fates = walk.fates(Choice { names, bytes }).into_iter();
    fates.map(|(at, fate)| (at - 4, fate)).collect()
}

#[test]
fn a_call_is_kept_lost_or_torn() {
    // They meet in the second sector.
    let calls = [write(A, 0, &[b'b'; 1024]), write(A, 512, &[b'c'; 1024])];
    let of = |bytes| fates(2048, &calls, bytes);
    assert_eq!(of(Bytes::Lost), [(0, Lost), (1, Lost)]);
    assert_eq!(of(Bytes::Kept), [(0, Kept), (1, Kept)]);
    assert_eq!(of(Bytes::Without(4)), [(0, Lost), (1, Torn)]);
    assert_eq!(of(Bytes::Without(5)), [(0, Kept), (1, Lost)]);
    assert_eq!(of(Bytes::Only(4)), [(0, Kept), (1, Lost)]);
    assert_eq!(of(Bytes::Only(5)), [(0, Torn), (1, Kept)]);
}

#[test]
fn a_write_touches_its_own_sectors_alone() {
    let calls = [write(A, 1600, &[b'b'; 500]), write(A, 1, b"c")];
    let of = |bytes| fates(4096, &calls, bytes);
    assert_eq!(of(Bytes::Lost), [(0, Lost), (1, Lost)]);
    assert_eq!(of(Bytes::Kept), [(0, Kept), (1, Kept)]);
    assert_eq!(of(Bytes::Without(4)), [(0, Lost), (1, Kept)]);
    assert_eq!(of(Bytes::Only(4)), [(0, Kept), (1, Lost)]);
    assert_eq!(of(Bytes::Only(5)), [(0, Lost), (1, Kept)]);
}

/// Behind the old end of a file nothing is there without the length.
#[test]
fn what_the_length_does_not_reach_is_not_kept() {
    let calls = [write(A, 3, b"two")];
    let of = |bytes| fates(3, &calls, bytes);
    assert_eq!(of(Bytes::Kept), [(0, Kept)]);
    assert_eq!(of(Bytes::Lengths), [(0, Lost)]);
    let mut all = Vec::new();
    for seed in 0..50 {
        let calls = [&start(3), &calls[..]].concat();
        let history = History {
            calls,
            ..History::default()
        };
        let mut walk = Walk::new(&history, Keeping::Journaled);
        walk.go(5);
        let choice = Choice {
            names: Names::Kept,
            bytes: Bytes::Random { seed, block: 512 },
        };
        let (left, fate) = (line(&walk.image(choice)), walk.fates(choice)[0].1);
        let expected: &[Fate] = match left.as_str() {
            "f=aaatwo" => &[Kept],
            "f=aaa0*3" => &[Lost],
            _ => &[Lost, Torn],
        };
        assert!(expected.contains(&fate), "{left}: {fate:?}");
        all.push(fate);
    }
    assert!([Kept, Lost, Torn].iter().all(|fate| all.contains(fate)));
}

#[test]
fn a_length_alone_is_kept_or_lost() {
    let calls = [Call::Grow { file: A, len: 9 }];
    let of = |bytes| fates(3, &calls, bytes);
    assert_eq!(of(Bytes::Lost), [(0, Lost)]);
    assert_eq!(of(Bytes::Kept), [(0, Kept)]);
}

#[test]
fn what_is_durable_has_no_fate() {
    let calls = [
        write(A, 0, b"b"),
        flush(A, false),
        write(A, 600, b"c"),
        flush(A, true),
    ];
    assert_eq!(fates(1024, &calls, Bytes::Lost), [(0, Lost)]);
    assert_eq!(fates(1024, &calls, Bytes::Kept), [(0, Kept)]);
    let calls = [create("a", B), FOLDER, create("b", 3), create("c", 4)];
    let history = History {
        calls: calls.to_vec(),
        ..History::default()
    };
    let mut walk = Walk::new(&history, Keeping::Journaled);
    walk.go(4);
    let of = |names| {
        let bytes = Bytes::Kept;
        walk.fates(Choice { names, bytes })
    };
    assert_eq!(of(Names::First(1)), [(2, Kept), (3, Lost)]);
    assert_eq!(of(Names::Lost), [(2, Lost), (3, Lost)]);
}
