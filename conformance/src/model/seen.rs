//! What commands show.

use sessionlog_core::{BlobId, BlobInfo, Event, Head, SessionId, SessionRef, Snapshot};

/// What a command showed. Tokens are told by their rank among the grants of their life, because
/// nothing but their growth is promised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Done,
    Nothing,
    Positions(u64, u64),
    Head(SessionRef, Head),
    Events(Vec<Event>),
    Ids(Vec<SessionId>),
    Granted(usize),
    Live(String, usize),
    Idle,
    Snapshot(Option<Snapshot>),
    Blob(BlobInfo),
    Bytes(Vec<u8>),
    Blobs(Vec<(BlobId, u64)>),
    Refused(String),
}
