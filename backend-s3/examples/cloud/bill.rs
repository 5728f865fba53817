//! What requests cost.

use std::fmt;
use std::ops::AddAssign;
use std::str::FromStr;

use sessionlog_conformance::objects::Counts;

/// Requests by what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bill {
    /// Puts and pages of lists.
    pub(crate) writes: u64,
    pub(crate) reads: u64,
    /// Free of charge.
    pub(crate) deletes: u64,
    pub(crate) sent: u64,
}

/// Amazon S3 Standard in us-east-1, as published in September 2026, in dollars for a million.
const WRITES: f64 = 5.0;
const READS: f64 = 0.4;

impl Bill {
    pub(crate) fn of(counts: &Counts) -> Self {
        Self {
            writes: counts.puts + counts.list_pages,
            reads: counts.gets + counts.heads,
            deletes: counts.deletes + counts.bulk_deletes,
            sent: counts.bytes_sent,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a price is not exact")]
    fn dollars(&self) -> f64 {
        (self.writes as f64 * WRITES + self.reads as f64 * READS) / 1e6
    }
}

impl AddAssign for Bill {
    fn add_assign(&mut self, other: Self) {
        self.writes += other.writes;
        self.reads += other.reads;
        self.deletes += other.deletes;
        self.sent += other.sent;
    }
}

/// Four numbers with commas, as workers tell them.
impl fmt::Display for Bill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return write!(
                f,
                "{} puts and lists, {} gets, {} deletes, {} KiB sent: ${:.4} on S3 Standard \
                 (September 2026: ${WRITES} and ${READS} a million)",
                self.writes,
                self.reads,
                self.deletes,
                self.sent >> 10,
                self.dollars(),
            );
        }
        write!(
            f,
            "{},{},{},{}",
            self.writes, self.reads, self.deletes, self.sent
        )
    }
}

impl FromStr for Bill {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut numbers = text.split(',').map(|n| n.parse().map_err(drop));
        let mut next = || numbers.next().unwrap_or(Err(()));
        Ok(Self {
            writes: next()?,
            reads: next()?,
            deletes: next()?,
            sent: next()?,
        })
    }
}
