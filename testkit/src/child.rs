//! Processes beside the test: its own binary once more, running one test that is a part to play.
//!
//! A part begins with [`part`], and ends at once where that is `None`: then the binary runs all tests.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const STORE: &str = "SESSIONLOG_TEST_STORE";
const NAME: &str = "SESSIONLOG_TEST_NAME";

/// Starts the test of that full name in a process of its own, with a store's path and a name.
pub fn start(test: &str, store: &Path, name: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(STORE, store)
        .env(NAME, name)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs that test behind a line of shell, such as `umask 000`. It may not fail; what it prints is given.
pub fn run_behind(shell: &str, test: &str, store: &Path, name: &str) -> String {
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!("{shell}; exec \"$0\" --exact {test} --nocapture"))
        .arg(std::env::current_exe().unwrap())
        .env(STORE, store)
        .env(NAME, name)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told} {error}");
    told
}

/// What [`start`] or [`run_behind`] gave this process.
pub fn part() -> Option<(PathBuf, String)> {
    let store = std::env::var_os(STORE)?;
    Some((store.into(), std::env::var(NAME).ok()?))
}

/// Tells whoever started this process a word.
pub fn tell(word: &str) {
    // A line of its own, since the test harness has begun one.
    println!("\n{word}");
}

/// Waits until a child tells that word.
pub fn await_word(child: &mut Child, word: &str) {
    let out = BufReader::new(child.stdout.take().unwrap());
    let found = out.lines().any(|line| line.unwrap() == word);
    assert!(found, "the child ended without a {word:?}");
}

/// Waits for children, none of which may fail.
pub fn join(children: impl IntoIterator<Item = Child>) {
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
}
