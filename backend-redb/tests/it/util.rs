//! What the tests have in common.

use futures_util::StreamExt;
pub(crate) use pollster::block_on;
use sessionlog_backend_redb::{Options, Redb};
pub(crate) use sessionlog_core::*;
pub(crate) use tempfile::TempDir;

pub(crate) const NONE: AppendCondition = AppendCondition::NONE;

pub(crate) fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

pub(crate) fn event(text: &str) -> NewEvent {
    NewEvent::json(Kind::from_static("message"), text.to_owned()).unwrap()
}

pub(crate) fn open(dir: &TempDir) -> Redb {
    Redb::open(dir.path().join("store.redb"), Options::default()).unwrap()
}

/// A store with one session that has `n` events, each a commit of its own.
pub(crate) fn with_events(n: u64) -> (TempDir, Redb, SessionRef) {
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
    store: &Redb,
    session: &SessionRef,
    texts: &[&str],
) -> Result<std::ops::Range<SeqNum>> {
    let events = texts.iter().map(|text| event(text)).collect();
    block_on(store.append(session, events, NONE))
}

/// All events, verified as the core does it.
pub(crate) fn read(store: &Redb, session: &SessionRef) -> Result<Vec<Event>> {
    let mut chunks = store.read(session, SeqNum::all());
    let mut head = Head::genesis(&session.id, session.incarnation);
    let mut all = Vec::new();
    while let Some(chunk) = block_on(chunks.next()) {
        for event in chunk? {
            head.verify(&session.id, &event)?;
            all.push(event);
        }
    }
    Ok(all)
}

pub(crate) fn texts(events: &[Event]) -> Vec<String> {
    events.iter().map(|e| e.data.to_string()).collect()
}

pub(crate) fn tail(store: &Redb, session: &SessionRef) -> u64 {
    block_on(store.head(&session.id)).unwrap().1.tail.get()
}
