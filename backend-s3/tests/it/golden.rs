//! Stores of every format version, opened for ever; and those of a newer one, refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::TryStreamExt;
use object_store::local::LocalFileSystem;
use sessionlog_backend_s3::{Bucket, Options};
use sessionlog_core::{EventLog, Kind, LeaseStore, SeqNum, Upkeep};
use sessionlog_testkit::{NONE, block_on, golden, request};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/v1");
const FOLD: Kind = Kind::from_static("fold");

fn open(folder: &Path) -> Bucket {
    let store = LocalFileSystem::new_with_prefix(folder).unwrap();
    let mut options = Options::default();
    // Some of the few events are in chunks.
    options.seal_bytes = 200;
    Bucket::new(Arc::new(store), "", options)
}

/// Not a test but how the folder came to be: it does nothing unless the variable is set.
#[test]
fn make() {
    let Some(target) = std::env::var_os("SESSIONLOG_TEST_GOLDEN") else {
        return;
    };
    let folder = PathBuf::from(target).join("v1");
    std::fs::create_dir_all(&folder).unwrap();
    let each = golden::given().into_iter().map(|event| vec![event]);
    golden::make(&open(&folder), each.collect(), FOLD);
}

/// A copy of the golden folder.
fn copy() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    golden::copy(Path::new(GOLDEN), folder.path());
    folder
}

/// The newest head of the golden session.
fn newest(folder: &Path) -> PathBuf {
    let heads = folder.join("v1/s");
    let session = std::fs::read_dir(heads).unwrap().next().unwrap().unwrap();
    let heads = std::fs::read_dir(session.path().join("h")).unwrap();
    heads.map(|head| head.unwrap().path()).min().unwrap()
}

#[test]
fn version_1() {
    let folder = copy();
    let state = golden::check(&open(folder.path()), &FOLD);
    assert_eq!(state, "{\"n\":5}");
}

#[test]
fn a_newer_version_is_refused() {
    let folder = copy();
    let head = newest(folder.path());
    let mut bytes = std::fs::read(&head).unwrap();
    bytes[16] = 2;
    std::fs::write(&head, bytes).unwrap();
    let store = open(folder.path());
    let (session, more) = (golden::session(), golden::given());
    let refusals = [
        block_on(store.head(&session.id)).map(drop),
        block_on(store.append(&session, more, NONE)).map(drop),
        block_on(store.acquire(&session, request("me"))).map(drop),
        block_on(store.delete(&session, None)),
        block_on(store.verify(&session.id)).map(drop),
    ];
    for refused in refusals {
        assert_eq!(refused.unwrap_err().kind().name(), "unsupported");
    }
}

#[test]
fn every_changed_byte_of_what_holds_events_is_found_and_named() {
    let original = copy();
    let head = newest(original.path());
    let session_folder = head.parent().unwrap().parent().unwrap().to_owned();
    let life = std::fs::read_dir(session_folder.join("d"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let chunks = std::fs::read_dir(life.path().join("c")).unwrap();
    let mut files: Vec<PathBuf> = chunks.map(|chunk| chunk.unwrap().path()).collect();
    assert!(!files.is_empty());
    files.push(head);
    for file in files {
        let whole = std::fs::read(&file).unwrap();
        // One that claims to be of a newer version is refused instead.
        for at in (0..whole.len()).filter(|at| !(16..20).contains(at)) {
            let mut changed = whole.clone();
            changed[at] ^= 1 << (at % 8);
            std::fs::write(&file, changed).unwrap();
            let store = open(original.path());
            let chunks = store.read(&golden::session(), SeqNum::all());
            let error = block_on(chunks.try_collect::<Vec<_>>()).unwrap_err();
            assert!(
                error.is_corrupt(),
                "byte {at} of {}: {error}",
                file.display()
            );
            let name = file.file_name().unwrap().to_str().unwrap();
            assert!(error.to_string().contains(name), "{error}");
        }
        std::fs::write(&file, &whole).unwrap();
    }
    assert_eq!(
        block_on(open(original.path()).verify(&golden::session().id)).unwrap(),
        []
    );
}
