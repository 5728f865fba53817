//! Events: what is appended, and what is read.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Data, Error, Kind, Result, SeqNum, Sum, Timestamp};

/// The idempotency key of an event: a UUID made by the writer, version 7 unless given (G18).
///
/// Appending a batch a second time, with the same ids and the same content, is the same append.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventId(Uuid);

impl EventId {
    /// The length of the text form.
    pub const TEXT_LEN: usize = 36;
    /// The smallest id.
    pub const MIN: Self = Self(Uuid::nil());

    /// A fresh id: a version 7 UUID, ascending within a process.
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }

    /// An id from its 16 bytes, in network order.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// The 16 bytes, in network order.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The text form, lower case with dashes, without an allocation.
    pub fn to_text(self) -> [u8; Self::TEXT_LEN] {
        let mut out = [0; Self::TEXT_LEN];
        self.0.hyphenated().encode_lower(&mut out);
        out
    }

    /// Reads the text form and nothing else: each id has exactly one. `None` for any other text.
    pub fn from_text(text: &[u8]) -> Option<Self> {
        crate::hex::uuid(text.try_into().ok()?).map(Self::from_bytes)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventId({})", self.0)
    }
}

impl FromStr for EventId {
    type Err = Error;

    /// Any form of a UUID.
    fn from_str(text: &str) -> Result<Self> {
        Uuid::from_str(text)
            .map(Self)
            .map_err(|e| Error::invalid(format!("not a UUID: {text:?}")).with_source(e))
    }
}

impl From<Uuid> for EventId {
    fn from(id: Uuid) -> Self {
        Self(id)
    }
}

impl From<EventId> for Uuid {
    fn from(id: EventId) -> Self {
        id.0
    }
}

/// An event that is to be appended.
///
/// ```
/// use sessionlog_core::{Kind, NewEvent};
///
/// let event = NewEvent::json(Kind::from_static("message"), r#"{"role":"user","text":"hi"}"#)?;
/// assert_eq!(event.kind, "message");
/// # Ok::<(), sessionlog_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// The idempotency key.
    pub id: EventId,
    /// When it happened, by the writer's clock.
    pub at: Timestamp,
    /// What sort of event it is.
    pub kind: Kind,
    /// The payload.
    pub data: Data,
}

impl NewEvent {
    /// An event that happens now, with a fresh id.
    pub fn new(kind: Kind, data: Data) -> Self {
        Self {
            id: EventId::generate(),
            at: Timestamp::now(),
            kind,
            data,
        }
    }

    /// An event that happens now, with JSON text as its payload.
    ///
    /// # Errors
    /// `InvalidInput` with line and column if the text is not JSON.
    pub fn json(kind: Kind, text: impl Into<bytes::Bytes>) -> Result<Self> {
        Ok(Self::new(kind, Data::from_json(text)?))
    }

    /// An event that happens now, with a value written as JSON.
    ///
    /// # Errors
    /// `InvalidInput` if the value can't be written as JSON.
    pub fn value<T: Serialize + ?Sized>(kind: Kind, value: &T) -> Result<Self> {
        Ok(Self::new(kind, Data::from_value(value)?))
    }

    /// The same event with an id of the caller's choice, for appends that may be repeated later.
    #[must_use]
    pub fn with_id(mut self, id: EventId) -> Self {
        self.id = id;
        self
    }

    /// The same event with another time.
    #[must_use]
    pub fn with_time(mut self, at: Timestamp) -> Self {
        self.at = at;
        self
    }
}

/// An event as it is stored and read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The position.
    pub seq: SeqNum,
    /// The idempotency key.
    pub id: EventId,
    /// When it happened, by the writer's clock.
    pub at: Timestamp,
    /// What sort of event it is.
    pub kind: Kind,
    /// The payload, byte for byte as it was appended.
    pub data: Data,
    /// The largest id of this event and all before it, where that is not this event's own:
    /// `None` in a log whose ids ascend. It proves new ids new without an index of all of them.
    pub top: Option<EventId>,
    /// The checksum of this event, chained to the event before (G15).
    pub sum: Sum,
}

impl Event {
    /// An event as a backend finds it in its storage: every field as it was written. Whether it is
    /// the event that was written, the core checks on each read.
    pub fn stored(seq: SeqNum, event: NewEvent, top: Option<EventId>, sum: Sum) -> Self {
        let NewEvent { id, at, kind, data } = event;
        Self {
            seq,
            id,
            at,
            kind,
            data,
            top,
            sum,
        }
    }

    /// The largest id up to this event.
    pub fn top(&self) -> EventId {
        self.top.unwrap_or(self.id)
    }

    /// Whether this stored event is what `new` would have become.
    pub fn holds(&self, new: &NewEvent) -> bool {
        self.id == new.id && self.at == new.at && self.kind == new.kind && self.data == new.data
    }

    /// The event without its place in the log: for a copy into another session.
    pub fn into_new(self) -> NewEvent {
        NewEvent {
            id: self.id,
            at: self.at,
            kind: self.kind,
            data: self.data,
        }
    }
}
