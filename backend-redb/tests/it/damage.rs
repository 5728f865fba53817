//! Files that are no store, or no longer what was written.

use crate::util::*;
use sessionlog_backend_redb::{Options, Redb};

/// Case 6: whatever byte is changed, nothing wrong comes back and nothing dies.
#[test]
fn no_changed_byte_gives_a_wrong_event_or_a_shorter_log() {
    let (dir, store, session) = with_events(40);
    drop(store);
    let path = dir.path().join("store.redb");
    let whole = std::fs::read(&path).unwrap();
    let expected: Vec<_> = (0..40).map(|n| format!("{{\"n\":{n}}}")).collect();
    let mut refused = 0;
    std::panic::set_hook(Box::new(|_| ()));
    for at in (0..whole.len()).step_by(211) {
        let mut changed = whole.clone();
        changed[at] ^= 1 << (at % 8);
        std::fs::write(&path, &changed).unwrap();
        let seen = Redb::open(&path, Options::default()).and_then(|store| {
            let both = [session.id.clone(), id("none")];
            let told = |found: Result<_>| found.map_err(|e| e.kind().name());
            let each = both.iter().map(|id| told(block_on(store.head(id))));
            let heads = block_on(store.heads(&both)).into_iter().map(told);
            assert!(heads.eq(each), "byte {at}");
            let head = block_on(store.head(&session.id))?;
            assert_eq!(head.0, session, "byte {at}");
            Ok((head.1, read(&store, &session)?))
        });
        match seen {
            Ok((head, events)) => {
                assert_eq!(texts(&events), expected, "byte {at}");
                assert_eq!(head, Head::after(&events[39]), "byte {at}");
            }
            Err(error) => {
                refused += 1;
                assert!(!error.is_not_found(), "byte {at}: {error}");
            }
        }
        assert!(std::fs::read(&path).unwrap() == changed, "byte {at}");
    }
    drop(std::panic::take_hook());
    assert!(refused > 0);
}

#[test]
fn runs_of_zeros_and_cut_files_are_refused_or_harmless_and_stay_as_they_are() {
    let (dir, store, session) = with_events(40);
    drop(store);
    let path = dir.path().join("store.redb");
    let whole = std::fs::read(&path).unwrap();
    std::panic::set_hook(Box::new(|_| ()));
    let mut images: Vec<Vec<u8>> = vec![Vec::new(), vec![0; whole.len()]];
    for start in (0..whole.len()).step_by(4096) {
        let mut zeroed = whole.clone();
        let end = (start + 4096).min(whole.len());
        zeroed[start..end].fill(0);
        images.push(zeroed);
        images.push(whole[..start].to_vec());
    }
    for (n, image) in images.iter().enumerate() {
        std::fs::write(&path, image).unwrap();
        let seen = Redb::open(&path, Options::default()).and_then(|s| read(&s, &session));
        match seen {
            Ok(events) => assert_eq!(events.len(), 40, "image {n}"),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        assert!(std::fs::read(&path).unwrap() == *image, "image {n}");
    }
    drop(std::panic::take_hook());
}

#[test]
fn what_is_no_store_is_refused_and_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let refuse = |name: &str| {
        let path = dir.path().join(name);
        let error = Redb::open(&path, Options::default()).unwrap_err();
        (error.kind().name(), error.to_string())
    };
    std::fs::write(dir.path().join("notes"), "somebody's notes").unwrap();
    std::fs::write(dir.path().join("empty"), "").unwrap();
    std::fs::create_dir_all(dir.path().join("folder/sessions.redb")).unwrap();
    redb::Database::create(dir.path().join("foreign")).unwrap();
    for (name, kind, words) in [
        ("notes", "corrupt", "no redb database"),
        ("empty", "corrupt", "empty"),
        ("folder", "invalid-input", "not a file"),
        ("notes/store", "invalid-input", "is a file"),
        ("foreign", "invalid-input", "no sessionlog store"),
    ] {
        let before = std::fs::read(dir.path().join(name)).ok();
        let (was, message) = refuse(name);
        assert_eq!(was, kind, "{name}: {message}");
        assert!(message.contains(words), "{name}: {message}");
        assert!(std::fs::read(dir.path().join(name)).ok() == before);
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 4);
}

/// Case 21: both versions, or both backends, are named.
#[test]
fn another_backend_and_a_newer_format_are_named() {
    const MARKER: redb::TableDefinition<'_, &str, &str> = redb::TableDefinition::new("sessionlog");
    let (dir, store, _) = with_events(1);
    drop(store);
    let path = dir.path().join("store.redb");
    for (key, value, words) in [
        ("format", "7", ["format 7", "up to 1"]),
        ("backend", "other", ["\"other\"", "\"redb\""]),
    ] {
        let database = redb::Database::open(&path).unwrap();
        let txn = database.begin_write().unwrap();
        txn.open_table(MARKER).unwrap().insert(key, value).unwrap();
        txn.commit().unwrap();
        drop(database);
        let error = Redb::open(&path, Options::default()).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Unsupported);
        for words in words {
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}

#[test]
fn opening_and_reading_a_store_that_is_not_there_makes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let session = SessionRef::fresh(id("s"));
    assert!(
        block_on(store.head(&session.id))
            .unwrap_err()
            .is_not_found()
    );
    assert!(append(&store, &session, &["1"]).unwrap_err().is_not_found());
    assert!(read(&store, &session).unwrap_err().is_not_found());
    assert!(block_on(store.strays()).unwrap().is_empty());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// Case 5d: the file is taken away or replaced while it is open.
#[test]
fn a_file_that_is_moved_away_or_replaced_is_noticed() {
    let (dir, store, session) = with_events(2);
    let path = dir.path().join("store.redb");
    let aside = dir.path().join("aside.redb");
    std::fs::rename(&path, &aside).unwrap();
    assert!(append(&store, &session, &["1"]).is_err());
    assert!(!path.exists());
    let (other_dir, other, other_session) = with_events(3);
    drop(other);
    std::fs::copy(other_dir.path().join("store.redb"), &path).unwrap();
    assert!(append(&store, &session, &["1"]).unwrap_err().is_not_found());
    assert_eq!(tail(&store, &other_session), 3);
    let moved = Redb::open(&aside, Options::default()).unwrap();
    assert_eq!(tail(&moved, &session), 2);
}

/// The byte that tells which of the last two commits counts.
#[test]
fn a_changed_bit_of_the_first_bytes_rolls_nothing_back() {
    let (dir, store, session) = with_events(6);
    drop(store);
    let path = dir.path().join("store.redb");
    let whole = std::fs::read(&path).unwrap();
    std::panic::set_hook(Box::new(|_| ()));
    for at in 0..320 {
        for bit in 0..8 {
            let mut changed = whole.clone();
            changed[at] ^= 1 << bit;
            std::fs::write(&path, &changed).unwrap();
            let seen = Redb::open(&path, Options::default()).and_then(|s| read(&s, &session));
            if let Ok(events) = seen {
                assert_eq!(events.len(), 6, "byte {at} bit {bit}");
            }
            assert!(
                std::fs::read(&path).unwrap() == changed,
                "byte {at} bit {bit}"
            );
        }
    }
    drop(std::panic::take_hook());
}

/// Its locks are made only once it is there.
#[test]
fn a_store_that_is_gone_while_its_locks_are_there_is_damage() {
    let (dir, store, session) = with_events(2);
    let request = LeaseRequest::new(Owner::new("me").unwrap());
    drop(block_on(store.acquire(&session, request)).unwrap());
    drop(store);
    std::fs::remove_file(dir.path().join("store.redb")).unwrap();
    let opened = Redb::open(dir.path().join("store.redb"), Options::default());
    let error = opened.and_then(|store| read(&store, &session)).unwrap_err();
    assert!(error.is_corrupt(), "{error}");
}
