//! A byte that changed, from the first report to the repair.

use crate::files::Files;

/// A session of 20 events in commits of 5, the event at position 7 damaged; and a whole one.
fn damaged() -> Files {
    let files = Files::new();
    for commit in 0..4 {
        let lines = (0..5).map(|n| format!("\"event {:03}\"\n", commit * 5 + n));
        let lines: String = lines.collect();
        files
            .feed("append --create bad --kind x", lines.as_bytes())
            .ok();
    }
    files.feed("append --create good --kind x", b"1").ok();
    let log = files.path("store/bad/events.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, text.replace("event 007", "evEnt 007")).unwrap();
    files
}

#[test]
fn damage_is_told_with_its_place_and_ends_with_6() {
    let files = damaged();
    let ran = files.run("verify");
    assert_eq!(ran.code, 6, "{ran:?}");
    assert!(ran.out.contains("damage session bad"), "{ran:?}");
    assert!(ran.out.contains("events.jsonl"), "{ran:?}");
    assert!(ran.out.contains("event 7"), "{ran:?}");
    assert!(
        ran.out.contains("2 sessions checked: 1 clean, 1 damaged"),
        "{ran:?}"
    );
    assert!(ran.err.contains("sessionlog repair"), "{ran:?}");
    files.run("verify good").ok();
    let told = files.run("show bad").failed(6);
    assert!(
        told.contains("event 7") && told.contains("sessionlog verify"),
        "{told}"
    );
    assert!(files.run("show bad --range ..7").ok().contains("event 006"));
}

#[test]
fn a_damaged_session_is_listed_with_what_is_wrong() {
    let files = damaged();
    // A list reads a log only where it has no card of it.
    std::fs::remove_dir_all(files.path("store/bad/snapshots")).unwrap();
    let out = files.run("ls").ok();
    assert!(
        out.lines()
            .any(|l| l.contains("bad") && l.contains("corrupt")),
        "{out}"
    );
    let entries = files.run("ls --json").json();
    let bad = entries.iter().find(|e| e["id"] == "bad").unwrap();
    assert_eq!(bad["error"]["kind"], "corrupt");
    assert_eq!(bad["error"]["place"]["session"], "bad");
}

#[test]
fn repair_says_what_it_would_do_and_does_it_only_when_told() {
    let files = damaged();
    let log = files.path("store/bad/events.jsonl");
    let before = std::fs::read(&log).unwrap();
    let told = files.run("repair bad");
    assert!(told.err.contains("repair bad --apply"), "{told:?}");
    assert!(told.out.contains("nothing was changed"), "{told:?}");
    assert_eq!(std::fs::read(&log).unwrap(), before);

    let told = &files.run("repair bad --apply --json").json()[0];
    assert_eq!(told["lost"], 1);
    assert!(!told["kept"].as_array().unwrap().is_empty());
    files.run("verify bad").ok();
    let shown = files.run("show bad --json").json();
    assert_eq!(shown.len(), 20);
    assert_eq!(shown[7]["kind"], "repair.lost");
    assert_eq!(shown[8]["data"], "event 008");
}

#[test]
fn a_torn_tail_and_a_foreign_file_are_notes() {
    use std::io::Write;
    let files = Files::new();
    files.feed("append --create s1 --kind x", b"1\n2").ok();
    let log = files.path("store/s1/events.jsonl");
    let mut log = std::fs::OpenOptions::new().append(true).open(log).unwrap();
    log.write_all(b"{\"seq\":2,\"id\":\"").unwrap();
    std::fs::write(files.path("store/notes.txt"), "mine").unwrap();
    let out = files.run("verify").ok();
    assert_eq!(
        out.lines().filter(|l| l.starts_with("note ")).count(),
        2,
        "{out}"
    );
    assert!(out.contains("0 damaged, 2 notes"), "{out}");
    files.feed("append s1 --kind x", b"3").ok();
    assert_eq!(files.run("show s1 --last 1 --json").json()[0]["data"], 3);
}
