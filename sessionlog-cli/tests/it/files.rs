//! The program as a process, on a store of files.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use crate::support::Ran;

/// A JSONL store in a folder of its own.
pub(crate) struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    /// A path in the folder; the store is `store`.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn url(&self) -> String {
        format!("jsonl:{}", self.path("store").display())
    }

    /// The program with arguments, parted by spaces, on the store.
    pub(crate) fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sessionlog"));
        command
            .args(args.split_whitespace())
            .env_clear()
            .env("SESSIONLOG_STORE", self.url())
            .env("HOME", self.folder.path())
            .current_dir(self.folder.path());
        command
    }

    pub(crate) fn run(&self, args: &str) -> Ran {
        ran(&self.command(args).stdin(Stdio::null()).output().unwrap())
    }

    /// Runs it with bytes on its standard input.
    pub(crate) fn feed(&self, args: &str, input: &[u8]) -> Ran {
        let mut command = self.command(args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A program that stops at a wrong line does not read the rest.
        drop(stdin.write_all(input));
        drop(stdin);
        ran(&child.wait_with_output().unwrap())
    }

    /// Starts it, to be read line by line while it runs. Its standard input stays open.
    pub(crate) fn start(&self, args: &str) -> Running {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Running { child, lines }
    }
}

fn ran(output: &Output) -> Ran {
    Ran {
        code: output
            .status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .unwrap_or(255),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A program that runs; killed when the test ends.
pub(crate) struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Running {
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
