//! The samples on every backend: what the program says of them is the same on each.

use std::io::Write;
use std::path::Path;

use crate::files::Files;

const SCHEMES: [&str; 4] = ["jsonl", "sqlite", "redb", "file"];

fn samples() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples");
    path.canonicalize().unwrap().display().to_string()
}

/// What is to be seen of a store, but for who drives what.
fn seen(files: &Files, url: &str, ids: &[String]) -> Vec<String> {
    let run = |args: &str| files.run(&format!("{args} --store {url}")).ok();
    let mut seen = vec![
        run("ls"),
        run("ls --json"),
        run("verify"),
        run("verify --json"),
    ];
    for id in ids {
        for args in ["show", "show --json", "stats", "stats --json", "export"] {
            seen.push(run(&format!("{args} {id}")));
        }
        seen.push(run(&format!("export {id} --format events")));
    }
    seen
}

fn ids(files: &Files, url: &str) -> Vec<String> {
    let listed = files.run(&format!("ls --json --store {url}")).json();
    let mut ids: Vec<String> = listed
        .iter()
        .map(|line| line["id"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    ids
}

#[test]
fn copies_of_imported_sessions_look_the_same() {
    let files = Files::new();
    files.run(&format!("import {}", samples())).ok();
    let here = ids(&files, "jsonl:store");
    assert!(here.len() > 2, "{here:?}");
    let wanted = seen(&files, "jsonl:store", &here);
    for (from, to) in [
        ("jsonl:store", "sqlite:a"),
        ("sqlite:a", "redb:b"),
        ("redb:b", "file:d"),
        ("file:d", "jsonl:c"),
    ] {
        files.run(&format!("copy {from} {to}")).ok();
        for (got, wanted) in seen(&files, to, &here).iter().zip(&wanted) {
            assert_eq!(got, wanted, "{to}");
        }
    }
}

/// The program on a server, as a person would use it. Without one this is said, and is a failure only
/// where servers are required.
#[test]
fn a_bucket_is_a_store_like_any_other() {
    let Ok(server) = std::env::var("SESSIONLOG_TEST_S3") else {
        let required = std::env::var_os("SESSIONLOG_REQUIRE_SERVERS");
        assert!(required.is_none(), "no server in SESSIONLOG_TEST_S3");
        // Not captured, as what a test prints is.
        let told = b"\nNotMeasured: no server in SESSIONLOG_TEST_S3; bash .ci/servers has one\n";
        std::io::stderr().write_all(told).unwrap();
        return;
    };
    let (bucket, query) = server.split_once('?').unwrap();
    let url = |name: &str| format!("{bucket}/program-{}/{name}?{query}", std::process::id());
    let files = Files::new();
    files.run(&format!("import {}", samples())).ok();
    let here = ids(&files, "jsonl:store");
    let wanted = seen(&files, "jsonl:store", &here);
    files
        .run(&format!("copy jsonl:store {}", url("copied")))
        .ok();
    assert_eq!(seen(&files, &url("copied"), &here), wanted);
    let imported = files.run(&format!("import {} --store {}", samples(), url("imported")));
    assert!(!imported.ok().contains("secret_access_key"));
    let (first, store) = (&here[0], url("imported"));
    files.run(&format!("wake {first} --store {store}")).ok();
    files.run(&format!("rm {first} --yes --store {store}")).ok();
    assert_eq!(ids(&files, &store), &here[1..]);
    let kept = files.run(&format!("gc {store}")).ok();
    assert!(kept.contains("nobody needs 0 objects"), "{kept}");
    let nowhere = server.replacen("sessions", "nowhere", 1);
    let told = files.run(&format!("ls --store {nowhere}"));
    assert!(told.failed(2).contains("no such bucket"));
    let empty = files.run(&format!("ls --store {}", url("empty")));
    assert!(!empty.err.contains("secret_access_key"), "{empty:?}");
}

#[test]
fn garbage_is_told_and_deleted_with_a_yes() {
    let files = Files::new();
    files.run("gc jsonl:store").failed(7);
    files
        .run(&format!("import {} --store file:f", samples()))
        .ok();
    let left = files.path("f/v1/probe");
    std::fs::create_dir_all(&left).unwrap();
    let left = left.join("0123456789abcdef0123456789abcdef");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(48 * 3600);
    std::fs::write(&left, "left by a probe").unwrap();
    let file = std::fs::File::options().write(true).open(&left).unwrap();
    file.set_modified(old).unwrap();
    let told = files.run("gc file:f").ok();
    assert!(
        told.contains("nobody needs 1 object,") && left.exists(),
        "{told}"
    );
    let json = files.run("gc file:f --json").json();
    assert_eq!(json[0]["objects"].as_array().unwrap().len(), 1);
    assert_eq!(json[0]["deleted"], false);
    let done = files.run("gc file:f --yes").ok();
    assert!(
        done.contains("deleted 1 object,") && !left.exists(),
        "{done}"
    );
    files.run("verify --store file:f").ok();
}

/// The newest head of the session that was made last.
fn newest_head(files: &Files) -> std::path::PathBuf {
    let first = |folder: &std::path::Path| {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().path()).min().unwrap()
    };
    let marker = std::fs::read_to_string(first(&files.path("f/v1/i"))).unwrap();
    let marker: serde_json::Value = serde_json::from_str(&marker).unwrap();
    let folder = marker.get("folder").unwrap().as_str().unwrap();
    first(&files.path(&format!("f/v1/s/{folder}/h")))
}

#[test]
fn a_session_of_a_newer_format_keeps_no_other_from_being_checked() {
    let files = Files::new();
    files
        .run(&format!("import {} --store file:f", samples()))
        .ok();
    let all = files.run("ls --json --store file:f").json().len();
    let head = newest_head(&files);
    let mut bytes = std::fs::read(&head).unwrap();
    bytes[16] = 2;
    std::fs::write(&head, bytes).unwrap();
    let told = files.run("verify --store file:f");
    assert_eq!(told.code, 7, "{told:?}");
    assert!(told.out.contains("unread session"), "{told:?}");
    assert!(told.out.contains("format 2"), "{told:?}");
    let checked = format!("{} sessions checked", all - 1);
    assert!(told.out.contains(&checked), "{told:?}");
    assert!(told.out.contains("1 not checked"), "{told:?}");
    let lines = files.run("verify --json --store file:f");
    let unread = lines
        .out
        .lines()
        .find(|l| l.contains("\"unread\","))
        .unwrap();
    assert!(unread.contains("unsupported"), "{unread}");
}

#[test]
fn the_newest_of_object_storage_are_listed_by_their_whole_names() {
    let files = Files::new();
    files
        .run(&format!("import {} --store file:f", samples()))
        .ok();
    let newest = files.run("ls --limit 2 --store file:f").ok();
    assert_eq!(newest.lines().count(), 3, "{newest}");
    let json = files.run("ls --limit 2 --json --store file:f").json();
    for (line, entry) in newest.lines().skip(1).zip(&json) {
        let id = entry["id"].as_str().unwrap();
        assert!(line.contains(id), "{id}: {newest}");
    }
    assert_eq!(json.len(), 2);
}

#[test]
fn no_cause_of_an_error_is_told_twice() {
    let files = Files::new();
    let told = files.run("ls --store s3:bucket/a//b");
    let told = told.failed(2);
    assert_eq!(told.matches("empty path segment").count(), 1, "{told}");
}

#[test]
fn sessions_are_imported_and_given_back_by_every_backend() {
    let mut first: Option<Vec<Vec<String>>> = None;
    for scheme in SCHEMES {
        let files = Files::new();
        let url = format!("{scheme}:imported");
        let imported = files
            .run(&format!("import {} --store {url}", samples()))
            .ok();
        let again = files
            .run(&format!("import {} --store {url}", samples()))
            .ok();
        assert!(again.contains("unchanged; 0 new events"), "{again}");
        let clean = files.run(&format!("verify --store {url}")).ok();
        assert!(clean.contains(" 0 damaged"), "{clean}");
        let told = ids(&files, &url).into_iter().map(|id| {
            // Two imports have times and ids of their own; all else is the same.
            let run = |args: &str| files.run(&format!("{args} {id} --store {url}")).ok();
            let text = run("show").replace(&id, "");
            vec![id.clone(), run("stats"), run("export"), text]
        });
        let told: Vec<_> = told.chain([vec![imported]]).collect();
        match &first {
            Some(first) => assert_eq!(&told, first, "{scheme}"),
            None => first = Some(told),
        }
    }
}

/// A page of a redb store is lost: each command says what is damaged and what to do, and no panic is seen. Behind
/// a repair, or where none was needed, the store can be written to; what no repair mends says so.
#[test]
fn a_lost_page_of_redb_is_told_as_damage_and_repaired() {
    const PAGE: usize = 4096;
    let files = Files::new();
    for n in 0..12 {
        let lines = format!("\"{}\"\n", "x".repeat(900 + n)).repeat(4);
        files
            .feed("append --create one --store redb:s", lines.as_bytes())
            .ok();
    }
    let whole = std::fs::read(files.path("s")).unwrap();
    let (mut told, mut mended) = (0, 0);
    for page in 1..whole.len() / PAGE {
        let mut bytes = whole.clone();
        let place = &mut bytes[page * PAGE..(page + 1) * PAGE];
        if place.iter().all(|byte| *byte == 0) {
            continue;
        }
        place.fill(0);
        let url = format!("redb:lost-{page}");
        std::fs::write(files.path(&format!("lost-{page}")), bytes).unwrap();
        let run = |args: &str| {
            let ran = files.feed(&format!("{args} --store {url}"), b"1");
            assert!(
                matches!(ran.code, 0 | 3 | 6),
                "page {page}, {args}: {ran:?}"
            );
            assert!(
                !ran.err.contains("panicked"),
                "page {page}, {args}: {ran:?}"
            );
            ran
        };
        let written = run("append one").code == 0;
        told += usize::from(run("verify").code == 6);
        let repair = run("repair one --apply");
        match repair.code {
            0 => {
                mended += usize::from(!written);
                assert_eq!(run("append one").code, 0, "page {page}");
                assert_eq!(run("verify").code, 0, "page {page}");
            }
            // The page had the name of the session.
            3 => assert!(repair.err.contains("is kept as"), "page {page}: {repair:?}"),
            _ => assert!(
                repair.err.contains("bring back a copy"),
                "page {page}: {repair:?}"
            ),
        }
    }
    assert!(told > 0 && mended > 0, "{told} {mended}");
}
