//! The files of a JSONL store: the log, the lease, snapshots, locks.
#![no_main]

use std::sync::LazyLock;

use sessionlog::Store;
use sessionlog::jsonl::{Jsonl, Options};
use sessionlog_fuzz::{Golden, catch_panics};

static GOLDEN: LazyLock<Golden> = LazyLock::new(|| {
    Golden::new(
        "backend-jsonl/tests/golden/1",
        |_| true,
        |dir| Ok(Store::new(Jsonl::open(dir, Options::default())?)),
    )
});

libfuzzer_sys::fuzz_target!(init: { catch_panics(); LazyLock::force(&GOLDEN); }, |data: &[u8]| GOLDEN.run(data));
