//! Damaged pages of the file: what can be read is carried into a new one.

use std::fs;

use sessionlog_backend_redb::{Options, Redb};

use crate::util::*;

const PAGE: usize = 4096;
const SESSIONS: usize = 3;

/// A store of some sessions, closed, with the texts of each.
fn whole() -> (Vec<u8>, Vec<(SessionId, Vec<String>)>) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let sessions: Vec<_> = (0..SESSIONS)
        .map(|n| SessionRef::fresh(id(&format!("s{n}"))))
        .collect();
    for session in &sessions {
        block_on(store.create(session)).unwrap();
    }
    for round in 0..12 {
        for session in &sessions {
            let text = format!("\"{round} {}\"", "x".repeat(600 + round * 40));
            append(&store, session, &[&text, "[1]"]).unwrap();
        }
    }
    let logs = sessions.iter().map(|session| {
        let events = read(&store, session).unwrap();
        (session.id.clone(), texts(&events))
    });
    let logs = logs.collect();
    drop(store);
    (fs::read(dir.path().join("store.redb")).unwrap(), logs)
}

fn events(store: &Redb, id: &SessionId) -> Result<Vec<Event>> {
    let (session, _) = block_on(store.head(id))?;
    read(store, &session)
}

/// Repairs every session. Gives how many events are there, how many are marks, and how many sessions are
/// gone; `None` if the file can't be opened at all.
fn repaired(dir: &TempDir, logs: &[(SessionId, Vec<String>)], what: &str) -> Option<[usize; 3]> {
    let path = dir.path().join("store.redb");
    let store = Redb::open(path, Options::default()).ok()?;
    let mut counts = [0; 3];
    for (id, log) in logs {
        let plan = block_on(store.repair(id, false));
        assert!(plan.is_ok() || plan.unwrap_err().is_not_found(), "{what}");
        match block_on(store.repair(id, true)) {
            Ok(_) => {}
            Err(error) if error.is_not_found() => {
                counts[2] += 1;
                continue;
            }
            Err(error) => unreachable!("{what}: {error:?}"),
        }
        let now = events(&store, id).unwrap();
        for (old, new) in log.iter().zip(&now) {
            if new.kind == "repair.lost" {
                counts[1] += 1;
            } else {
                assert_eq!(new.data.as_text(), *old, "{what}");
                counts[0] += 1;
            }
        }
        let (session, _) = block_on(store.head(id)).unwrap();
        append(&store, &session, &["1"]).unwrap();
        assert!(block_on(store.verify(id)).unwrap().is_empty(), "{what}");
    }
    Some(counts)
}

#[test]
fn a_damaged_page_costs_what_was_on_it_and_nothing_else() {
    let (bytes, logs) = whole();
    let dir = tempfile::tempdir().unwrap();
    let all = logs.iter().map(|(_, log)| log.len()).sum::<usize>();
    let (mut closed, mut gone, mut rebuilt, mut whole) = (0, 0, 0, 0);
    // redb panics on some pages, which is caught; this test may as well.
    std::panic::set_hook(Box::new(|panic| {
        if panic.location().is_some_and(|at| at.file() == file!()) {
            eprintln!("{panic}");
        }
    }));
    let pages = bytes.len() / PAGE;
    let mut branches = 0;
    for page in 1..pages {
        let mut damaged = bytes.clone();
        let place = &mut damaged[page * PAGE..(page + 1) * PAGE];
        if place.iter().all(|byte| *byte == 0) {
            continue;
        }
        place.fill(0);
        for entry in fs::read_dir(dir.path()).unwrap() {
            let path = entry.unwrap().path();
            drop(fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path)));
        }
        fs::write(dir.path().join("store.redb"), &damaged).unwrap();
        match repaired(&dir, &logs, &format!("page {page}")) {
            None => closed += 1,
            Some([_, _, SESSIONS]) => gone += 1,
            Some([there, lost, missing]) => {
                assert_eq!(missing, 0, "page {page}");
                assert_eq!(there + lost, all, "page {page}");
                // Behind a page that leads to others, all of them are lost.
                branches += usize::from(there < all / 2);
                whole += usize::from(there == all);
                let kept = fs::read_dir(dir.path()).unwrap();
                let kept = kept.filter(|entry| {
                    let name = entry.as_ref().unwrap().file_name();
                    name.to_string_lossy().contains(".damaged-")
                });
                rebuilt += kept.count();
            }
        }
    }
    drop(std::panic::take_hook());
    let told = format!("{pages} pages: {closed} {gone} {rebuilt} {whole} {branches}");
    assert!(branches <= 2, "{told}");
    assert!(
        rebuilt > 4 && whole > 0 && closed + gone < pages / 2,
        "{told}"
    );
    eprintln!("{told}");
}

#[test]
fn a_write_that_meets_a_damaged_page_says_that_it_is_damage() {
    let (bytes, logs) = whole();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.redb");
    let mut refused = 0;
    for page in 1..bytes.len() / PAGE {
        let mut damaged = bytes.clone();
        damaged[page * PAGE..(page + 1) * PAGE].fill(0);
        fs::write(&path, &damaged).unwrap();
        let Ok(store) = Redb::open(&path, Options::default()) else {
            continue;
        };
        for (id, _) in &logs {
            let appended = block_on(store.head(id))
                .and_then(|(session, _)| append(&store, &session, &["1"]).map(drop));
            let error = appended.err().filter(|error| !error.is_not_found());
            refused += usize::from(error.is_some());
            assert!(error.is_none_or(|e| e.is_corrupt()), "page {page}");
        }
    }
    assert!(refused > 0);
}
