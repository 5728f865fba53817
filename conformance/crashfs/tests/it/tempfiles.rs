//! `tempfile` works by way of `rustix`, which could go around the hooks.

use std::{fs, io::Write};

use sessionlog_crashfs::Watch;
use tempfile::{Builder, NamedTempFile, tempdir, tempfile_in};

#[test]
fn a_temporary_file_that_is_kept_is_a_creation_a_write_and_a_rename() {
    let root = tempdir().unwrap();
    let watch = Watch::new(root.path()).unwrap();
    let mut file = NamedTempFile::new_in(root.path()).unwrap();
    file.write_all(b"content").unwrap();
    file.as_file().sync_all().unwrap();
    file.persist(root.path().join("kept")).unwrap();
    let counts = watch.counts();
    assert_eq!(
        (counts.creates, counts.writes, counts.fsyncs, counts.renames),
        (1, 1, 1, 1)
    );
    assert_eq!(counts.calls(), 4, "{counts:?}");
}

#[test]
fn a_temporary_file_that_must_not_replace_anything_is_seen_too() {
    let root = tempdir().unwrap();
    let watch = Watch::new(root.path()).unwrap();
    let file = NamedTempFile::new_in(root.path()).unwrap();
    file.persist_noclobber(root.path().join("kept")).unwrap();
    let file = NamedTempFile::new_in(root.path()).unwrap();
    file.persist_noclobber(root.path().join("kept"))
        .unwrap_err();
    let counts = watch.counts();
    assert_eq!(
        (
            counts.creates,
            counts.renames + counts.links,
            counts.unlinks
        ),
        (2, 1, 1)
    );
    assert!(counts.failed >= 1, "{counts:?}");
}

#[test]
fn unnamed_files_and_folders_are_seen() {
    let root = tempdir().unwrap();
    let watch = Watch::new(root.path()).unwrap();
    tempfile_in(root.path()).unwrap().write_all(b"x").unwrap();
    let folder = Builder::new().tempdir_in(root.path()).unwrap();
    fs::write(folder.path().join("a"), b"y").unwrap();
    folder.close().unwrap();
    let counts = watch.counts();
    assert_eq!(
        (counts.creates, counts.writes, counts.mkdirs, counts.rmdirs),
        (2, 2, 1, 1)
    );
}
