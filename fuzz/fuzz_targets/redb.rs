//! The bytes of a redb store.
#![no_main]

use std::sync::LazyLock;

use sessionlog::Store;
use sessionlog::redb::{Options, Redb};
use sessionlog_fuzz::{Golden, catch_panics};

static GOLDEN: LazyLock<Golden> = LazyLock::new(|| {
    Golden::new(
        "backend-redb/tests/golden",
        |name| name == "v1.redb",
        |dir| {
            Ok(Store::new(Redb::open(
                dir.join("v1.redb"),
                Options::default(),
            )?))
        },
    )
});

libfuzzer_sys::fuzz_target!(init: { catch_panics(); LazyLock::force(&GOLDEN); }, |data: &[u8]| GOLDEN.run(data));
