//! The command `import`: what it says, and how it ends. What becomes of records is told elsewhere.

use crate::files::Files;

const SAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../samples/claude-code/cc25.jsonl"
);

fn sample() -> Vec<u8> {
    std::fs::read(SAMPLE).unwrap()
}

fn session(files: &Files) -> String {
    let all = files.run("ls --json").json();
    assert_eq!(all.len(), 1);
    all.first().unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_second_import_adds_nothing_and_a_grown_file_what_is_new() {
    let files = Files::new();
    let whole = sample();
    let cut = whole.iter().rposition(|b| *b == b'{').unwrap();
    let cut = whole[..cut].iter().rposition(|b| *b == b'\n').unwrap() + 1;
    std::fs::write(files.path("a.jsonl"), &whole[..cut]).unwrap();
    let told = files.run("import a.jsonl");
    assert!(told.out.starts_with("imported a.jsonl: "), "{told:?}");
    assert!(told.err.contains("sessionlog ls"), "{told:?}");
    let out = files.run("import a.jsonl").ok();
    assert!(out.starts_with("unchanged a.jsonl: "), "{out}");
    assert!(out.contains("1 file: 1 unchanged; 0 new events"), "{out}");
    std::fs::write(files.path("a.jsonl"), &whole).unwrap();
    let out = files.run("import a.jsonl").ok();
    assert!(out.starts_with("grown a.jsonl: "), "{out}");
    let id = session(&files);
    assert_eq!(files.run(&format!("export {id}")).ok().as_bytes(), whole);
    files.run("verify").ok();
}

#[test]
fn damaged_lines_are_kept_and_told_with_their_place() {
    let files = Files::new();
    let mut bytes = sample();
    let second = bytes.iter().position(|b| *b == b'\n').unwrap() + 1;
    bytes.splice(second..second, *b"{\"torn\":\n");
    std::fs::write(files.path("a.jsonl"), &bytes).unwrap();
    let out = files.run("import a.jsonl").ok();
    assert!(out.contains("damaged, kept: a.jsonl:2: "), "{out}");
    assert!(out.contains("1 damaged line kept"), "{out}");
    let id = session(&files);
    files.run(&format!("export {id} -o b.jsonl")).ok();
    assert_eq!(std::fs::read(files.path("b.jsonl")).unwrap(), bytes);
    let shown = files
        .run(&format!("show {id} --kind import.damaged --json"))
        .json();
    assert_eq!(shown.len(), 1);
}

#[test]
fn a_dry_run_writes_nothing() {
    let files = Files::new();
    std::fs::write(files.path("a.jsonl"), sample()).unwrap();
    let out = files.run("import --dry-run a.jsonl").ok();
    assert!(out.starts_with("would be imported a.jsonl"), "{out}");
    assert!(out.contains("dry run, nothing was written"), "{out}");
    assert!(!files.path("store").exists());
}

#[test]
fn what_is_named_must_be_a_session_and_what_lies_around_need_not() {
    let files = Files::new();
    std::fs::create_dir(files.path("in")).unwrap();
    std::fs::write(files.path("in/a.jsonl"), sample()).unwrap();
    for n in 0..5 {
        std::fs::write(files.path(&format!("in/x{n}.jsonl")), "{\"a\":1}\n").unwrap();
    }
    std::fs::write(files.path("in/readme.txt"), "hello").unwrap();
    let out = files.run("import in").ok();
    assert!(
        out.contains("skipped 5 files: no record is of a format"),
        "{out}"
    );
    assert!(out.contains("in/x2.jsonl\n  and 2 more"), "{out}");
    assert!(out.contains("6 files: 1 imported, 5 skipped"), "{out}");
    assert!(out.contains("1 other file passed over"), "{out}");

    let ran = files.run("import in/x0.jsonl in/readme.txt");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.out.contains("skipped in/x0.jsonl: "), "{ran:?}");
    let out = files.run("import --format lines in/x0.jsonl").ok();
    assert!(out.starts_with("imported in/x0.jsonl: "), "{out}");
    let told = files.run("import nowhere").failed(3);
    assert!(told.contains("there is nothing to read: nowhere"), "{told}");
    let told = files.run("import --format word in").failed(2);
    assert!(told.contains("claude-code"), "{told}");
}

#[test]
fn json_has_a_line_for_each_file_and_a_summary() {
    let files = Files::new();
    std::fs::write(files.path("a.jsonl"), sample()).unwrap();
    let told = files.run("import --json a.jsonl").json();
    assert_eq!(told[0]["type"], "file");
    assert_eq!(told[0]["path"], "a.jsonl");
    assert_eq!(told[0]["status"], "imported");
    assert_eq!(told[0]["format"], "claude-code");
    assert_eq!(told[1]["type"], "summary");
    assert_eq!(told[1]["imported"], 1);
    assert_eq!(told[1]["new_events"], told[0]["new_events"]);
}

#[test]
fn a_file_whose_session_is_driven_fails_and_the_others_do_not() {
    let files = Files::new();
    std::fs::write(files.path("a.jsonl"), sample()).unwrap();
    files.run("import a.jsonl").ok();
    let id = session(&files);
    let mut driver = files.start(&format!("demo-driver {id}"));
    driver.line();
    let mut grown = sample();
    grown.extend_from_slice(b"\n{\"type\":\"user\"}\n");
    std::fs::write(files.path("a.jsonl"), grown).unwrap();
    std::fs::write(files.path("b.jsonl"), "{}\n").unwrap();
    let ran = files.run("import --format claude-code a.jsonl b.jsonl");
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(
        ran.out
            .contains("failed a.jsonl: the session is driven by somebody else"),
        "{ran:?}"
    );
    assert!(ran.out.contains("imported b.jsonl"), "{ran:?}");
}
