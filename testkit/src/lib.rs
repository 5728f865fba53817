//! What the tests and benchmarks of the backends share.
//!
//! A helper that fails ends its test: nothing here gives an error that a test would only unwrap.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "only tests and benchmarks use it: what is unexpected is to end them"
)]

pub mod bench;
pub mod child;
pub mod golden;

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use futures_util::TryStreamExt;
pub use pollster::block_on;
use sessionlog_core::{
    AppendCondition, Event, EventLog, Head, Kind, LeaseRequest, NewEvent, Owner, Result, SeqNum,
    SessionId, SessionRef,
};

/// An append that depends on nothing.
pub const NONE: AppendCondition = AppendCondition::NONE;

/// The id of that name.
pub fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

/// An event with that JSON text.
pub fn event(text: &str) -> NewEvent {
    NewEvent::json(Kind::from_static("message"), text.to_owned()).unwrap()
}

/// Asks for the lease, in the name of `owner`.
pub fn request(owner: &str) -> LeaseRequest {
    LeaseRequest::new(Owner::new(owner).unwrap())
}

/// A new session.
pub fn create(log: &impl EventLog, name: &str) -> SessionRef {
    let session = SessionRef::fresh(id(name));
    block_on(log.create(&session)).unwrap();
    session
}

/// A new session with `n` events, each a commit of its own: `{"n":0}`, `{"n":1}` and so on.
pub fn filled(log: &impl EventLog, name: &str, n: u64) -> SessionRef {
    let session = create(log, name);
    for i in 0..n {
        append(log, &session, &[&format!("{{\"n\":{i}}}")]).unwrap();
    }
    session
}

/// Appends one batch of JSON texts.
///
/// # Errors
/// Those of the append.
pub fn append(log: &impl EventLog, session: &SessionRef, texts: &[&str]) -> Result<Range<SeqNum>> {
    let events = texts.iter().map(|text| event(text)).collect();
    block_on(log.append(session, events, NONE))
}

/// The events of a range, as the backend gives them.
///
/// # Errors
/// Those of the read.
pub fn read_range(
    log: &impl EventLog,
    session: &SessionRef,
    range: Range<SeqNum>,
) -> Result<Vec<Event>> {
    block_on(log.read(session, range).try_concat())
}

/// All events, verified as the core does it.
///
/// # Errors
/// Those of the read; `Corrupt` for what does not match its checksum.
pub fn read(log: &impl EventLog, session: &SessionRef) -> Result<Vec<Event>> {
    let events = read_range(log, session, SeqNum::all())?;
    let mut head = Head::genesis(&session.id, session.incarnation);
    for event in &events {
        head.verify(&session.id, event)?;
    }
    Ok(events)
}

/// The payloads as text.
pub fn texts(events: &[Event]) -> Vec<String> {
    events.iter().map(|e| e.data.to_string()).collect()
}

/// How many events the log has.
pub fn tail(log: &impl EventLog, session: &SessionRef) -> u64 {
    block_on(log.head(&session.id)).unwrap().1.tail.get()
}

/// A folder, first of all, and every path below it; files with their content. Links are not followed.
pub fn everything(folder: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut all = Vec::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(path) = todo.pop() {
        let meta = fs::symlink_metadata(&path).unwrap();
        if meta.is_dir() {
            let entries = fs::read_dir(&path).unwrap();
            todo.extend(entries.map(|e| e.unwrap().path()));
            all.push((path, None));
        } else {
            let content = fs::read(&path).unwrap_or_default();
            all.push((path, Some(content)));
        }
    }
    all.sort();
    all
}
