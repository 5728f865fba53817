//! When a snapshot is worth its bytes.

/// Takes a snapshot when the log behind the last one has outgrown it.
///
/// So the bytes written for snapshots stay below those of the log, and a resume reads at most about
/// twice the live state. Stores keep the last two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotPolicy {
    least: u64,
    size: u64,
}

impl Default for SnapshotPolicy {
    fn default() -> Self {
        Self::new(64 << 10)
    }
}

impl SnapshotPolicy {
    /// A policy that takes none before the log has grown by `least` bytes. 64 KiB by default: that
    /// much is replayed in a fraction of a millisecond.
    pub const fn new(least: u64) -> Self {
        Self { least, size: 0 }
    }

    /// Whether it is time to see how large a snapshot would be, the log having grown by `behind`
    /// bytes of payload since the last one.
    pub const fn due(&self, behind: u64) -> bool {
        behind >= self.least && behind >= self.size
    }

    /// Whether a snapshot of `size` bytes is taken. It remembers the size, so that a state that is
    /// larger than the log behind it is not encoded at each append.
    pub const fn accepts(&mut self, size: u64, behind: u64) -> bool {
        self.size = size;
        behind >= self.least && size <= behind
    }
}
