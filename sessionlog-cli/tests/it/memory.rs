//! A session larger than the memory that the program may have.
#![cfg(target_os = "linux")]

use std::process::Command;

use crate::files::Files;

/// Megabytes of memory that can be written to: heap, and stacks of threads. The program's own code,
/// which is mapped from its file, is not counted.
const ROOM: usize = 40;

/// Runs the program with little memory; its output is counted and dropped.
fn run(files: &Files, args: &str) -> u64 {
    let program = files.command(args);
    let script = format!("ulimit -d {}; exec \"$@\" | wc -c", ROOM << 10);
    let mut shell = Command::new("bash");
    shell
        .arg("-c")
        .arg(format!("set -o pipefail; {script}"))
        .arg("bash");
    shell.arg(program.get_program()).args(program.get_args());
    shell.envs(
        program
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{args}: {output:?}");
    String::from_utf8(output.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

#[test]
fn every_command_streams() {
    let files = Files::new();
    let line = format!(
        "{{\"role\":\"user\",\"message\":{{\"content\":\"{}\"}}}}\n",
        "x".repeat(100_000)
    );
    let some = line.repeat(100);
    for _ in 0..6 {
        files.feed("append --create s1", some.as_bytes()).ok();
    }
    let size = 600 * 100_000;
    assert!(size > ROOM << 20);
    for args in ["show s1", "show s1 --json", "export s1 --format events"] {
        assert!(run(&files, args) > size as u64, "{args}");
    }
    for args in [
        "show s1 --last 1",
        "tail s1 -n 1",
        "show s1 --range 200..201",
        "stats s1",
        "verify",
        "ls",
        "copy jsonl:store jsonl:copied",
    ] {
        assert!(run(&files, args) < 200_000, "{args}");
    }
}
