//! Files, folders, names: private, never followed, made by writes alone.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::util::*;
use futures_util::StreamExt;
use sessionlog_backend_jsonl::{Jsonl, Options};
use sessionlog_testkit::child::{part, run_behind};

fn ids(store: &Jsonl) -> Vec<String> {
    let listed: Vec<_> = block_on(store.sessions().collect());
    let mut ids: Vec<_> = listed
        .into_iter()
        .map(|id| id.unwrap().to_string())
        .collect();
    ids.sort();
    ids
}

#[test]
fn a_store_that_is_only_read_is_not_made() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let session = SessionRef::fresh(id("s"));
    assert!(
        block_on(store.head(&session.id))
            .unwrap_err()
            .is_not_found()
    );
    assert!(append(&store, &session, &["1"]).unwrap_err().is_not_found());
    assert_eq!(ids(&store), [""; 0]);
    assert!(
        block_on(store.verify(&session.id))
            .unwrap_err()
            .is_not_found()
    );
    assert_eq!(block_on(store.strays()).unwrap(), []);
    assert!(!store.path().exists());
    block_on(store.create(&session)).unwrap();
    assert_eq!(ids(&store), ["s"]);
}

#[test]
fn what_is_no_store_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "x").unwrap();
    for path in [file.clone(), file.join("below"), dir.path().to_owned()] {
        let error = Jsonl::open(&path, Options::default()).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(
            error.to_string().contains(&*path.to_string_lossy()),
            "{error}"
        );
    }
    let store = dir.path().join("store");
    fs::create_dir(&store).unwrap();
    for (marker, names) in [
        (r#"{"backend":"sqlite","format":3}"#, ["sqlite", "jsonl"]),
        (r#"{"backend":"jsonl","format":2}"#, ["format 2", "up to 1"]),
    ] {
        fs::write(store.join("sessionlog.json"), marker).unwrap();
        let error = Jsonl::open(&store, Options::default()).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Unsupported);
        assert!(
            names.iter().all(|name| error.to_string().contains(name)),
            "{error}"
        );
    }
}

#[test]
fn a_lost_or_damaged_marker_beside_sessions_is_written_anew_by_the_next_write() {
    for damage in [None, Some(""), Some("\0\0\0\0")] {
        let (_dir, store, session) = with_events(1);
        let marker = store.path().join("sessionlog.json");
        let whole = fs::read(&marker).unwrap();
        match damage {
            Some(bytes) => fs::write(&marker, bytes).unwrap(),
            None => fs::remove_file(&marker).unwrap(),
        }
        let store = Jsonl::open(store.path(), Options::default()).unwrap();
        assert_eq!(tail(&store, &session), 1);
        block_on(store.create(&SessionRef::fresh(id("t")))).unwrap();
        assert_eq!(fs::read(&marker).unwrap(), whole);
    }
}

#[test]
fn ids_that_differ_by_case_or_name_devices_are_sessions_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let mut names = vec![
        "abc",
        "Abc",
        "aBC",
        "ABC",
        "con",
        "CON",
        "nul.txt",
        "com1",
        "x.",
        "sessionlog.json",
    ];
    for name in &names {
        let session = SessionRef::fresh(id(name));
        block_on(store.create(&session)).unwrap();
        append(&store, &session, &[&format!("\"{name}\"")]).unwrap();
    }
    let mut folders: Vec<_> = fs::read_dir(store.path())
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().to_lowercase())
        .collect();
    let count = folders.len();
    folders.sort();
    folders.dedup();
    assert_eq!(folders.len(), count);
    names.sort_unstable();
    assert_eq!(ids(&store), names);
    for name in names {
        let (session, _) = block_on(store.head(&id(name))).unwrap();
        assert_eq!(
            texts(&read(&store, &session).unwrap()),
            [format!("\"{name}\"")]
        );
    }
}

#[test]
fn links_and_foreign_files_are_not_followed_not_deleted_and_reported() {
    let (dir, store, session) = with_events(2);
    let outside = dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "x").unwrap();
    symlink(&outside, store.path().join("linked")).unwrap();
    symlink(store.path().join("s"), store.path().join("alias")).unwrap();
    fs::write(store.path().join("README"), "hand-made").unwrap();
    fs::write(store.path().join("s/notes.txt"), "hand-made").unwrap();
    symlink(&outside, store.path().join("s/blobs")).unwrap();

    assert_eq!(ids(&store), ["s"]);
    assert!(
        block_on(store.head(&id("linked")))
            .unwrap_err()
            .is_corrupt()
    );
    assert!(block_on(store.head(&id("alias"))).unwrap_err().is_corrupt());
    let found: Vec<_> = block_on(store.strays()).unwrap();
    let mut named: Vec<_> = found
        .iter()
        .filter_map(|f| f.place.file.as_deref())
        .collect();
    named.sort_unstable();
    assert_eq!(named, ["README", "alias", "linked"]);
    let found = block_on(store.verify(&session.id)).unwrap();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|f| f.severity == Severity::Note));

    let blob = BlobId::of(b"x");
    fs::write(outside.join(blob.to_string()), "x").unwrap();
    assert_eq!(block_on(store.list(&session).collect::<Vec<_>>()).len(), 0);
    let pieces: Vec<_> = block_on(store.get(&session, blob, 0..9).collect());
    assert!(matches!(&pieces[..], [Err(error)] if error.is_not_found()));
    let content = futures_util::stream::iter([Ok("y".into())]).boxed();
    assert!(block_on(store.put(&session, content, None)).is_err());
    block_on(store.remove(&session, blob, None)).unwrap();
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 2);

    block_on(store.delete(&session, None)).unwrap();
    assert!(!store.path().join("s").exists());
    assert_eq!(fs::read(outside.join("secret")).unwrap(), b"x");
    assert!(store.path().join("README").exists());
    // A log that is a link is not opened.
    let session = SessionRef::fresh(id("t"));
    block_on(store.create(&session)).unwrap();
    let path = log_path(&store, "t");
    fs::rename(&path, outside.join("log")).unwrap();
    symlink(outside.join("log"), &path).unwrap();
    assert!(append(&store, &session, &["1"]).unwrap_err().is_corrupt());
    let fresh = Jsonl::open(store.path(), Options::default()).unwrap();
    assert!(append(&fresh, &session, &["1"]).unwrap_err().is_corrupt());
}

#[test]
fn a_link_in_the_place_of_the_trash_once_emptied_what_it_leads_to() {
    for name in [".trash", ".new"] {
        let (dir, store, session) = with_events(1);
        let outside = dir.path().join("outside");
        fs::create_dir_all(outside.join("inner")).unwrap();
        fs::write(outside.join("inner/precious"), "x").unwrap();
        let own = store.path().join(name);
        drop(fs::remove_dir_all(&own));
        symlink(&outside, &own).unwrap();
        drop(block_on(store.create(&SessionRef::fresh(id("t")))));
        drop(block_on(store.delete(&session, None)));
        assert!(outside.join("inner/precious").exists(), "{name}");
    }
}

#[test]
fn everything_is_private_to_its_owner() {
    // The mask of a process holds for all its threads: a child of its own tries each.
    for mask in ["000", "022", "277"] {
        let dir = tempfile::tempdir().unwrap();
        let (umask, path) = (format!("umask {mask}"), dir.path().join("a/store"));
        run_behind(&umask, "files::child_that_writes_everything", &path, "all");
        let mut files = 0;
        for (path, content) in everything(&dir.path().join("a")) {
            let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            let expected = if content.is_some() { 0o600 } else { 0o700 };
            assert_eq!(mode, expected, "{} under {mask}", path.display());
            files += usize::from(content.is_some());
        }
        assert!(files >= 8, "{files}");
    }
}

#[test]
fn child_that_writes_everything() {
    let Some((path, _)) = part() else {
        return;
    };
    let store = Jsonl::open(path, Options::default()).unwrap();
    let session = create(&store, "s");
    append(&store, &session, &["1"]).unwrap();
    let lease = LeaseRequest::new(Owner::new("me").unwrap());
    let _lease = block_on(store.acquire(&session, lease)).unwrap();
    beside_the_log(&store, &session);
    let log = log_path(&store, "s");
    let mut bytes = fs::read(&log).unwrap();
    bytes.extend_from_slice(b"{\"seq\":1,\"id\":\"0");
    fs::write(&log, bytes).unwrap();
    append(&store, &session, &["2"]).unwrap();
}

/// A snapshot and a blob.
pub(crate) fn beside_the_log(store: &Jsonl, session: &SessionRef) -> BlobId {
    let snapshot = Snapshot {
        projection: Kind::from_static("card"),
        version: 1,
        covers: SeqNum::new(1),
        log: Sum::from_u64(1),
        state: "state".into(),
    };
    block_on(store.save(session, snapshot, None)).unwrap();
    let content = futures_util::stream::iter([Ok("blob".into())]).boxed();
    block_on(store.put(session, content, None)).unwrap().id
}

#[test]
fn a_store_that_cannot_be_written_can_be_read() {
    let (dir, store, session) = with_events(3);
    let blob = beside_the_log(&store, &session);
    let request = LeaseRequest::new(Owner::new("me").unwrap());
    drop(block_on(store.acquire(&session, request)).unwrap());
    // The owner of all files is no test: another user runs a copy of this program.
    let program = dir.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for (path, content) in everything(store.path()) {
        let mode = if content.is_some() { 0o444 } else { 0o555 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut command = std::process::Command::new(&program);
    command
        .args(["--exact", "files::child_that_can_only_read"])
        .env("SESSIONLOG_TEST_STORE", store.path())
        .env("SESSIONLOG_TEST_NAME", blob.to_string())
        .current_dir(dir.path());
    if is_root(&program) {
        std::os::unix::process::CommandExt::uid(&mut command, 65534);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for (path, _) in everything(store.path()) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
    }
    assert!(output.status.success(), "{text}");
}

fn is_root(mine: &std::path::Path) -> bool {
    std::os::unix::fs::MetadataExt::uid(&fs::metadata(mine).unwrap()) == 0
}

#[test]
fn child_that_can_only_read() {
    let Some((path, blob)) = part() else {
        return;
    };
    let store = Jsonl::open(path, Options::default()).unwrap();
    let (session, head) = block_on(store.head(&id("s"))).unwrap();
    assert_eq!(head.tail.get(), 3);
    assert_eq!(read(&store, &session).unwrap().len(), 3);
    assert_eq!(ids(&store), ["s"]);
    assert_eq!(block_on(store.verify(&session.id)).unwrap(), []);
    assert_eq!(block_on(store.strays()).unwrap(), []);
    assert_eq!(block_on(store.holder(&session)).unwrap(), Liveness::Idle);
    let card = Kind::from_static("card");
    let found = block_on(store.latest(&session, &card, 1, SeqNum::MAX)).unwrap();
    assert_eq!(found.unwrap().state, "state");
    let pieces: Vec<_> = block_on(store.get(&session, blob.parse().unwrap(), 0..9).collect());
    assert_eq!(pieces[0].as_ref().unwrap(), "blob");
    assert_eq!(
        block_on(store.repair(&session.id, false)).unwrap().events,
        3
    );
    for error in [
        append(&store, &session, &["1"]).unwrap_err(),
        block_on(store.create(&SessionRef::fresh(id("t")))).unwrap_err(),
        block_on(store.delete(&session, None)).unwrap_err(),
    ] {
        assert_eq!(*error.kind(), ErrorKind::Unsupported, "{error}");
    }
}

#[test]
fn sessions_made_at_once_are_not_taken_for_leftovers() {
    let (dir, _, _) = with_events(0);
    std::thread::scope(|scope| {
        for maker in 0..4 {
            let dir = &dir;
            scope.spawn(move || {
                let store = open(dir);
                for n in 0..60 {
                    let session = SessionRef::fresh(id(&format!("m{maker}-{n}")));
                    block_on(store.create(&session)).unwrap();
                    append(&store, &session, &["1"]).unwrap();
                }
            });
        }
    });
    let store = open(&dir);
    for maker in 0..4 {
        for n in 0..60 {
            let id = id(&format!("m{maker}-{n}"));
            let (session, head) = block_on(store.head(&id)).unwrap();
            assert_eq!(head.tail, SeqNum::new(1), "{}", session.id);
        }
    }
}
