//! Chunks: sealed events, compressed in blocks that can be read alone.

use std::ops::Range;

use bytes::Bytes;
use sessionlog_core::{Event, EventId, Kinds, SeqNum, Sum};

use crate::codec::{self, Fields, checksum, frame_len, narrow, put_event, wide};

/// Bytes of frames in a block, unless a single event has more.
const BLOCK: usize = 256 << 10;
/// Bits in the filter for each id.
const BITS: usize = 10;
/// Bits that an id sets.
const PROBES: u64 = 7;
/// The level of compression: beyond it zstd costs more time than it saves bytes.
const LEVEL: i32 = 3;

const MAGIC: &[u8; 16] = b"sessionlog chnk\n";
const VERSION: u32 = 1;
/// Bytes of the front before filter and blocks.
const FIXED: usize = 16 + 4 + 8 + 4 + 4 + 4;
/// Bytes of a block's row.
const ROW: usize = 8 + 4 + 4 + 8;

/// What a head says of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkRef {
    pub(crate) first: SeqNum,
    pub(crate) count: u64,
    /// The second half of its name.
    pub(crate) name: u64,
    /// The length of the object.
    pub(crate) len: u64,
    /// The length of the front: filter and table.
    pub(crate) front: u64,
    /// The length of the frames before they were compressed.
    pub(crate) raw: u64,
    /// The checksum of the front, which holds those of the blocks.
    pub(crate) sum: u64,
    /// The smallest id in it.
    pub(crate) least: EventId,
    /// The largest id in it.
    pub(crate) most: EventId,
}

impl ChunkRef {
    pub(crate) const LEN: usize = 7 * 8 + 2 * 16;

    /// The positions that it holds.
    pub(crate) fn range(&self) -> Range<SeqNum> {
        self.first..self.first.plus(self.count)
    }

    /// Whether some of these ids may be in it.
    pub(crate) fn may_hold(&self, mut ids: impl Iterator<Item = EventId>) -> bool {
        ids.any(|id| self.least <= id && id <= self.most)
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let numbers = [
            self.first.get(),
            self.count,
            self.name,
            self.len,
            self.front,
            self.raw,
            self.sum,
        ];
        numbers
            .iter()
            .for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
        out.extend_from_slice(self.least.as_bytes());
        out.extend_from_slice(self.most.as_bytes());
    }

    pub(crate) fn read(f: &mut Fields<'_>) -> Option<Self> {
        Some(Self {
            first: SeqNum::new(f.u64()?),
            count: f.u64()?,
            name: f.u64()?,
            len: f.u64()?,
            front: f.u64()?,
            raw: f.u64()?,
            sum: f.u64()?,
            least: EventId::from_bytes(f.array()?),
            most: EventId::from_bytes(f.array()?),
        })
    }
}

/// A block of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) first: SeqNum,
    /// Where it lies in the object.
    pub(crate) at: Range<u64>,
    raw: usize,
    sum: u64,
}

/// The front of a chunk.
#[derive(Clone, Debug)]
pub(crate) struct Front {
    pub(crate) blocks: Vec<Block>,
    filter: Bytes,
}

impl Front {
    /// Reads a front, if it is the one of this chunk.
    pub(crate) fn read(bytes: &Bytes, of: &ChunkRef) -> Option<Self> {
        let front = bytes.get(..narrow(of.front))?;
        let mut f = Fields(front);
        let whole = checksum("", front) == of.sum && f.array()? == *MAGIC && f.u32()? == VERSION;
        if !whole || f.u64()? != of.first.get() {
            return None;
        }
        let (filter, blocks) = (f.u32()?, f.u32()?);
        f.take(4)?;
        let filter = f.take(usize::try_from(filter).ok()?)?;
        let filter = bytes.slice_ref(filter);
        let mut start = of.front;
        let mut rows = Vec::new();
        for _ in 0..blocks {
            let (first, len, raw, sum) = (f.u64()?, f.u32()?, f.u32()?, f.u64()?);
            let end = start.checked_add(u64::from(len))?;
            rows.push(Block {
                first: SeqNum::new(first),
                at: start..end,
                raw: usize::try_from(raw).ok()?,
                sum,
            });
            start = end;
        }
        (start == of.len).then_some(Self {
            blocks: rows,
            filter,
        })
    }

    /// Whether some of these ids may be in the chunk: one in a hundred is not, all the same.
    pub(crate) fn may_hold(&self, mut ids: impl Iterator<Item = EventId>) -> bool {
        ids.any(|id| {
            bits(id, self.filter.len() * 8).all(|bit| {
                self.filter
                    .get(bit / 8)
                    .is_some_and(|b| b >> (bit % 8) & 1 == 1)
            })
        })
    }
}

impl Block {
    /// The events of a block, from its bytes. `None` if these are others than were written.
    pub(crate) fn events(&self, bytes: &[u8], kinds: &mut Kinds) -> Option<Vec<Event>> {
        if checksum("", bytes) != self.sum {
            return None;
        }
        let raw = zstd::bulk::decompress(bytes, self.raw).ok()?;
        let raw = Bytes::from(raw);
        codec::events(&raw, self.first, kinds)
    }
}

fn bits(id: EventId, of: usize) -> impl Iterator<Item = usize> {
    let one = Sum::from_u64(0).then(id.as_bytes()).as_u64();
    let step = one.rotate_left(32) | 1;
    let of = wide(of.max(1));
    (0..PROBES).map(move |n| narrow(one.wrapping_add(step.wrapping_mul(n)) % of))
}

/// Writes a chunk: the object, and what the head says of it. `None` for no events, or if they can't
/// be compressed.
pub(crate) fn encode(events: &[Event]) -> Option<(ChunkRef, Bytes)> {
    let first = events.first()?.seq;
    let mut filter = vec![0_u8; (events.len() * BITS).div_ceil(8)];
    let of = filter.len() * 8;
    for event in events {
        for bit in bits(event.id, of) {
            if let Some(byte) = filter.get_mut(bit / 8) {
                *byte |= 1 << (bit % 8);
            }
        }
    }
    let (mut rows, mut body, mut raw) = (Vec::new(), Vec::new(), 0);
    let mut n = 0_u32;
    for block in blocks(events) {
        let mut frames = Vec::new();
        block.iter().for_each(|event| put_event(&mut frames, event));
        let packed = zstd::bulk::compress(&frames, LEVEL).ok()?;
        rows.extend_from_slice(&block.first()?.seq.get().to_le_bytes());
        rows.extend_from_slice(&u32::try_from(packed.len()).ok()?.to_le_bytes());
        rows.extend_from_slice(&u32::try_from(frames.len()).ok()?.to_le_bytes());
        rows.extend_from_slice(&checksum("", &packed).to_le_bytes());
        body.extend_from_slice(&packed);
        raw += wide(frames.len());
        n += 1;
    }
    let mut out = Vec::with_capacity(FIXED + filter.len() + rows.len() + body.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&first.get().to_le_bytes());
    out.extend_from_slice(&u32::try_from(filter.len()).ok()?.to_le_bytes());
    out.extend_from_slice(&n.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&filter);
    out.extend_from_slice(&rows);
    debug_assert_eq!(rows.len() % ROW, 0);
    let front = out.len();
    let sum = checksum("", &out);
    out.extend_from_slice(&body);
    let ids = || events.iter().map(|event| event.id);
    let chunk = ChunkRef {
        first,
        count: wide(events.len()),
        name: codec::random(),
        len: wide(out.len()),
        front: wide(front),
        raw,
        sum,
        least: ids().min()?,
        most: ids().max()?,
    };
    Some((chunk, out.into()))
}

fn blocks(events: &[Event]) -> impl Iterator<Item = &[Event]> {
    let mut rest = events;
    std::iter::from_fn(move || {
        let mut len = 0;
        let whole = rest.iter().take_while(|event| {
            len += frame_len(event);
            len <= BLOCK
        });
        let n = whole.count().max(1).min(rest.len());
        let (block, behind) = rest.split_at_checked(n).filter(|(b, _)| !b.is_empty())?;
        rest = behind;
        Some(block)
    })
}
