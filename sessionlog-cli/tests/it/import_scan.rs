//! Which files are found, what they are taken for, and what their sessions are called.

use std::path::PathBuf;

use pollster::block_on;
use sessionlog::transcript::{SessionStarted, kinds};
use sessionlog_cli::export;
use sessionlog_cli::import::{Format, Options, Status, scan};

use crate::import_support::{Files, assert_same, data};

const CLAUDE: &str = r#"{"type":"user","uuid":"u1","sessionId":"s-1","timestamp":"2026-05-04T08:00:00Z","message":{"role":"user","content":"hi"}}"#;

fn names(files: &Files, format: Option<Format>) -> Vec<(String, Option<Format>)> {
    let top = files.path("");
    let scan = scan(std::slice::from_ref(&top), format).unwrap();
    let name = |path: &PathBuf| {
        path.strip_prefix(&top)
            .unwrap()
            .to_string_lossy()
            .into_owned()
    };
    scan.candidates
        .iter()
        .map(|c| (name(&c.path), c.format))
        .collect()
}

#[test]
fn formats_are_found_by_content_whatever_the_name() {
    let files = Files::new();
    files.write("a/claude.txt", CLAUDE);
    files.write("a/b/rollout", data("cx08.jsonl"));
    files.write("bare.jsonl", "{\"role\":\"user\",\"content\":\"x\"}\n");
    files.write("unknown.log", "{\"a\":1}\n{\"b\":2}\n");
    files.write("package.json", "{\n  \"name\": \"x\"\n}\n");
    files.write("picture.png", [0x89, b'P', b'N', b'G', 0, 0, 1]);
    files.write("notes.md", "# Notes\n".repeat(100));
    files.write("empty.jsonl", "");
    assert_eq!(
        names(&files, None),
        [
            ("bare.jsonl".to_owned(), Some(Format::KvitCoder)),
            ("unknown.log".to_owned(), None),
            ("a/claude.txt".to_owned(), Some(Format::ClaudeCode)),
            ("a/b/rollout".to_owned(), Some(Format::Codex)),
        ]
    );
    let scan = scan(&[files.path("")], None).unwrap();
    assert_eq!(scan.ignored, 4);
    let outcome = files.import("unknown.log");
    let Status::Skipped { reason } = outcome.status else {
        panic!("{outcome:?}");
    };
    assert!(reason.contains("--format lines"), "{reason}");
    assert_eq!(
        files.import_as("unknown.log", Some(Format::Lines)).status,
        Status::Imported
    );
}

#[test]
fn neither_number_nor_length_of_records_hides_the_format() {
    let files = Files::new();
    let snapshot = format!("{{\"a\":\"{}\"}}\n", "x".repeat(3000));
    let late = snapshot.repeat(424) + CLAUDE;
    files.write("late.jsonl", late);
    files.write(
        "long.jsonl",
        format!("{{\"a\":\"{}\"}}\n{CLAUDE}", "x".repeat(5 << 20)),
    );
    files.write(
        "torn.jsonl",
        format!("x\":1}}\n{}\n{CLAUDE}", "\0".repeat(9000)),
    );
    for (name, format) in names(&files, None) {
        assert_eq!(format, Some(Format::ClaudeCode), "{name}");
    }
    // The first request is found behind them.
    files.import("late.jsonl");
    let listed = block_on(files.store.cards()).unwrap();
    assert_eq!(
        listed[0].card.as_ref().unwrap().title.as_deref(),
        Some("hi")
    );
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_not_followed_out_of_the_folder() {
    let outside = Files::new();
    outside.write("x.jsonl", CLAUDE);
    let files = Files::new();
    files.write("own.jsonl", CLAUDE);
    std::os::unix::fs::symlink(outside.path("x.jsonl"), files.path("file.jsonl")).unwrap();
    std::os::unix::fs::symlink(outside.path(""), files.path("folder")).unwrap();
    std::os::unix::fs::symlink(files.path(""), files.path("loop")).unwrap();
    assert_eq!(names(&files, None).len(), 1);
    // One that is named is meant.
    assert_eq!(
        scan(&[files.path("folder")], None)
            .unwrap()
            .candidates
            .len(),
        1
    );
    // One file is one candidate, however often it is named.
    let twice = [
        files.path("own.jsonl"),
        files.path("."),
        files.path("own.jsonl"),
    ];
    assert_eq!(scan(&twice, None).unwrap().candidates.len(), 1);
}

#[test]
fn a_path_that_is_not_there_is_an_error_that_names_it() {
    let error = scan(&[PathBuf::from("/no/such/place")], None).unwrap_err();
    assert!(error.to_string().contains("/no/such/place"), "{error}");
}

#[test]
fn a_folder_of_kvit_coder_is_one_session() {
    let files = Files::new();
    let folder = "2026-05-04-ab12cd";
    let history = data(&format!("kvit/{folder}/history.jsonl"));
    let meta = data(&format!("kvit/{folder}/meta.json"));
    files.write(&format!("{folder}/history.jsonl"), &history);
    files.write(&format!("{folder}/meta.json"), &meta);
    files.write(
        &format!("{folder}/inbox/17-x"),
        "{\"kind\":\"user_line\",\"text\":\"x\"}",
    );
    files.write(
        &format!("{folder}.jsonl.migrated"),
        "{\"role\":\"user\",\"content\":\"x\"}",
    );
    let found = scan(&[files.path("")], None).unwrap().candidates;
    assert_eq!(found.len(), 1);
    let outcome = files.import_found(&found[0], &Options::default());
    assert_eq!(outcome.status, Status::Imported);
    assert_eq!(outcome.session.as_ref().unwrap().as_str(), folder);
    assert_eq!(outcome.new_events, 6 + 3);
    assert_same(&files.original(&outcome), &history);

    let events = files.events(&outcome);
    let told: Vec<_> = events.iter().map(|e| e.kind.to_string()).collect();
    assert_eq!(
        told,
        [
            "import.started",
            "session.started",
            "session.titled",
            "usage.reported",
            "settings.changed",
            "message",
            "message",
            "message",
            "notice",
            "rollback",
            "import.finished"
        ]
    );
    let started: SessionStarted = events[1].data.parse().unwrap();
    assert_eq!(started.directory.as_deref(), Some("/w/p"));
    assert_eq!(started.parent.as_deref(), Some("2026-05-03-zz99zz"));
    let card = block_on(files.store.cards())
        .unwrap()
        .remove(0)
        .card
        .unwrap();
    assert_eq!(card.title.as_deref(), Some("Count lines in file"));
    assert_eq!(
        (card.cost(), card.effort.as_deref()),
        (Some(0.0132), Some("high"))
    );
    assert_eq!(card.created, Some("2026-05-04T08:00:00Z".parse().unwrap()));

    let session = files.session(&outcome);
    assert_eq!(block_on(export::sidecars(&session)).unwrap(), ["meta.json"]);
    let mut out = Vec::new();
    block_on(export::sidecar(&session, "meta.json", &mut out)).unwrap();
    assert_same(&out, &meta);
}

#[test]
fn what_changed_beside_a_history_is_added_too() {
    let files = Files::new();
    let history = data("kvit/2026-05-04-ab12cd/history.jsonl");
    let meta = String::from_utf8(data("kvit/2026-05-04-ab12cd/meta.json")).unwrap();
    files.write("s/history.jsonl", &history);
    files.write("s/meta.json", &meta);
    files.import("s/history.jsonl");
    let unchanged = files.import("s/history.jsonl");
    assert_eq!(unchanged.status, Status::Unchanged { note: None });
    let later = meta
        .replace("0.0132", "0.05")
        .replace("Count lines in file", "Count");
    files.write("s/meta.json", &later);
    let outcome = files.import("s/history.jsonl");
    assert_eq!((&outcome.status, outcome.new_events), (&Status::Grown, 3));
    let events = files.events(&outcome);
    assert_eq!(
        events
            .iter()
            .filter(|e| e.kind == kinds::SESSION_STARTED)
            .count(),
        1
    );
    let card = block_on(files.store.cards())
        .unwrap()
        .remove(0)
        .card
        .unwrap();
    assert_eq!(
        (card.title.as_deref(), card.cost()),
        (Some("Count"), Some(0.05))
    );
    let again = files.import("s/history.jsonl");
    assert_eq!(again.status, Status::Unchanged { note: None });
}

#[test]
fn bare_messages_take_name_and_date_from_the_file() {
    let files = Files::new();
    let bytes = data("kvit/2026-05-03-zz99zz.jsonl");
    let outcome = files.bring("2026-05-03-zz99zz.jsonl", &bytes);
    assert_eq!(
        outcome.session.as_ref().unwrap().as_str(),
        "2026-05-03-zz99zz"
    );
    assert_eq!((outcome.new_events, outcome.damaged_lines), (3, 1));
    assert_same(&files.original(&outcome), &bytes);
    let card = block_on(files.store.cards())
        .unwrap()
        .remove(0)
        .card
        .unwrap();
    assert_eq!(card.created, Some("2026-05-03T00:00:00Z".parse().unwrap()));
    assert_eq!((card.prompts, card.replies), (1, 1));
}

#[test]
fn a_name_that_can_be_no_id_is_told() {
    let files = Files::new();
    let outcome = files.bring("x.jsonl", CLAUDE.replace("s-1", "../é"));
    assert_eq!(outcome.named.as_deref(), Some("../é"));
    let id = outcome.session.as_ref().unwrap().as_str();
    assert!(id.len() > 8 && !id.starts_with('.'), "{id}");
    // Lines of several sessions have the name of their file.
    let outcome = files.bring(
        "both.jsonl",
        format!("{CLAUDE}\n{}", CLAUDE.replace("s-1", "s-2")),
    );
    assert_eq!(outcome.session.as_ref().unwrap().as_str(), "both");
}

#[test]
fn a_sub_agent_names_the_session_it_belongs_to() {
    let files = Files::new();
    let line = CLAUDE.replace(r#""uuid""#, r#""isSidechain":true,"agentId":"a1b2","uuid""#);
    let outcome = files.bring("agent-a1b2.jsonl", line);
    assert_eq!(outcome.session.as_ref().unwrap().as_str(), "s-1.agent-a1b2");
    let events = files.events(&outcome);
    assert!(
        events[0].data.to_string().contains(r#""parent":"s-1""#),
        "{}",
        events[0].data
    );
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_at_once_and_not_waited_for() {
    let files = Files::new();
    let pipe = files.path("pipe.jsonl");
    make_pipe(&pipe);
    let error = scan(&[pipe], None).unwrap_err();
    assert_eq!(*error.kind(), sessionlog::ErrorKind::InvalidInput);
    assert!(error.message().contains("pipe"), "{error}");
    let error = scan(&["/dev/null".into()], None).unwrap_err();
    assert!(error.message().contains("device"), "{error}");
}

#[cfg(unix)]
#[test]
fn what_is_no_file_beside_a_history_is_neither_followed_nor_waited_for() {
    let files = Files::new();
    files.write("outside", r#"{"title":"from outside"}"#);
    let history = "{\"role\":\"user\",\"content\":\"x\"}\n";
    for name in ["pipe", "folder", "link", "loop"] {
        files.write(&format!("{name}/history.jsonl"), history);
        let meta = files.path(&format!("{name}/meta.json"));
        match name {
            "pipe" => make_pipe(&meta),
            "folder" => std::fs::create_dir(&meta).unwrap(),
            "link" => std::os::unix::fs::symlink("../outside", &meta).unwrap(),
            _ => std::os::unix::fs::symlink("meta.json", &meta).unwrap(),
        }
        let outcome = files.import(&format!("{name}/history.jsonl"));
        assert_eq!(outcome.status, Status::Imported, "{name}");
        assert_eq!(outcome.new_events, 1, "{name}");
    }
}

#[cfg(unix)]
fn make_pipe(path: &std::path::Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}
