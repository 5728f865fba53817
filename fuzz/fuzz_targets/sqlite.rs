//! The bytes of an SQLite store.
#![no_main]

use std::sync::LazyLock;

use sessionlog::Store;
use sessionlog::sqlite::{Options, Sqlite};
use sessionlog_fuzz::{Golden, catch_panics};

static GOLDEN: LazyLock<Golden> = LazyLock::new(|| {
    Golden::new(
        "backend-sqlite/tests/golden",
        |name| name == "v1.db",
        |dir| {
            Ok(Store::new(Sqlite::open(
                dir.join("v1.db"),
                Options::default(),
            )?))
        },
    )
});

libfuzzer_sys::fuzz_target!(init: { catch_panics(); LazyLock::force(&GOLDEN); }, |data: &[u8]| GOLDEN.run(data));
