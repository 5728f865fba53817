//! The objects of a store in object storage: heads, chunks, blobs, snapshots.
#![no_main]

use std::sync::LazyLock;

use sessionlog_fuzz::{Golden, catch_panics};
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use sessionlog::Store;
use sessionlog_backend_s3::{Bucket, Options};

static GOLDEN: LazyLock<Golden> = LazyLock::new(|| {
    Golden::new(
        "backend-s3/tests/golden/v1",
        |_| true,
        |dir| {
            let objects = LocalFileSystem::new_with_prefix(dir).expect("a folder");
            Ok(Store::new(Bucket::new(
                Arc::new(objects),
                "",
                Options::default(),
            )))
        },
    )
});

libfuzzer_sys::fuzz_target!(init: { catch_panics(); LazyLock::force(&GOLDEN); }, |data: &[u8]| GOLDEN.run(data));
