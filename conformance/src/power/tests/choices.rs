//! Which power losses there are, and what each leaves.

use super::*;

fn history(calls: Vec<Call>) -> History {
    History {
        calls,
        ..History::default()
    }
}

/// Two files with their names, all of it durable.
fn two_files() -> History {
    let mut history = history(Vec::new());
    for (name, node) in [("a", A), ("b", B)] {
        history.start.names.push((entry(name), node));
        history.start.files.insert(node, name.to_owned().into());
    }
    history
}

fn walk(history: &History, keeping: Keeping) -> Walk<'_> {
    let mut walk = Walk::new(history, keeping);
    walk.go(history.calls.len());
    walk
}

fn bytes(bytes: Bytes) -> Choice {
    let names = Names::Kept;
    Choice { names, bytes }
}

fn names(names: Names) -> Choice {
    let bytes = Bytes::Kept;
    Choice { names, bytes }
}

fn random(seed: u64, block: u64) -> Bytes {
    Bytes::Random { seed, block }
}

/// What the random choices of bytes leave, with that block.
fn at_random(history: &History, block: u64) -> BTreeSet<String> {
    let mut walk = walk(history, Keeping::Journaled);
    let choices = (0..3_000).map(|seed| bytes(random(seed, block)));
    choices.map(|choice| line(&walk.image(choice))).collect()
}

#[test]
fn the_choices_are_these() {
    let calls = vec![
        create("a", A),
        FOLDER,
        write(A, 0, b"x"),
        write(A, 600, b"y"),
        create("b", B),
        Call::FlushFolder {
            dir: ROOT,
            ok: false,
        },
    ];
    let history = history(calls);
    let mut walk = Walk::new(&history, Keeping::Journaled);
    let here = |walk: &Walk<'_>, random| -> Vec<_> {
        let choices = walk.choices(random, 7).into_iter();
        choices.map(|c| (c.names, c.bytes)).collect()
    };
    assert_eq!(here(&walk, 6), [(Names::Kept, Bytes::Lost)]);
    // With a name alone that may be lost there is nothing to throw dice for.
    walk.go(1);
    let plain = [(Names::Lost, Bytes::Lost), (Names::Kept, Bytes::Lost)];
    assert_eq!(here(&walk, 6), plain);
    walk.go(2);
    assert!(walk.open_bytes().is_empty());
    walk.go(3);
    assert_eq!(walk.open_bytes(), [2]);
    let of_one = [
        (Names::Kept, Bytes::Lost),
        (Names::Kept, Bytes::Kept),
        (Names::Kept, Bytes::Lengths),
    ];
    assert_eq!(here(&walk, 0), of_one);
    walk.go(6);
    let of_two = [
        (Names::Lost, Bytes::Lost),
        (Names::Kept, Bytes::Lost),
        (Names::Lost, Bytes::Kept),
        (Names::Kept, Bytes::Kept),
        (Names::Kept, Bytes::Lengths),
        (Names::Kept, Bytes::Without(2)),
        (Names::Kept, Bytes::Without(3)),
        (Names::Kept, Bytes::Only(2)),
        (Names::Kept, Bytes::Only(3)),
        (Names::Kept, random(6_007, 512)),
        (Names::Random(6_008), random(6_008, 512)),
        (Names::Kept, random(6_009, 4096)),
        (Names::Random(6_010), random(6_010, 4096)),
        (Names::Kept, random(6_011, 512)),
        (Names::Random(6_012), random(6_012, 512)),
    ];
    assert_eq!(here(&walk, 6), of_two);
    let counts = |is: fn(&Choice) -> bool| {
        let choices = walk.choices(6, 7);
        choices.iter().map(is).collect::<Vec<_>>()
    };
    let first = |n: usize| (0..15).map(|at| at < n).collect::<Vec<_>>();
    assert_eq!(counts(|c| c.is_plain())[..14], first(4)[..14]);
    assert_eq!(counts(|c| !c.tears()), first(4));
    let mixed = names(Names::Random(1));
    assert!(!mixed.is_plain() && !mixed.tears());
}

#[test]
fn names_have_choices_of_their_own() {
    let mut history = history(vec![create("a", A), create("b", B)]);
    let found = |history: &History, keeping| {
        let choices = walk(history, keeping).choices(1, 0).into_iter();
        choices.map(|c| c.names).collect::<Vec<_>>()
    };
    let journaled = [Names::Lost, Names::Kept, Names::First(1), Names::Kept];
    assert_eq!(found(&history, Keeping::Journaled), journaled);
    let posix = [
        Names::Lost,
        Names::Kept,
        Names::Without(0),
        Names::Without(1),
        Names::Only(0),
        Names::Only(1),
        Names::Kept,
    ];
    assert_eq!(found(&history, Keeping::Posix), posix);
    history.calls.truncate(1);
    let one = [Names::Lost, Names::Kept];
    assert_eq!(found(&history, Keeping::Posix), one);
}

#[test]
fn each_choice_of_names_leaves_this() {
    let history = history(vec![create("a", A), create("b", B), create("c", 3)]);
    let left = |keeping, chosen| line(&walk(&history, keeping).image(names(chosen)));
    let journaled = |chosen| left(Keeping::Journaled, chosen);
    assert_eq!(journaled(Names::First(1)), "a=");
    assert_eq!(journaled(Names::First(2)), "a= b=");
    let posix = |chosen| left(Keeping::Posix, chosen);
    assert_eq!(posix(Names::Without(1)), "a= c=");
    assert_eq!(posix(Names::Only(1)), "b=");
    let at_random = |keeping| -> BTreeSet<String> {
        let seeds = 0..100;
        let left = |seed| left(keeping, Names::Random(seed));
        seeds.map(left).collect()
    };
    let prefixes = set(["", "a=", "a= b=", "a= b= c="]);
    assert_eq!(at_random(Keeping::Journaled), prefixes);
    assert_eq!(at_random(Keeping::Posix).len(), 8);
}

#[test]
fn a_file_has_its_names_one_after_the_other() {
    let mut history = two_files();
    history.calls = vec![rename("a", "c", A), rename("c", "d", A)];
    let left = |history: &History| -> BTreeSet<String> {
        let mut walk = walk(history, Keeping::Posix);
        let choices = walk.choices(0, 0).into_iter();
        choices.map(|c| line(&walk.image(c))).collect()
    };
    let renamed = set(["a=a b=b", "b=b c=a", "b=b d=a"]);
    assert_eq!(left(&history), renamed);
    history.calls[1] = Call::Exchange([(entry("c"), B), (entry("b"), A)]);
    let exchanged = set(["a=a b=b", "b=b c=a", "b=a c=b"]);
    assert_eq!(left(&history), exchanged);
    // An exchange presupposes what became of both, and is presupposed by what comes of them later.
    history.calls = vec![
        Call::Exchange([(entry("a"), B), (entry("b"), A)]),
        rename("b", "d", A),
    ];
    let moved = set(["a=a b=b", "a=b b=a", "a=b d=a"]);
    assert_eq!(left(&history), moved);
}

#[test]
fn links_are_there_and_a_flush_of_everything_keeps_all_of_it() {
    let link = Call::Symlink(entry("l"), 3, "a".into());
    let calls = vec![create("a", A), write(A, 0, b"x"), link];
    let with = |ok| {
        let mut calls = calls.clone();
        calls.push(Call::FlushAll { ok });
        calls
    };
    for keeping in [Keeping::Journaled, Keeping::Posix] {
        assert_eq!(left(with(true), keeping), set(["a=x l->a"]));
        assert!(left(with(false), keeping).contains(""));
    }
    let mut again = with(false);
    again.extend([flush(A, true), FOLDER]);
    let found = left(again, Keeping::Journaled);
    assert_eq!(found, set(["a= l->a", "a=x l->a", "a=0*1 l->a"]));
}

#[test]
fn each_choice_of_bytes_leaves_this() {
    let mut history = two_files();
    history.calls = vec![write(A, 0, b"x"), write(A, 600, b"y"), write(A, 1200, b"z")];
    let left = |chosen| line(&walk(&history, Keeping::Journaled).image(bytes(chosen)));
    assert_eq!(left(Bytes::Lost), "a=a b=b");
    assert_eq!(left(Bytes::Kept), "a=x0*599y0*599z b=b");
    assert_eq!(left(Bytes::Lengths), "a=a0*1200 b=b");
    assert_eq!(left(Bytes::Without(0)), "a=a0*599y0*599z b=b");
    assert_eq!(left(Bytes::Without(1)), "a=x0*1199z b=b");
    assert_eq!(left(Bytes::Without(2)), "a=x0*599y b=b");
    assert_eq!(left(Bytes::Only(0)), "a=x b=b");
    assert_eq!(left(Bytes::Only(1)), "a=a0*599y b=b");
    assert_eq!(left(Bytes::Only(2)), "a=a0*1199z b=b");
}

#[test]
fn zeros_within_a_file_are_bytes_like_others() {
    let calls = vec![
        create("f", A),
        FOLDER,
        write(A, 0, &[b'a'; 2048]),
        flush(A, true),
        Call::Zero {
            file: A,
            at: 512,
            len: 1024,
        },
    ];
    let found = left(calls, Keeping::Journaled);
    let expected = set([
        "f=a*2048",
        "f=a*5120*1024a*512",
        "f=a*5120*512a*1024",
        "f=a*10240*512a*512",
    ]);
    assert_eq!(found, expected);
}

#[test]
fn a_sector_may_be_as_it_was_behind_any_call() {
    let mut calls = vec![create("f", A), FOLDER];
    calls.extend([b"a", b"b", b"c"].map(|text| write(A, 0, text)));
    calls.insert(3, flush(A, true));
    let found = at_random(&history(calls), 512);
    assert_eq!(found, set(["f=a", "f=b", "f=c"]));
}

/// The blocks of a file that were written as a whole, and those that were not.
#[test]
fn random_blocks_are_apart_and_each_is_whole() {
    let calls = vec![
        create("f", A),
        FOLDER,
        write(A, 0, &[b'a'; 16 << 10]),
        flush(A, true),
        write(A, 0, &[b'b'; 16 << 10]),
    ];
    let history = history(calls);
    let mut walk = walk(&history, Keeping::Journaled);
    for (block, len) in [(512, 512), (4096, 4096)] {
        let (mut all, mut together) = (BTreeSet::new(), 0);
        for seed in 0..200 {
            let image = walk.image(bytes(random(seed, block)));
            let content = image.bytes("f").unwrap();
            for whole in content.chunks(len) {
                assert!(whole.iter().all(|byte| *byte == whole[0]), "seed {seed}");
            }
            let blocks: Vec<u8> = content.chunks(4096).map(|block| block[0]).collect();
            all.insert(blocks);
            let apart = content
                .chunks(4096)
                .any(|b| b.iter().any(|byte| *byte != b[0]));
            together += usize::from(!apart);
        }
        assert_eq!(all.len(), 16, "each of four blocks alone");
        assert!(if block == 4096 {
            together == 200
        } else {
            together < 20
        });
    }
}

#[test]
fn what_a_write_makes_longer_may_grow_by_blocks() {
    let calls = vec![
        create("f", A),
        FOLDER,
        write(A, 0, &[b'a'; 700]),
        flush(A, true),
        write(A, 700, &[b'b'; 9_300]),
    ];
    let history = history(calls);
    let mut walk = walk(&history, Keeping::Journaled);
    for block in [512, 4096] {
        let images = (0..3_000).map(|seed| walk.image(bytes(random(seed, block))));
        let found: BTreeSet<u64> = images.map(|i| i.bytes("f").unwrap().len() as u64).collect();
        let mut expected = BTreeSet::from([700, 10_000]);
        expected.extend(
            (1..20)
                .map(|n| n * block)
                .filter(|n| (701..10_000).contains(n)),
        );
        assert_eq!(found, expected);
    }
}

#[test]
fn a_cut_takes_nothing_of_what_was_written_before_it() {
    let calls = vec![
        create("f", A),
        FOLDER,
        write(A, 0, &[b'a'; 2048]),
        flush(A, true),
        write(A, 0, &[b'b'; 512]),
        Call::Resize { file: A, len: 1024 },
    ];
    let found = at_random(&history(calls), 512);
    let expected = set(["f=a*2048", "f=b*512a*1536", "f=a*1024", "f=b*512a*512"]);
    assert_eq!(found, expected);
}

#[test]
fn an_image_is_told_from_others() {
    let one = two_files();
    let mut other = two_files();
    other.start.files.insert(B, "c".to_owned().into());
    let mut renamed = two_files();
    renamed.start.names[1].0 = entry("c");
    let hash = |history: &History| {
        let image = walk(history, Keeping::Posix).image(bytes(Bytes::Kept));
        super::super::image::hash(&image)
    };
    let hashes = BTreeSet::from([hash(&one), hash(&other), hash(&renamed)]);
    assert_eq!(hashes.len(), 3);
    assert!(hashes.contains(&hash(&two_files())));
}

#[test]
fn calls_change_something_or_flush_it() {
    use crate::power::Mark;
    let folder = |ok| Call::FlushFolder { dir: ROOT, ok };
    let calls = vec![
        create("a", A),
        flush(A, true),
        flush(A, false),
        folder(true),
        folder(false),
        Call::FlushAll { ok: true },
        Call::FlushAll { ok: false },
        write(A, 0, b"x"),
    ];
    let of = |is: fn(&Call) -> bool| {
        calls
            .iter()
            .map(|call| u8::from(is(call)))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(Call::flushes), [0, 1, 0, 1, 0, 1, 0, 0]);
    assert_eq!(of(Call::changes), [1, 0, 0, 0, 0, 0, 0, 1]);
    let mut history = history(calls);
    assert_eq!(history.prefixes(), [0, 1, 8]);
    let mark = Mark {
        step: 0,
        token: None,
        ..Mark::default()
    };
    history.marks = vec![(4, mark)];
    assert_eq!(history.prefixes(), [0, 1, 4, 8]);
}
