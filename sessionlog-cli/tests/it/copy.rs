//! Sessions from one store into another, by the program.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pollster::block_on;
use serde_json::Value;
use sessionlog::{Kind, LeaseRequest, NewEvent, Owner, SeqNum, SessionId, Store};

use crate::files::Files;

const SCHEMES: [&str; 3] = ["jsonl", "sqlite", "redb"];

/// Sessions `s1` and `s2` in the store of `files`.
fn two(files: &Files) {
    for id in ["s1", "s2"] {
        let args = format!("append --create {id}");
        files.feed(&args, b"{\"n\":1}\n{\"n\":2}\n").ok();
    }
}

fn open(url: &str) -> Store {
    block_on(sessionlog::open(url)).unwrap()
}

fn last(lines: &[Value]) -> &Value {
    lines.last().unwrap()
}

#[test]
fn all_sessions_are_copied_and_then_found() {
    let files = Files::new();
    two(&files);
    let before = files.run("show s1 --json").ok();
    for to in SCHEMES {
        let copy = format!("copy jsonl:store {to}:{to}");
        let told = files.run(&format!("{copy} --dry-run")).ok();
        assert!(
            told.contains("would be copied s1: 2 events (14 B)"),
            "{told}"
        );
        assert!(
            told.contains("dry run, nothing was written: 2 sessions: 2 copied"),
            "{told}"
        );
        assert!(!files.path(to).exists());

        let told = files.run(&copy).ok();
        assert!(
            told.ends_with("2 sessions: 2 copied; 4 events (28 B)\n"),
            "{told}"
        );
        let there = files.run(&format!("show s1 --json --store {to}:{to}")).ok();
        assert_eq!(there, before);
        assert_eq!(
            files.run(&copy).ok(),
            "already there s1\nalready there s2\n2 sessions: 2 already there; 0 events (0 B)\n"
        );
    }
    files.feed("append s2", b"{\"n\":3}\n").ok();
    let told = files.run("copy jsonl:store sqlite:sqlite s2 s --json");
    assert!(told.failed(2).contains("2 sessions start with"));
    let told = files.run("copy jsonl:store sqlite:sqlite s2 --json").json();
    assert_eq!(told.len(), 2);
    assert_eq!(told[0]["status"], "continued");
    assert_eq!(
        (&told[0]["already"], &told[0]["events"]),
        (&2.into(), &1.into())
    );
    assert_eq!(last(&told)["continued"], 1);
    files.run("copy jsonl:store sqlite:sqlite nobody").failed(3);
    files.run("copy jsonl:store memory:").failed(2);
    files.run("copy jsonl:store store").failed(2);
    let told = files.run("copy jsonl:nowhere sqlite:sqlite").ok();
    assert_eq!(told, "the source has no sessions\n");
    assert!(!files.path("nowhere").exists());
}

#[test]
fn one_that_fails_stops_no_other_and_the_worst_is_the_exit_code() {
    let files = Files::new();
    two(&files);
    files.run("copy jsonl:store sqlite:there s1").ok();
    // The destination's s1 goes on by itself.
    files.feed("append s1 --store sqlite:there", b"{}\n").ok();
    let told = files.run("copy jsonl:store sqlite:there --json");
    assert_eq!(told.code, 4);
    let told = crate::support::json_lines(&told.out);
    assert_eq!(told[0]["type"], "failed");
    assert_eq!(
        (&told[0]["id"], &told[0]["error"]["kind"]),
        (&"s1".into(), &"conflict".into())
    );
    assert_eq!(told[1]["status"], "copied");
    assert_eq!(
        (&last(&told)["failed"], &last(&told)["copied"]),
        (&1.into(), &1.into())
    );

    let log = files.path("store/s2/events.jsonl");
    let damaged = std::fs::read_to_string(&log)
        .unwrap()
        .replace("\"n\":1", "\"n\":7");
    std::fs::write(&log, damaged).unwrap();
    let told = files.run("copy jsonl:store sqlite:third");
    assert_eq!(told.code, 6, "{told:?}");
    assert!(
        told.out.contains("copied s1") && told.out.contains("failed s2"),
        "{told:?}"
    );
    assert!(told.out.contains("1 copied, 1 failed"), "{told:?}");
}

#[test]
fn a_driven_destination_is_left_alone() {
    let files = Files::new();
    two(&files);
    for to in SCHEMES {
        let copy = format!("copy jsonl:store {to}:{to} s1");
        files.run(&copy).ok();
        files.feed("append s1", b"{}\n").ok();
        let there = open(&format!("{to}:{}", files.path(to).display()));
        let there = block_on(there.open(&"s1".parse().unwrap())).unwrap();
        let owner = Owner::new("a harness").unwrap();
        let writer = block_on(there.acquire(LeaseRequest::new(owner))).unwrap();
        let before = block_on(there.head()).unwrap();
        let told = files.run(&copy);
        assert_eq!(told.code, 4, "{told:?}");
        assert!(told.out.contains("a harness"), "{told:?}");
        assert_eq!(block_on(there.head()).unwrap(), before);
        drop(writer);
        files.run(&copy).ok();
    }
}

/// A session of 24 MB: six batches of a copy, at least.
fn large(files: &Files) -> sessionlog::Head {
    let store = open(&files.url());
    let session = block_on(store.create("large".parse().unwrap())).unwrap();
    let text = "x".repeat(20_000);
    for n in 0..12 {
        let batch = (0..100).map(|i| {
            let data = format!("{{\"n\": {n}, \"i\": {i}, \"text\": \"{text}\"}}");
            NewEvent::json(Kind::from_static("message"), data).unwrap()
        });
        block_on(session.append(batch.collect())).unwrap();
    }
    block_on(session.put_blob(text.repeat(100))).unwrap();
    block_on(session.head()).unwrap()
}

/// A copy that is killed as soon as some of the session is there.
fn killed(files: &Files, copy: &str, to: &Store, id: &SessionId, more_than: u64) -> u64 {
    let mut command: Command = files.command(copy);
    let mut child: Child = command.stdout(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    let tail = || block_on(to.backend().head(id)).map_or(0, |(_, head)| head.tail.get());
    while tail() <= more_than && child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(120));
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    tail()
}

#[test]
fn a_copy_that_is_killed_is_continued() {
    let files = Files::new();
    let id: SessionId = "large".parse().unwrap();
    let end = large(&files);
    for to in SCHEMES {
        let url = format!("{to}:{}", files.path(to).display());
        let copy = format!("copy {} {url} --json", files.url());
        let store = open(&url);
        let first = killed(&files, &copy, &store, &id, 0);
        assert!(
            first > 0 && first < end.tail.get(),
            "{to}: {first} were there"
        );
        let second = killed(&files, &copy, &store, &id, first);
        assert!(second >= first, "{to}: {second} after {first}");

        let told = files.run(&copy).json();
        assert_eq!(told[0]["already"], second, "{to}");
        assert_eq!(told[0]["events"], end.tail.get() - second, "{to}");
        assert_eq!(told[0]["sum"], end.sum.to_string(), "{to}");
        let there = block_on(store.open(&id)).unwrap();
        assert_eq!(block_on(there.head()).unwrap(), end);
        assert_eq!(block_on(store.verify(&id)).unwrap(), [], "{to}");
        assert_eq!(block_on(there.blobs()).unwrap().len(), 1);
        let read = block_on(there.read(SeqNum::all()).collect()).unwrap();
        assert_eq!(read.len() as u64, end.tail.get());
    }
}
