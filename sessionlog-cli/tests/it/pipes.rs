//! Streams that end early, and what they carry.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::files::Files;

/// More than any pipe holds.
fn long() -> Files {
    let files = Files::new();
    let line = format!(
        "{{\"role\":\"user\",\"message\":{{\"content\":\"{}\"}}}}\n",
        "x".repeat(1000)
    );
    files
        .feed("append --create s1", line.repeat(2_000).as_bytes())
        .ok();
    files
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let files = long();
    for args in ["show s1", "show s1 --json", "tail -n 2000 s1", "wake s1"] {
        let mut command = files.command(args);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut first)
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{args}: {output:?}");
        assert!(output.stderr.is_empty(), "{args}: {output:?}");
        assert!(!first.is_empty());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_is_full_is_an_error() {
    let files = long();
    for args in ["show s1", "ls", "stats s1", "completions bash"] {
        let full = std::fs::File::create("/dev/full").unwrap();
        let output = files.command(args).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args}: {output:?}");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            told.contains("the output can't be written: No space left"),
            "{args}: {told}"
        );
    }
}

#[test]
fn colours_obey_the_environment() {
    let files = long();
    let colours = |name: &str, args: &str| {
        let output = files.command(args).env(name, "1").output().unwrap();
        output.stdout.contains(&0x1b)
    };
    assert!(colours("CLICOLOR_FORCE", "show s1 --last 1"));
    assert!(!colours("CLICOLOR_FORCE", "show s1 --last 1 --json"));
    assert!(!colours("NO_COLOR", "show s1 --last 1"));
    assert!(!colours("UNRELATED", "show s1 --last 1"));
}

#[test]
fn a_follower_sees_what_another_process_appends() {
    let files = Files::new();
    files.feed("append --create s1 --kind a", b"0\n1\n2").ok();
    let mut running = files.start("tail -f -n 2 s1");
    assert_eq!(running.line(), "· #1 a 1\n");
    assert_eq!(running.line(), "· #2 a 2\n");
    files.feed("append s1 --kind b", b"3\n4").ok();
    assert_eq!(running.line(), "· #3 b 3\n");
    assert_eq!(running.line(), "· #4 b 4\n");
    files.feed("append s1 --kind b", b"5").ok();
    assert_eq!(running.line(), "· #5 b 5\n");
}

#[test]
fn a_wrong_line_of_standard_input_is_told_with_its_place() {
    let files = Files::new();
    let told = files
        .feed("append --create s1", b"{}\n{\"a\":}\n")
        .failed(2);
    assert!(told.contains("line 2 column 6"), "{told}");
    assert!(!files.path("store/s1").exists());
}
