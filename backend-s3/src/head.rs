//! Heads: the whole state of a session's log, as one object.

use std::sync::Arc;

use bytes::Bytes;
use sessionlog_core::{
    Error, Event, FencingToken, Head as LogEnd, Holder, Incarnation, Kinds, Owner, Place, Result,
    SessionRef, Timestamp,
};

use crate::chunk::ChunkRef;
use crate::codec::{self, Fields, checksum, narrow, put_bytes, put_log, wide};
use crate::moment::time;

/// Who wrote a head: a handle's number, and one of the write itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) writer: [u8; 16],
    pub(crate) commit: [u8; 16],
}

/// Why a head was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// A life begins: holds no events, and is kept as a fence.
    Create,
    /// Events.
    Append,
    /// Another handle writes from here on: holds no events, and is kept.
    Fence,
    /// A lease was granted, renewed or given back, or chunks were merged.
    Turn,
    /// The life has ended: holds no events, and is kept.
    Deleted,
    /// The life ended long ago, and what is before this is collected but for the first head.
    Closed,
}

/// Who drives the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) holder: Holder,
    /// The time to live, in milliseconds.
    pub(crate) ttl: u64,
    /// When the holder last wrote, by its clock.
    pub(crate) renewed: Timestamp,
}

/// Where the events are that are in no chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tail {
    /// The end of the log before them.
    pub(crate) base: LogEnd,
    /// The slot of the head that holds them.
    pub(crate) slot: u64,
    /// Their frames, in bytes.
    pub(crate) len: u64,
    /// The checksum of their frames.
    pub(crate) sum: u64,
}

/// What a head says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) slot: u64,
    /// Grows with each handle that takes over the writing.
    pub(crate) epoch: u64,
    pub(crate) stamp: Stamp,
    pub(crate) sort: Sort,
    /// Whether the session's marker is known to be in the index.
    pub(crate) marked: bool,
    pub(crate) incarnation: Incarnation,
    pub(crate) created: Timestamp,
    /// The end of the log.
    pub(crate) end: LogEnd,
    /// The token of the newest grant.
    pub(crate) token: FencingToken,
    pub(crate) grant: Option<Grant>,
    pub(crate) tail: Tail,
    pub(crate) chunks: Vec<ChunkRef>,
    /// The slots of heads that must not be deleted, ascending.
    pub(crate) fences: Vec<u64>,
}

/// Events that are in no chunk, and their frames.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    pub(crate) frames: Bytes,
    pub(crate) events: Arc<Vec<Event>>,
}

/// A head as it was read.
#[derive(Clone, Debug)]
pub(crate) struct Decoded {
    pub(crate) state: State,
    /// The tail's events, unless another head holds them.
    pub(crate) held: Option<Held>,
}

const MAGIC: &[u8; 16] = b"sessionlog head\n";
/// The version that is written, and the newest that is read.
pub(crate) const VERSION: u32 = 1;
const MARKED: u8 = 1;

impl State {
    /// The head of a life that begins in a slot.
    pub(crate) fn begin(session: &SessionRef, slot: u64, stamp: Stamp) -> Self {
        let end = LogEnd::genesis(&session.id, session.incarnation);
        Self {
            slot,
            epoch: 1,
            stamp,
            sort: Sort::Create,
            marked: false,
            incarnation: session.incarnation,
            created: time(),
            end,
            token: FencingToken::NONE,
            grant: None,
            tail: Tail::empty(end, slot),
            chunks: Vec::new(),
            fences: vec![slot],
        }
    }

    /// Whether the session lives.
    pub(crate) fn lives(&self) -> bool {
        !matches!(self.sort, Sort::Deleted | Sort::Closed)
    }

    /// Whether this is the head of a creation that is not finished, given which lives of the
    /// session are in the index.
    pub(crate) fn is_unfinished(&self, listed: impl FnOnce(Incarnation) -> bool) -> bool {
        self.sort == Sort::Create && !self.marked && !listed(self.incarnation)
    }

    /// Whether this head must be kept.
    pub(crate) fn is_kept(&self) -> bool {
        !matches!(self.sort, Sort::Append | Sort::Turn)
    }

    /// The head as an object. `frames` are those of the tail's events, if it is to hold them.
    pub(crate) fn encode(&self, dir: &str, frames: &[u8]) -> Bytes {
        let state = self.fields();
        let mut out = Vec::with_capacity(32 + state.len() + frames.len());
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        put_bytes(&mut out, &state);
        out.extend_from_slice(&checksum(dir, &state).to_le_bytes());
        out.extend_from_slice(frames);
        out.into()
    }

    fn fields(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256 + self.chunks.len() * ChunkRef::LEN);
        out.extend_from_slice(&self.slot.to_le_bytes());
        out.extend_from_slice(&self.epoch.to_le_bytes());
        out.extend_from_slice(&self.stamp.writer);
        out.extend_from_slice(&self.stamp.commit);
        out.push(self.sort.code());
        out.push(if self.marked { MARKED } else { 0 });
        out.extend_from_slice(self.incarnation.as_bytes());
        out.extend_from_slice(&self.created.as_micros().to_le_bytes());
        put_log(&mut out, &self.end);
        out.extend_from_slice(&self.token.get().to_le_bytes());
        put_bytes(
            &mut out,
            &self.grant.as_ref().map(Grant::fields).unwrap_or_default(),
        );
        put_log(&mut out, &self.tail.base);
        for field in [self.tail.slot, self.tail.len, self.tail.sum] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(&wide(self.chunks.len()).to_le_bytes());
        self.chunks.iter().for_each(|chunk| chunk.put(&mut out));
        out.extend_from_slice(&wide(self.fences.len()).to_le_bytes());
        for slot in &self.fences {
            out.extend_from_slice(&slot.to_le_bytes());
        }
        out
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let f = &mut fields;
        let state = Self {
            slot: f.u64()?,
            epoch: f.u64()?,
            stamp: Stamp {
                writer: f.array()?,
                commit: f.array()?,
            },
            sort: Sort::of(f.u8()?)?,
            marked: f.u8()? & MARKED != 0,
            incarnation: f.incarnation()?,
            created: f.time()?,
            end: f.log()?,
            token: FencingToken::new(f.u64()?),
            grant: match f.bytes()? {
                [] => None,
                grant => Some(Grant::read(grant)?),
            },
            tail: Tail {
                base: f.log()?,
                slot: f.u64()?,
                len: f.u64()?,
                sum: f.u64()?,
            },
            chunks: f.list(ChunkRef::LEN, ChunkRef::read)?,
            fences: f.list(8, Fields::u64)?,
        };
        fields.0.is_empty().then_some(state)
    }
}

impl<'a> Fields<'a> {
    fn list<T>(&mut self, len: usize, read: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let n = narrow(self.u64()?);
        // A length that is nonsense must not cost memory.
        (n <= self.0.len() / len).then(|| (0..n).map(|_| read(self)).collect())?
    }
}

impl Tail {
    /// No events, behind `base`.
    pub(crate) fn empty(base: LogEnd, slot: u64) -> Self {
        Self {
            base,
            slot,
            len: 0,
            sum: checksum("", &[]),
        }
    }

    /// Events in a slot.
    pub(crate) fn of(base: LogEnd, slot: u64, frames: &[u8]) -> Self {
        Self {
            base,
            slot,
            len: wide(frames.len()),
            sum: checksum("", frames),
        }
    }

    /// Whether these are its frames.
    pub(crate) fn is_of(&self, frames: &[u8]) -> bool {
        wide(frames.len()) == self.len && checksum("", frames) == self.sum
    }

    /// The events that some frames hold, if they are the ones.
    fn held(&self, frames: Bytes, end: LogEnd) -> Option<Held> {
        let events = self
            .is_of(&frames)
            .then(|| codec::events(&frames, self.base.tail, &mut Kinds::default()))
            .flatten()?;
        let reaches = self.base.tail.plus(wide(events.len())) == end.tail;
        reaches.then(|| Held {
            frames,
            events: Arc::new(events),
        })
    }
}

impl Sort {
    const fn code(self) -> u8 {
        match self {
            Self::Create => 1,
            Self::Append => 2,
            Self::Fence => 3,
            Self::Turn => 4,
            Self::Deleted => 5,
            Self::Closed => 6,
        }
    }

    fn of(code: u8) -> Option<Self> {
        const ALL: [Sort; 6] = [
            Sort::Create,
            Sort::Append,
            Sort::Fence,
            Sort::Turn,
            Sort::Deleted,
            Sort::Closed,
        ];
        ALL.into_iter().find(|sort| sort.code() == code)
    }
}

impl Grant {
    fn fields(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&self.holder.token.get().to_le_bytes());
        out.extend_from_slice(&self.holder.since.as_micros().to_le_bytes());
        out.extend_from_slice(&self.ttl.to_le_bytes());
        out.extend_from_slice(&self.renewed.as_micros().to_le_bytes());
        out.extend_from_slice(self.holder.owner.as_str().as_bytes());
        out
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut f = Fields(bytes);
        let (token, since) = (FencingToken::new(f.u64()?), f.time()?);
        let (ttl, renewed) = (f.u64()?, f.time()?);
        let owner = Owner::new(std::str::from_utf8(f.0).ok()?).ok()?;
        Some(Self {
            holder: Holder::new(owner, token, since),
            ttl,
            renewed,
        })
    }
}

/// Reads a head. `key` is its name relative to the store, `dir` the session's folder.
///
/// # Errors
/// `Unsupported` for a head of a newer version, `Corrupt` for anything else that is no head of this
/// slot of this session.
pub(crate) fn decode(bytes: &Bytes, key: &str, dir: &str, slot: u64) -> Result<Decoded> {
    let (state, frames) = open(bytes, key, dir, slot)?;
    let own = state.tail.slot == slot;
    let held = own.then(|| state.tail.held(frames, state.end)).map(|held| {
        held.ok_or_else(|| {
            let place = Place::file(key).with_seq(state.tail.base.tail);
            Error::corrupt(place, "events in the head are damaged")
        })
    });
    let held = held.transpose()?;
    Ok(Decoded { state, held })
}

/// Reads what a head says, and leaves its frames as they are.
///
/// # Errors
/// As [`decode`].
pub(crate) fn open(bytes: &Bytes, key: &str, dir: &str, slot: u64) -> Result<(State, Bytes)> {
    let damaged = || Error::corrupt(Place::file(key), "the head is damaged");
    let mut fields = Fields(bytes);
    let magic = fields.array::<16>().ok_or_else(damaged)?;
    if magic != *MAGIC {
        return Err(damaged());
    }
    let version = fields.u32().ok_or_else(damaged)?;
    if version > VERSION {
        return Err(Error::unsupported(format!(
            "the session was written in format {version}, this version reads {VERSION}: use a newer \
             one for {key}"
        )));
    }
    let state = fields.bytes().ok_or_else(damaged)?;
    let sum = fields.u64().ok_or_else(damaged)?;
    if checksum(dir, state) != sum {
        return Err(damaged());
    }
    let frames = bytes.slice(bytes.len() - fields.0.len()..);
    let state = State::read(state).ok_or_else(damaged)?;
    let own = state.tail.slot == slot;
    if state.slot != slot || (!own && !frames.is_empty()) {
        return Err(damaged());
    }
    Ok((state, frames))
}

#[cfg(test)]
mod tests;
