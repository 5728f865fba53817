//! A file's bytes after a power loss: each sector as it was at some moment since the last flush.
//!
//! The kernel keeps a file's pages in memory and writes them when it likes, each as it is at that
//! moment. So after a power loss each sector holds what it held behind some call, and the length
//! is what it was behind some call. A write within one sector is never mixed with that sector's
//! own past.

use std::ops::Range;
use std::sync::Arc;

use super::history::Call;
use crate::talk::Dice;

/// A sector is written whole or not at all.
const SECTOR: u64 = 512;

/// Which of the calls on a file, that no flush has made durable, are on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) enum Bytes {
    /// None.
    Lost,
    /// All.
    Kept,
    /// The lengths, and no byte: zeros behind the old end.
    Lengths,
    /// All but one, and what came later in the same sectors.
    Without(usize),
    /// One alone, and what came before it in the same sectors.
    Only(usize),
    /// Dice for each block of so many bytes.
    Random { seed: u64, block: u64 },
}

/// A call on a file that the flushes so far may not have made durable.
#[derive(Clone, Copy)]
pub(super) struct Pending<'a> {
    /// Its place among all calls.
    pub(super) at: usize,
    pub(super) call: &'a Call,
    /// Whether it is on the disk nevertheless: a failed flush left something before it open.
    pub(super) safe: bool,
    /// The file's length before it and after it.
    pub(super) lens: (u64, u64),
}

impl Pending<'_> {
    /// The bytes that it may have changed.
    fn range(&self) -> Range<u64> {
        match self.call {
            Call::Write { at, bytes, .. } => *at..at.saturating_add(bytes.len() as u64),
            Call::Zero { at, len, .. } => *at..at.saturating_add(*len),
            Call::Resize { len, .. } => *len..self.lens.0.max(*len),
            _ => 0..0,
        }
    }

    /// The bytes that it may have changed, as far as it matters: whole sectors.
    fn sectors(&self) -> Range<u64> {
        let Range { start, end } = self.range();
        start / SECTOR * SECTOR..end.div_ceil(SECTOR) * SECTOR
    }
}

/// How much of the pending calls on a file a choice keeps.
struct Reach<'a> {
    pending: &'a [Pending<'a>],
    chosen: Bytes,
    salt: u64,
    /// The file's length, and how many of the calls it is behind.
    len: u64,
    calls: usize,
}

impl<'a> Reach<'a> {
    fn new(pending: &'a [Pending<'a>], chosen: Bytes) -> Self {
        let seed = match chosen {
            Bytes::Random { seed, .. } => seed ^ pending.first().map_or(0, |p| p.at as u64),
            _ => 0,
        };
        let mut dice = Dice::new(seed);
        let mut reach = Self {
            pending,
            chosen,
            salt: dice.below(u64::MAX),
            len: 0,
            calls: 0,
        };
        (reach.calls, reach.len) = reach.length(&mut dice);
        reach
    }

    fn place(&self, call: usize) -> Option<usize> {
        self.pending.iter().position(|p| p.at == call)
    }

    fn len_behind(&self, n: usize) -> u64 {
        match n.checked_sub(1) {
            None => self.pending.first().map_or(0, |p| p.lens.0),
            Some(last) => self.pending.get(last).map_or(0, |p| p.lens.1),
        }
    }

    fn length(&self, dice: &mut Dice) -> (usize, u64) {
        let all = self.pending.len();
        let safe = self.pending.iter().rposition(|p| p.safe);
        let least = safe.map_or(0, |n| n + 1);
        let calls = match self.chosen {
            Bytes::Kept | Bytes::Lengths => all,
            Bytes::Lost => least,
            Bytes::Without(call) => match self.place(call) {
                Some(n) if n + 1 == all => n.max(least),
                _ => all,
            },
            Bytes::Only(call) => self.place(call).map_or(0, |n| n + 1).max(least),
            Bytes::Random { .. } => least + number(dice.below((all - least) as u64 + 1)),
        };
        let len = self.len_behind(calls);
        // What a write makes longer grows by whole blocks, as they reach the disk; any other change
        // of the length is done or not done.
        if let Bytes::Random { block, .. } = self.chosen
            && let Some(Call::Write { .. }) = self.pending.get(calls).map(|p| p.call)
        {
            let next = self.len_behind(calls + 1);
            let between = (next.saturating_sub(1) / block).saturating_sub(len / block);
            if between > 0 && dice.coin() {
                return (calls, (len / block + 1 + dice.below(between)) * block);
            }
        }
        (calls, len)
    }

    /// How many of the pending calls have reached a sector: all before that one, if they touch it.
    fn at(&self, sector: u64) -> usize {
        let all = self.pending.len();
        let touches = |p: &Pending<'_>| p.sectors().contains(&sector);
        let safe = self.pending.iter().rposition(|p| p.safe && touches(p));
        let here = |call: usize| {
            let n = self.place(call)?;
            self.pending.get(n).filter(|p| touches(p)).map(|_| n)
        };
        let wanted = match self.chosen {
            Bytes::Kept => all,
            Bytes::Lost | Bytes::Lengths => 0,
            Bytes::Without(call) => here(call).unwrap_or(all),
            Bytes::Only(call) => here(call).map_or(0, |n| n + 1),
            Bytes::Random { block, .. } => {
                let mut dice = Dice::new(self.salt ^ (sector / block.max(SECTOR)));
                match dice.below(3) {
                    0 => 0,
                    1 => all,
                    _ => number(dice.below(all as u64 + 1)),
                }
            }
        };
        let mut reached = wanted.max(safe.map_or(0, |n| n + 1));
        // What a shorter length cut off is gone with the length, and not before it: the blocks are
        // given back, and what is written there later gets others.
        for (n, cut) in self.pending.iter().enumerate() {
            if cut.lens.1 < cut.lens.0 && cut.lens.1 <= sector {
                reached = match n < self.calls {
                    true => reached.max(n + 1),
                    false => reached.min(n),
                };
            }
        }
        reached
    }
}

/// The bytes behind a choice, from those that are on the disk for sure.
pub(super) fn content(base: &Arc<Vec<u8>>, pending: &[Pending<'_>], chosen: Bytes) -> Arc<Vec<u8>> {
    if pending.is_empty() {
        return Arc::clone(base);
    }
    let reach = Reach::new(pending, chosen);
    let mut bytes = base.as_ref().clone();
    for (n, p) in pending.iter().enumerate() {
        let whole = chosen == Bytes::Kept;
        apply(&mut bytes, p, |sector| n < reach.at(sector), whole);
    }
    bytes.resize(number(reach.len), 0);
    Arc::new(bytes)
}

/// What became of each pending call that no flush made durable.
pub(super) fn fates(pending: &[Pending<'_>], chosen: Bytes) -> Vec<(usize, Fate)> {
    let reach = Reach::new(pending, chosen);
    let open = pending.iter().enumerate().filter(|(_, p)| !p.safe);
    let fate = |(n, p): (usize, &Pending<'_>)| {
        let Range { start, end } = p.sectors();
        let sectors: Vec<_> = (start / SECTOR..end / SECTOR).collect();
        let kept = sectors
            .iter()
            .filter(|s| n < reach.at(**s * SECTOR))
            .count();
        let fate = match (kept, sectors.len()) {
            (_, 0) => Fate::of(reach.len == p.lens.1),
            (kept, all) if kept == all && reach.len >= p.range().end.min(p.lens.1) => Fate::Kept,
            (0, _) => Fate::Lost,
            _ => Fate::Torn,
        };
        (p.at, fate)
    };
    open.map(fate).collect()
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Lost,
    Torn,
    Kept,
}

impl Fate {
    pub(super) fn of(kept: bool) -> Self {
        if kept { Self::Kept } else { Self::Lost }
    }
}

/// Carries a call out in the sectors that it reached.
fn apply(bytes: &mut Vec<u8>, pending: &Pending<'_>, reached: impl Fn(u64) -> bool, whole: bool) {
    let range = pending.range();
    if range.is_empty() {
        return;
    }
    let source: &[u8] = match pending.call {
        Call::Write { bytes, .. } => bytes,
        _ => &[],
    };
    let step = if whole { u64::MAX } else { SECTOR };
    let mut at = range.start;
    while at < range.end {
        let end = match step {
            SECTOR => (at / SECTOR + 1) * SECTOR,
            _ => u64::MAX,
        };
        let end = end.min(range.end);
        if whole || reached(at / SECTOR * SECTOR) {
            if source.is_empty() {
                let end = number(end).min(bytes.len());
                if let Some(part) = bytes.get_mut(number(at)..end) {
                    part.fill(0);
                }
            } else {
                bytes.resize(bytes.len().max(number(end)), 0);
                let from = source.get(number(at - range.start)..number(end - range.start));
                if let (Some(part), Some(from)) = (bytes.get_mut(number(at)..number(end)), from) {
                    part.copy_from_slice(from);
                }
            }
        }
        at = end;
    }
}

/// The length behind a call.
pub(super) fn len_after(len: u64, call: &Call) -> u64 {
    match call {
        Call::Write { at, bytes, .. } => len.max(at.saturating_add(bytes.len() as u64)),
        Call::Resize { len, .. } => *len,
        Call::Grow { len: least, .. } => len.max(*least),
        _ => len,
    }
}

fn number(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
