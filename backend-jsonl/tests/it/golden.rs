//! Stores that released formats left: they open for ever.

use std::fs;
use std::path::Path;

use crate::util::*;
use sessionlog_backend_jsonl::{Jsonl, Options};

fn log(store: &Jsonl) -> String {
    fs::read_to_string(log_path(store, "golden.1=1")).unwrap()
}

#[test]
fn format_1() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    golden::copy(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/1")),
        &path,
    );
    let store = Jsonl::open(&path, Options::default()).unwrap();
    let old = log(&store);
    golden::check(&store, &Kind::from_static("card"));

    // The same events make the same lines; how many empty ones are behind them is no part of the format.
    let again = Jsonl::open(
        dir.path().join("again"),
        Options::default().write_ahead(700),
    )
    .unwrap();
    let session = golden::session();
    block_on(again.create(&session)).unwrap();
    let mut rest = golden::given();
    let batch = rest.split_off(1);
    for batch in [rest, batch] {
        block_on(again.append(&session, batch, NONE)).unwrap();
    }
    let lines = |log: &str| -> Vec<_> {
        let lines = log.lines().skip(1).filter(|line| !line.is_empty());
        lines.map(str::to_owned).collect()
    };
    assert_eq!(lines(&old), lines(&log(&again)));
}
