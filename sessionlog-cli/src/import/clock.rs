//! Times and ids of imported events.

use sessionlog::{EventId, Timestamp};
use twox_hash::XxHash3_64;

/// Gives each event its time, and an id that grows along the log.
///
/// The time is that of the record, or of the one before. The import's own clock has no part in it,
/// so that the same file gives the same events wherever it is imported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    last: Timestamp,
    /// The latest time so far in milliseconds: ids begin with it, and clocks step back.
    top: u64,
}

/// Times outside these years are mistakes: 2000-01-01 and 2100-01-01.
const SANE: std::ops::Range<i64> = 946_684_800_000_000..4_102_444_800_000_000;

impl Clock {
    /// A clock for records in front of the first that has a time.
    pub(crate) fn new(first: Timestamp) -> Self {
        Self {
            last: first,
            top: millis(first),
        }
    }

    /// The time of the next event.
    pub(crate) fn next(&mut self, own: Option<Timestamp>) -> Timestamp {
        if let Some(own) = own.filter(is_sane) {
            self.last = own;
            self.top = self.top.max(millis(own));
        }
        self.last
    }

    /// The id of the event at a position: a version 8 UUID of the latest time so far (48 bits), the
    /// position (32 bits) and a hash of the content (42 bits).
    pub(crate) fn id(&self, position: u64, content: &[u8]) -> EventId {
        let position = u128::from(position & 0xffff_ffff);
        let hash = u128::from(XxHash3_64::oneshot(content) >> 22);
        let version = 8_u128 << 76;
        let variant = 2_u128 << 62;
        let id = (u128::from(self.top & 0xffff_ffff_ffff) << 80)
            | version
            | ((position >> 20) << 64)
            | variant
            | ((position & 0xf_ffff) << 42)
            | hash;
        EventId::from_bytes(id.to_be_bytes())
    }
}

/// Whether a time is one that a session can have.
pub(crate) fn is_sane(at: &Timestamp) -> bool {
    SANE.contains(&at.as_micros())
}

fn millis(at: Timestamp) -> u64 {
    u64::try_from(at.as_millis()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_grow_though_clocks_step_back() {
        let at = |text: &str| Some(text.parse().unwrap());
        let mut clock = Clock::new(Timestamp::EPOCH);
        let mut ids = Vec::new();
        for (position, time) in [
            None,
            at("2026-05-04T08:00:00Z"),
            at("2026-05-04T07:50:00Z"),
            None,
            at("9999-01-01T00:00:00Z"),
            at("2026-05-04T08:00:00.001Z"),
        ]
        .into_iter()
        .enumerate()
        {
            clock.next(time);
            ids.push(clock.id(position as u64 * 700_000, b"x"));
        }
        assert_eq!(clock.next(None).to_string(), "2026-05-04T08:00:00.001000Z");
        assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
        let text = ids[1].to_string();
        assert_eq!(&text[14..15], "8", "the version");
        assert!("89ab".contains(&text[19..20]), "the variant: {text}");
    }
}
