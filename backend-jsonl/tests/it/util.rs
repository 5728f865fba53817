//! What the tests have in common.

use std::path::PathBuf;

use futures_util::StreamExt;
pub(crate) use pollster::block_on;
use sessionlog_backend_jsonl::{Jsonl, Options};
pub(crate) use sessionlog_core::*;
pub(crate) use tempfile::TempDir;

pub(crate) const NONE: AppendCondition = AppendCondition::NONE;

pub(crate) fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

pub(crate) fn event(text: &str) -> NewEvent {
    NewEvent::json(Kind::from_static("message"), text.to_owned()).unwrap()
}

pub(crate) fn open(dir: &TempDir) -> Jsonl {
    Jsonl::open(dir.path().join("store"), Options::default()).unwrap()
}

/// A store with one session that has `n` events, each a commit of its own.
pub(crate) fn with_events(n: u64) -> (TempDir, Jsonl, SessionRef) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let session = SessionRef::fresh(id("s"));
    block_on(store.create(&session)).unwrap();
    for i in 0..n {
        append(&store, &session, &[&format!("{{\"n\":{i}}}")]).unwrap();
    }
    (dir, store, session)
}

pub(crate) fn append(
    store: &Jsonl,
    session: &SessionRef,
    texts: &[&str],
) -> Result<std::ops::Range<SeqNum>> {
    let events = texts.iter().map(|text| event(text)).collect();
    block_on(store.append(session, events, NONE))
}

pub(crate) fn read_range(
    store: &Jsonl,
    session: &SessionRef,
    range: std::ops::Range<SeqNum>,
) -> Result<Vec<Event>> {
    let mut chunks = store.read(session, range);
    let mut all = Vec::new();
    while let Some(chunk) = block_on(chunks.next()) {
        all.extend(chunk?);
    }
    Ok(all)
}

/// All events, verified as the core does it.
pub(crate) fn read(store: &Jsonl, session: &SessionRef) -> Result<Vec<Event>> {
    let events = read_range(store, session, SeqNum::all())?;
    let mut head = Head::genesis(&session.id, session.incarnation);
    for event in &events {
        head.verify(&session.id, event)?;
    }
    Ok(events)
}

pub(crate) fn texts(events: &[Event]) -> Vec<String> {
    events.iter().map(|e| e.data.to_string()).collect()
}

pub(crate) fn tail(store: &Jsonl, session: &SessionRef) -> u64 {
    block_on(store.head(&session.id)).unwrap().1.tail.get()
}

pub(crate) fn request(owner: &str) -> LeaseRequest {
    LeaseRequest::new(Owner::new(owner).unwrap())
}

pub(crate) fn log_path(store: &Jsonl, folder: &str) -> PathBuf {
    store.path().join(folder).join("events.jsonl")
}

/// Every path below a folder with its content.
pub(crate) fn everything(dir: &std::path::Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut all = Vec::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(path) = todo.pop() {
        let meta = std::fs::symlink_metadata(&path).unwrap();
        if meta.is_dir() {
            let entries = std::fs::read_dir(&path).unwrap();
            todo.extend(entries.map(|e| e.unwrap().path()));
            all.push((path, None));
        } else {
            let content = std::fs::read(&path).unwrap_or_default();
            all.push((path, Some(content)));
        }
    }
    all.sort();
    all
}
