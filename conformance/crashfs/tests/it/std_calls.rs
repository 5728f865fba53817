//! The calls of `std::fs`, each with the counts that it must give.

use std::{
    fs::{self, File, OpenOptions},
    io::{IoSlice, Write},
    os::unix::fs::FileExt,
    path::Path,
};

use sessionlog_crashfs::{Counts, Watch};
use tempfile::tempdir;

/// What `work` gives on a watch of its own folder.
pub(crate) fn counted(work: impl FnOnce(&Path)) -> Counts {
    let folder = tempdir().unwrap();
    let watch = Watch::new(folder.path()).unwrap();
    work(folder.path());
    watch.counts()
}

#[test]
fn a_new_file_is_created_and_an_old_one_truncated() {
    let counts = counted(|root| {
        drop(File::create(root.join("a")).unwrap());
        drop(File::create(root.join("a")).unwrap());
        drop(File::create_new(root.join("b")).unwrap());
        drop(File::open(root.join("a")).unwrap());
        drop(
            OpenOptions::new()
                .append(true)
                .create(true)
                .open(root.join("a"))
                .unwrap(),
        );
    });
    assert_eq!(
        (counts.creates, counts.truncates, counts.calls()),
        (2, 1, 3),
        "{counts:?}"
    );
}

#[test]
fn an_open_that_fails_counts_nothing_if_it_could_not_change_anything() {
    let counts = counted(|root| {
        File::open(root.join("a")).unwrap_err();
        File::create(root.join("no folder/a")).unwrap_err();
        drop(File::create(root.join("a")).unwrap());
        File::create_new(root.join("a")).unwrap_err();
    });
    assert_eq!(
        (counts.creates, counts.failed, counts.calls()),
        (1, 0, 1),
        "{counts:?}"
    );
}

#[test]
fn every_way_to_write_is_one_write_with_its_bytes() {
    let counts = counted(|root| {
        let mut file = File::create(root.join("a")).unwrap();
        file.write_all(b"12345").unwrap();
        file.write_all_at(b"678", 1).unwrap();
        let parts = [IoSlice::new(b"9"), IoSlice::new(b"01234567")];
        assert_eq!(file.write_vectored(&parts).unwrap(), 9);
        assert_eq!(fs::read(root.join("a")).unwrap(), b"16785901234567");
    });
    assert_eq!(
        (counts.writes, counts.bytes_written, counts.calls()),
        (3, 17, 4),
        "{counts:?}"
    );
}

#[test]
fn appending_is_a_write_and_one_commit_is_one_write_and_one_flush() {
    let counts = counted(|root| {
        let mut log = OpenOptions::new()
            .append(true)
            .create(true)
            .open(root.join("log"))
            .unwrap();
        for _ in 0..10 {
            log.write_all(b"{\"event\":1}\n").unwrap();
            log.sync_data().unwrap();
        }
    });
    assert_eq!(
        (counts.writes, counts.flushes(), counts.fdatasyncs),
        (10, 10, 10),
        "{counts:?}"
    );
    assert_eq!((counts.bytes_written, counts.calls()), (120, 21));
}

#[test]
fn flushes_of_files_and_of_folders_are_told_apart() {
    let counts = counted(|root| {
        fs::create_dir(root.join("d")).unwrap();
        let file = File::create(root.join("d/a")).unwrap();
        file.sync_all().unwrap();
        file.sync_data().unwrap();
        File::open(root).unwrap().sync_all().unwrap();
        File::open(root.join("d")).unwrap().sync_data().unwrap();
    });
    assert_eq!(
        (counts.fsyncs, counts.fdatasyncs, counts.folder_flushes),
        (1, 1, 2),
        "{counts:?}"
    );
    assert_eq!((counts.flushes(), counts.mkdirs, counts.calls()), (2, 1, 6));
}

#[test]
fn sizes_links_renames_and_removals_are_counted_by_kind() {
    let counts = counted(|root| {
        let at = |name: &str| root.join(name);
        File::create(at("a")).unwrap().set_len(100).unwrap();
        fs::hard_link(at("a"), at("b")).unwrap();
        std::os::unix::fs::symlink("a", at("c")).unwrap();
        fs::rename(at("b"), at("d")).unwrap();
        fs::create_dir_all(at("e/f")).unwrap();
        fs::remove_dir(at("e/f")).unwrap();
        fs::remove_file(at("c")).unwrap();
    });
    let expected = (1, 1, 2, 1, 1, 1);
    let seen = (
        counts.creates,
        counts.truncates,
        counts.links,
        counts.renames,
        counts.rmdirs,
        counts.unlinks,
    );
    assert_eq!(seen, expected, "{counts:?}");
    // `create_dir_all` tries the longest path first, and fails.
    assert_eq!(counts.mkdirs, 2);
}

#[test]
fn removing_a_tree_counts_each_name() {
    let counts = counted(|root| {
        fs::create_dir_all(root.join("t/u")).unwrap();
        fs::write(root.join("t/a"), b"").unwrap();
        fs::write(root.join("t/u/b"), b"").unwrap();
        fs::remove_dir_all(root.join("t")).unwrap();
    });
    assert_eq!(
        (counts.unlinks, counts.rmdirs, counts.mkdirs),
        (2, 2, 2),
        "{counts:?}"
    );
}

#[test]
fn a_copy_is_made_of_writes_and_is_whole() {
    let content = vec![7_u8; 300_000];
    let counts = counted(|root| {
        fs::write(root.join("a"), &content).unwrap();
        assert_eq!(fs::copy(root.join("a"), root.join("b")).unwrap(), 300_000);
        assert_eq!(fs::read(root.join("b")).unwrap(), content);
    });
    assert_eq!(
        (counts.creates, counts.bytes_written),
        (2, 600_000),
        "{counts:?}"
    );
}

#[test]
fn a_failed_call_is_counted_as_failed_only() {
    let counts = counted(|root| {
        fs::create_dir(root.join("d")).unwrap();
        fs::create_dir(root.join("d")).unwrap_err();
        fs::remove_file(root.join("none")).unwrap_err();
    });
    assert_eq!(
        (counts.mkdirs, counts.unlinks, counts.failed, counts.calls()),
        (1, 0, 2, 3)
    );
}
