//! What the tests have in common.

use std::ops::Range;
use std::path::{Path, PathBuf};

use futures_util::StreamExt;
pub(crate) use pollster::block_on;
pub(crate) use sessionlog_backend_sqlite::{Options, Sqlite};
pub(crate) use sessionlog_core::*;
pub(crate) use tempfile::TempDir;

pub(crate) const NONE: AppendCondition = AppendCondition::NONE;

pub(crate) fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

pub(crate) fn event(text: &str) -> NewEvent {
    NewEvent::json(Kind::from_static("message"), text.to_owned()).unwrap()
}

pub(crate) fn path(dir: &TempDir) -> PathBuf {
    dir.path().join("store.db")
}

pub(crate) fn open(dir: &TempDir) -> Sqlite {
    Sqlite::open(path(dir), Options::default()).unwrap()
}

pub(crate) fn create(store: &Sqlite, name: &str) -> SessionRef {
    let session = SessionRef::fresh(id(name));
    block_on(store.create(&session)).unwrap();
    session
}

/// A store with one session that has `n` events, each a commit of its own.
pub(crate) fn with_events(n: u64) -> (TempDir, Sqlite, SessionRef) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let session = create(&store, "s");
    for i in 0..n {
        append(&store, &session, &[&format!("{{\"n\":{i}}}")]).unwrap();
    }
    (dir, store, session)
}

pub(crate) fn append(
    store: &Sqlite,
    session: &SessionRef,
    texts: &[&str],
) -> Result<Range<SeqNum>> {
    let events = texts.iter().map(|text| event(text)).collect();
    block_on(store.append(session, events, NONE))
}

/// All events, as the core hands them out: verified.
pub(crate) fn read(store: &Sqlite, name: &str) -> Result<Vec<Event>> {
    let store = Store::new(store.clone());
    block_on(async {
        let session = store.open(&id(name)).await?;
        session.read(SeqNum::all()).collect().await
    })
}

pub(crate) fn chunks(store: &Sqlite, session: &SessionRef) -> Result<Vec<Vec<Event>>> {
    block_on(
        store
            .read(session, SeqNum::all())
            .collect::<Vec<Result<Vec<Event>>>>(),
    )
    .into_iter()
    .collect()
}

pub(crate) fn tail(store: &Sqlite, session: &SessionRef) -> u64 {
    block_on(store.head(&session.id)).unwrap().1.tail.get()
}

pub(crate) fn request(owner: &str) -> LeaseRequest {
    LeaseRequest::new(Owner::new(owner).unwrap())
}

/// Every path below a folder with its content.
pub(crate) fn everything(dir: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut all = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let content = path.is_file().then(|| std::fs::read(&path).unwrap());
            if path.is_dir() {
                folders.push(path.clone());
            }
            all.push((path, content));
        }
    }
    all.sort();
    all
}

/// Makes a file look as if nobody had changed it for long.
pub(crate) fn settle(path: &Path) {
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    let past = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    file.set_modified(past).unwrap();
}
