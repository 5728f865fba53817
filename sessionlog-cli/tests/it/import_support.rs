//! Files, imported into a store in memory.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, outside of test functions"
)]

use std::path::{Path, PathBuf};

use pollster::block_on;
use sessionlog::{Event, Memory, SeqNum, Session, Store};
use sessionlog_cli::export;
use sessionlog_cli::import::{Candidate, Format, Options, Outcome, Status, import_file, scan};

/// A folder of files, and a store to import them into.
pub(crate) struct Files {
    folder: tempfile::TempDir,
    pub(crate) store: Store,
}

impl Files {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            store: Store::new(Memory::new()),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Imports a file by itself.
    pub(crate) fn import(&self, name: &str) -> Outcome {
        self.import_as(name, None)
    }

    pub(crate) fn import_as(&self, name: &str, format: Option<Format>) -> Outcome {
        let path = self.path(name);
        let found = scan(&[path], format).unwrap().candidates.pop().unwrap();
        let options = Options {
            format,
            ..Options::default()
        };
        self.import_found(&found, &options)
    }

    pub(crate) fn import_found(&self, found: &Candidate, options: &Options) -> Outcome {
        let mut done = 0;
        let outcome = block_on(import_file(&self.store, found, options, &mut |at| {
            done = at;
        }));
        let outcome = outcome.unwrap();
        if outcome.status == Status::Imported && !options.dry_run {
            assert_eq!(done, std::fs::metadata(&found.path).unwrap().len());
        }
        outcome
    }

    /// Writes and imports a file.
    pub(crate) fn bring(&self, name: &str, bytes: impl AsRef<[u8]>) -> Outcome {
        self.write(name, bytes);
        self.import(name)
    }

    pub(crate) fn bring_lines(&self, name: &str, bytes: impl AsRef<[u8]>) -> Outcome {
        self.write(name, bytes);
        self.import_as(name, Some(Format::Lines))
    }

    pub(crate) fn session(&self, outcome: &Outcome) -> Session {
        block_on(self.store.open(outcome.session.as_ref().unwrap())).unwrap()
    }

    pub(crate) fn events(&self, outcome: &Outcome) -> Vec<Event> {
        let session = self.session(outcome);
        block_on(session.read(SeqNum::all()).collect()).unwrap()
    }

    /// The file, out of the session.
    pub(crate) fn original(&self, outcome: &Outcome) -> Vec<u8> {
        let mut out = Vec::new();
        let done = block_on(export::original(&self.session(outcome), &mut out)).unwrap();
        assert_eq!(done.bytes, out.len() as u64);
        out
    }
}

/// A file of the test data.
pub(crate) fn data(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    std::fs::read(path).unwrap()
}

/// Bytes, or where they first differ: a whole file would drown the message.
#[track_caller]
pub(crate) fn assert_same(got: &[u8], wanted: &[u8]) {
    let at = got.iter().zip(wanted).position(|(a, b)| a != b);
    let at = at.unwrap_or(got.len().min(wanted.len()));
    let near = |bytes: &[u8]| {
        let end = bytes.len().min(at + 40);
        bytes
            .get(at.saturating_sub(40)..end)
            .unwrap_or_default()
            .escape_ascii()
            .to_string()
    };
    assert!(
        got == wanted,
        "differs at byte {at} of {}: {} / {}",
        wanted.len(),
        near(got),
        near(wanted)
    );
}
