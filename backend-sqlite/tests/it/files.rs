//! What lies on the disk: who may read it, what is made when, and what is refused.

use std::fs;

use sessionlog_testkit::child::{part, run_behind};

use crate::util::*;

fn refused(path: &std::path::Path) -> Error {
    let store = Sqlite::open(path, Options::default());
    store.and_then(|s| read(&s, "s").map(drop)).unwrap_err()
}

#[test]
fn a_path_where_nothing_is_stays_so_until_the_first_write() {
    let dir = tempfile::tempdir().unwrap();
    let store = Sqlite::open(dir.path().join("deep/er/store.db"), Options::default()).unwrap();
    assert!(read(&store, "s").unwrap_err().is_not_found());
    let handle = Store::new(store.clone());
    assert_eq!(block_on(handle.ids()).unwrap(), []);
    assert!(block_on(handle.cards()).unwrap().is_empty());
    assert_eq!(block_on(store.strays()).unwrap(), []);
    let ghost = SessionRef::fresh(id("s"));
    assert!(append(&store, &ghost, &["1"]).unwrap_err().is_not_found());
    assert_eq!(everything(dir.path()).len(), 1);
    create(&store, "s");
    assert!(store.path().is_file());
}

#[test]
fn a_closed_store_is_one_file_that_reading_leaves_as_it_is() {
    let (dir, store, session) = with_events(300);
    drop(store);
    let before = everything(dir.path());
    let names: Vec<_> = before
        .iter()
        .skip(1)
        .map(|(p, _)| p.file_name().unwrap())
        .collect();
    assert_eq!(names, ["store.db", "store.db-leases"]);
    // Right away, when the file may still be changed without a trace, and later.
    for _ in 0..2 {
        let store = open(&dir);
        assert_eq!(read(&store, "s").unwrap().len(), 300);
        assert_eq!(block_on(store.holder(&session)).unwrap(), Liveness::Idle);
        assert_eq!(block_on(store.verify(&session.id)).unwrap(), []);
        assert_eq!(block_on(store.strays()).unwrap(), []);
        assert_eq!(everything(dir.path()), before);
        drop(store);
        assert_eq!(everything(dir.path()), before);
        settle(&path(&dir));
    }
}

#[test]
fn a_reader_that_came_before_the_writer_sees_what_it_writes() {
    let (dir, store, session) = with_events(3);
    drop(store);
    settle(&path(&dir));
    let reader = open(&dir);
    assert_eq!(tail(&reader, &session), 3);
    let writer = open(&dir);
    append(&writer, &session, &["4"]).unwrap();
    assert_eq!(tail(&reader, &session), 4);
    drop(writer);
    assert_eq!(tail(&reader, &session), 4);
    // It lets the database go once it is asked nothing more than that nobody writes.
    let writer = open(&dir);
    append(&writer, &session, &["5"]).unwrap();
    assert_eq!(read(&reader, "s").unwrap().len(), 5);
}

#[test]
#[cfg(unix)]
fn every_file_is_private_whatever_the_umask() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let (test, sub) = ("files::child_that_makes_everything", dir.path().join("sub"));
    let text = run_behind("umask 000", test, &sub, "all");
    let modes: Vec<_> = text
        .lines()
        .filter_map(|l| l.strip_prefix("mode "))
        .collect();
    assert!(modes.len() >= 6, "{modes:?}");
    for line in modes {
        let (mode, name) = line.split_once(' ').unwrap();
        let expected = if name.ends_with("-leases") || name.ends_with("sub") {
            "700"
        } else {
            "600"
        };
        assert_eq!(mode, expected, "{name}");
    }
    let mode = fs::metadata(dir.path().join("sub"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
#[cfg(unix)]
fn child_that_makes_everything() {
    use std::os::unix::fs::PermissionsExt;
    let Some((folder, _)) = part() else {
        return;
    };
    let store = Sqlite::open(folder.join("store.db"), Options::default()).unwrap();
    let session = create(&store, "s");
    append(&store, &session, &["1"]).unwrap();
    let _lease = block_on(store.acquire(&session, request("me"))).unwrap();
    println!();
    for (path, _) in everything(&folder) {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        println!("mode {mode:o} {}", path.file_name().unwrap().display());
    }
}

#[test]
fn a_file_that_is_no_store_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("notes.txt");
    fs::write(
        &text,
        "somebody's notes, long enough to look like a header".repeat(40),
    )
    .unwrap();
    let other = dir.path().join("other.db");
    let conn = rusqlite::Connection::open(&other).unwrap();
    conn.execute_batch("CREATE TABLE t (x)").unwrap();
    conn.close().unwrap();
    let empty = dir.path().join("empty.db");
    fs::write(&empty, "").unwrap();
    let before = everything(dir.path());
    for (path, word) in [
        (&text, "no SQLite database"),
        (&other, "another program's"),
        (&empty, "empty"),
    ] {
        let error = refused(path);
        assert!(error.to_string().contains(word), "{error}");
    }
    assert_eq!(everything(dir.path()), before);
}

#[test]
fn a_newer_format_is_refused_with_both_versions() {
    let (dir, store, _) = with_events(1);
    drop(store);
    let conn = rusqlite::Connection::open(path(&dir)).unwrap();
    conn.execute_batch("PRAGMA user_version = 7").unwrap();
    conn.close().unwrap();
    let before = everything(dir.path());
    let error = refused(&path(&dir));
    assert_eq!(*error.kind(), ErrorKind::Unsupported);
    let message = error.to_string();
    assert!(
        message.contains("format 7") && message.contains("up to 1"),
        "{message}"
    );
    assert_eq!(everything(dir.path()), before);
}

#[test]
#[cfg(unix)]
fn a_link_in_place_of_the_database_is_not_followed() {
    let (dir, store, _) = with_events(1);
    drop(store);
    let link = dir.path().join("link.db");
    std::os::unix::fs::symlink(path(&dir), &link).unwrap();
    assert_eq!(*refused(&link).kind(), ErrorKind::InvalidInput);
    // A link above it is the user's way to name the folder.
    let folder = dir.path().join("folder");
    std::os::unix::fs::symlink(dir.path(), &folder).unwrap();
    let store = Sqlite::open(folder.join("store.db"), Options::default()).unwrap();
    assert_eq!(read(&store, "s").unwrap().len(), 1);
}

#[test]
fn a_database_that_is_gone_is_missed() {
    let (dir, store, _) = with_events(1);
    drop(store);
    let away = dir.path().join("away");
    fs::rename(path(&dir), &away).unwrap();
    assert!(refused(&path(&dir)).is_corrupt());
    let store = Sqlite::open(path(&dir), Options::default());
    assert!(
        store.is_err(),
        "a new store was made in place of one that is gone"
    );
    fs::rename(&away, path(&dir)).unwrap();
    assert_eq!(read(&open(&dir), "s").unwrap().len(), 1);
}

#[test]
fn a_database_that_is_replaced_while_it_is_open_is_noticed() {
    let (dir, store, session) = with_events(2);
    let (other, second, _) = with_events(5);
    drop(second);
    fs::rename(path(&other), path(&dir)).unwrap();
    let content = fs::read(path(&dir)).unwrap();
    assert!(append(&store, &session, &["3"]).unwrap_err().is_corrupt());
    assert!(read(&store, "s").unwrap_err().is_corrupt());
    drop(store);
    assert_eq!(fs::read(path(&dir)).unwrap(), content);
}

#[test]
fn what_a_broken_off_start_leaves_is_reported_and_cleared() {
    let (dir, store, session) = with_events(2);
    fs::write(dir.path().join("store.db-new-0"), "half").unwrap();
    fs::write(dir.path().join("store.db.bak"), "somebody's copy").unwrap();
    fs::write(dir.path().join("notes.txt"), "not beside the database").unwrap();
    let lock = dir.path().join("store.db-leases").join("77");
    fs::write(&lock, "").unwrap();
    let mut names: Vec<_> = block_on(store.strays())
        .unwrap()
        .into_iter()
        .map(|f| f.place.file.unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["store.db-new-0", "store.db.bak"]);
    block_on(store.compact()).unwrap();
    assert!(!dir.path().join("store.db-new-0").exists() && !lock.exists());
    assert!(dir.path().join("store.db.bak").exists());
    assert_eq!(tail(&store, &session), 2);
}
