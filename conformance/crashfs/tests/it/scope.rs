//! What is below the root and what is not.

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::symlink,
};

use sessionlog_crashfs::Watch;
use tempfile::tempdir;

#[test]
fn files_outside_the_root_are_not_counted() {
    let (inside, outside) = (tempdir().unwrap(), tempdir().unwrap());
    let sibling = inside.path().with_extension("sibling");
    let watch = Watch::new(inside.path()).unwrap();
    fs::create_dir(&sibling).unwrap();
    fs::write(sibling.join("a"), b"x").unwrap();
    fs::write(outside.path().join("a"), b"x").unwrap();
    fs::rename(outside.path().join("a"), outside.path().join("b")).unwrap();
    fs::remove_dir_all(&sibling).unwrap();
    assert_eq!(watch.counts().calls(), 0);
}

#[test]
fn the_root_itself_is_outside() {
    let parent = tempdir().unwrap();
    let root = parent.path().join("root");
    fs::create_dir(&root).unwrap();
    let watch = Watch::new(&root).unwrap();
    fs::remove_dir(&root).unwrap();
    fs::create_dir(&root).unwrap();
    assert_eq!(watch.counts().calls(), 0);
    fs::create_dir(root.join("d")).unwrap();
    assert_eq!(watch.counts().mkdirs, 1);
}

#[test]
fn two_watches_count_apart_and_a_watch_inside_another_counts_for_both() {
    let (a, b) = (tempdir().unwrap(), tempdir().unwrap());
    fs::create_dir(a.path().join("in")).unwrap();
    let outer = Watch::new(a.path()).unwrap();
    let inner = Watch::new(a.path().join("in")).unwrap();
    let other = Watch::new(b.path()).unwrap();
    fs::write(a.path().join("in/x"), b"12").unwrap();
    fs::write(a.path().join("y"), b"3").unwrap();
    fs::write(b.path().join("z"), b"4567").unwrap();
    let bytes = |w: &Watch| (w.counts().creates, w.counts().bytes_written);
    assert_eq!(
        [bytes(&outer), bytes(&inner), bytes(&other)],
        [(2, 3), (1, 2), (1, 4)]
    );
}

/// There are 64 places for watches, and each comes to its turn.
#[test]
fn a_watch_keeps_its_place_while_others_come_and_go() {
    let (root, other) = (tempdir().unwrap(), tempdir().unwrap());
    let watch = Watch::new(root.path()).unwrap();
    fs::write(root.path().join("a"), b"x").unwrap();
    for _ in 0..70 {
        drop(Watch::new(other.path()).unwrap());
    }
    fs::write(root.path().join("b"), b"x").unwrap();
    assert_eq!(watch.counts().creates, 2);
}

#[test]
fn a_file_that_was_open_before_the_watch_is_counted() {
    let root = tempdir().unwrap();
    let mut file = File::create(root.path().join("a")).unwrap();
    let watch = Watch::new(root.path()).unwrap();
    file.write_all(b"x").unwrap();
    assert_eq!((watch.counts().writes, watch.counts().creates), (1, 0));
}

#[test]
fn duplicated_descriptors_count_and_reused_numbers_do_not() {
    let (root, outside) = (tempdir().unwrap(), tempdir().unwrap());
    let watch = Watch::new(root.path()).unwrap();
    let file = File::create(root.path().join("a")).unwrap();
    let mut twin = file.try_clone().unwrap();
    drop(file);
    twin.write_all(b"x").unwrap();
    assert_eq!(watch.counts().writes, 1);
    drop(twin);
    for _ in 0..3 {
        fs::write(outside.path().join("a"), b"x").unwrap();
    }
    assert_eq!(watch.counts().writes, 1);
}

#[test]
fn a_folder_that_was_renamed_stays_below_the_root() {
    let root = tempdir().unwrap();
    let watch = Watch::new(root.path()).unwrap();
    fs::create_dir(root.path().join("old")).unwrap();
    let mut file = File::create(root.path().join("old/a")).unwrap();
    fs::rename(root.path().join("old"), root.path().join("new")).unwrap();
    file.write_all(b"x").unwrap();
    fs::write(root.path().join("new/b"), b"y").unwrap();
    let counts = watch.counts();
    assert_eq!(
        (counts.renames, counts.writes, counts.creates),
        (1, 2, 2),
        "{counts:?}"
    );
}

#[test]
fn a_rename_over_the_border_counts_and_so_does_a_removed_file() {
    let (root, outside) = (tempdir().unwrap(), tempdir().unwrap());
    fs::write(outside.path().join("a"), b"").unwrap();
    let watch = Watch::new(root.path()).unwrap();
    fs::rename(outside.path().join("a"), root.path().join("a")).unwrap();
    assert_eq!(watch.counts().renames, 1);
    let mut file = File::options()
        .append(true)
        .open(root.path().join("a"))
        .unwrap();
    fs::remove_file(root.path().join("a")).unwrap();
    file.write_all(b"x").unwrap();
    assert_eq!(watch.counts().writes, 1);
}

#[test]
fn symbolic_links_and_dots_lead_to_the_place_that_counts() {
    let (root, outside) = (tempdir().unwrap(), tempdir().unwrap());
    fs::create_dir(root.path().join("d")).unwrap();
    let way = outside.path().join("way");
    symlink(root.path().join("d"), &way).unwrap();
    // The watch is asked for through a link as well.
    let watch = Watch::new(way.join("..")).unwrap();
    assert_eq!(watch.root(), root.path().canonicalize().unwrap());
    fs::write(way.join("a"), b"x").unwrap();
    fs::create_dir(way.join("../e/")).unwrap();
    fs::write(
        root.path()
            .join("../")
            .join(outside.path().file_name().unwrap())
            .join("b"),
        b"x",
    )
    .unwrap();
    let counts = watch.counts();
    assert_eq!(
        (counts.creates, counts.writes, counts.mkdirs),
        (1, 1, 1),
        "{counts:?}"
    );
}

#[test]
fn a_dropped_watch_leaves_its_place_to_others() {
    let root = tempdir().unwrap();
    for n in 0..200_u64 {
        let watch = Watch::new(root.path()).unwrap();
        assert_eq!(watch.counts().calls(), 0);
        fs::write(root.path().join("a"), n.to_string()).unwrap();
        assert_eq!(watch.counts().calls(), 2);
    }
}

#[test]
fn a_root_that_is_no_folder_is_refused() {
    let root = tempdir().unwrap();
    fs::write(root.path().join("a"), b"").unwrap();
    let kind = Watch::new(root.path().join("a")).unwrap_err().kind();
    assert_eq!(kind, std::io::ErrorKind::NotADirectory);
    let kind = Watch::new(root.path().join("none")).unwrap_err().kind();
    assert_eq!(kind, std::io::ErrorKind::NotFound);
}
