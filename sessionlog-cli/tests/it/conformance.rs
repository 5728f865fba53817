//! The suite as a command, on folders.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::files::Files;

/// Everything below a folder, and its bytes.
fn all(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().map(Result::unwrap) {
            let bytes = match entry.file_type().unwrap().is_dir() {
                true => {
                    folders.push(entry.path());
                    Vec::new()
                }
                false => std::fs::read(entry.path()).unwrap(),
            };
            found.insert(entry.path().display().to_string(), bytes);
        }
    }
    found
}

#[test]
fn a_store_that_is_there_is_tested_beside_and_stays_as_it_is() {
    let files = Files::new();
    files.run("demo --keep").ok();
    let before = all(&files.path("store"));
    assert!(before.len() > 2, "{before:?}");
    let laws =
        "l0_places_are_apart,g03_everything_survives_a_reopen,g03_killed_appends_leave_a_prefix";
    let args = format!("conformance --budget smoke --json --law {laws}");
    let told = files.run(&args).json();
    assert_eq!(told.len(), 4, "{told:?}");
    assert_eq!(told[0]["type"], "outcome");
    assert_eq!(told[0]["law"], "l0_places_are_apart");
    assert_eq!(told[0]["verdict"], "passed");
    let kills = told.iter().find(|t| t["level"] == "L3").unwrap();
    assert!(kills["sometimes"]["kills"].as_u64() > Some(5), "{kills}");
    let summary = &told[3];
    assert_eq!(summary["type"], "summary");
    assert_eq!(summary["ok"], true);
    assert_eq!(summary["laws"], 3);
    assert_eq!(summary["passed"], 3);
    assert_eq!(all(&files.path("store")), before);
    assert!(!files.path("conformance-failures").exists());
}

#[test]
fn a_folder_that_is_not_there_is_not_made() {
    let files = Files::new();
    let url = format!("sqlite:{}", files.path("to/be/made.db").display());
    let ran = files.run(&format!("conformance {url} --budget smoke --level L0"));
    assert!(ran.err.contains("testing sqlite:"), "{ran:?}");
    let told = ran.ok();
    assert!(told.contains("\nL0 "), "{told}");
    assert!(told.contains("laws: "), "{told}");
    assert_eq!(all(&files.path("")), BTreeMap::new());
}

#[test]
fn memory_is_tested_as_far_as_it_goes() {
    let files = Files::new();
    let told = files
        .run("conformance memory: --budget smoke --level L3")
        .ok();
    let why = "the medium is memory, which does not outlive its process";
    assert!(told.contains(why), "{told}");
}

#[test]
fn laws_are_listed() {
    let files = Files::new();
    let all = files.run("conformance --list --json").json();
    let some = files.run("conformance --list --json --level L2").json();
    assert!(all.len() > some.len() && some.len() > 1);
    assert!(
        some.iter()
            .all(|law| law["level"] == "L2" || law["level"] == "L0")
    );
    let told = files
        .run("conformance --list --law g01_an_empty_batch_changes_nothing")
        .ok();
    assert!(
        told.starts_with("L1 g01_an_empty_batch_changes_nothing\n"),
        "{told}"
    );
    let told = files.run("conformance --law g01_nothing").failed(2);
    assert!(told.contains("no law \"g01_nothing\""), "{told}");
    let told = files.run("conformance --allow g01_nothing").failed(2);
    assert!(told.contains("conformance --list"), "{told}");
    let told = files.run("conformance --level L12").failed(2);
    assert!(told.contains("a level is one of L0, L1"), "{told}");
    let told = files.run("conformance ftp:there").failed(2);
    assert!(told.contains("the scheme \"ftp\" is not known"), "{told}");
}

#[test]
fn a_place_that_cannot_be_used_is_an_error_and_no_verdict() {
    let files = Files::new();
    // A folder of a store of another backend can't hold a file of this one's name.
    std::fs::write(files.path("file"), "").unwrap();
    let url = format!("jsonl:{}", files.path("file").display());
    // Beside a file, there is room.
    files
        .run(&format!(
            "conformance {url} --budget smoke --law l0_places_are_apart"
        ))
        .ok();
    files.run("conformance jsonl:/proc/1").failed(5);
}

#[test]
fn a_child_that_nobody_asked_does_nothing() {
    let told = Files::new().run("conformance-child").failed(2);
    assert!(told.contains("nothing was asked"), "{told}");
}

#[cfg(unix)]
#[test]
fn an_interrupt_removes_the_folder() {
    for signal in ["-INT", "-TERM"] {
        let files = Files::new();
        let place = files.path("place");
        std::fs::create_dir(&place).unwrap();
        let url = format!("jsonl:{}", place.display());
        let mut command = files.command(&format!("conformance {url} --budget deep --json"));
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        assert!(line.contains("\"outcome\""), "{line}");
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 1);
        let kill = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
        drop(out);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            told.contains("interrupted; ") && told.contains(" is removed"),
            "{told}"
        );
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
    }
}

#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
#[test]
fn a_folder_of_objects_is_tested_and_left_empty() {
    let files = Files::new();
    std::fs::create_dir(files.path("objects")).unwrap();
    let url = format!("file:{}", files.path("objects").display());
    let laws = "l0_places_are_apart,g03_everything_survives_a_reopen";
    let told = files
        .run(&format!("conformance {url} --budget smoke --law {laws}"))
        .ok();
    assert!(told.contains("2 laws: 2 passed"), "{told}");
    assert_eq!(all(&files.path("objects")), BTreeMap::new());
}
