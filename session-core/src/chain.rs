//! The checksum of an event, chained to the event before.

use std::fmt;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use crate::{Error, Event, EventId, Incarnation, NewEvent, Place, Result, SeqNum, SessionId};

/// A checksum of 64 bits: XXH3 with the checksum of the event before as its seed.
///
/// ```text
/// genesis = xxh3_64(session id, 0x00, incarnation)
/// sum(n)  = xxh3_64(data(n), seed = xxh3_64(envelope(n), seed = sum(n-1)))
/// envelope = seq u64 LE, id 16 bytes, at i64 LE, top 16 bytes (or 16 zero bytes), kind
/// ```
///
/// So one number vouches for an event, its place, and everything before it; a log copied to
/// another storage keeps its checksums. XXH3 finds damage, not malice: whoever can write the log
/// can also write its checksums. <https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sum(u64);

impl Sum {
    /// The length of the text form: 16 hexadecimal digits, lower case.
    pub const TEXT_LEN: usize = 16;

    /// The checksum before the first event of a session's life.
    pub fn genesis(session: &SessionId, incarnation: Incarnation) -> Self {
        let mut bytes = Vec::with_capacity(session.as_str().len() + 17);
        bytes.extend_from_slice(session.as_str().as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(incarnation.as_bytes());
        Self(XxHash3_64::oneshot(&bytes))
    }

    /// The checksum of some bytes that belong behind this one.
    #[must_use]
    pub fn then(self, bytes: &[u8]) -> Self {
        Self(XxHash3_64::oneshot_with_seed(self.0, bytes))
    }

    /// A checksum from storage.
    pub const fn from_u64(n: u64) -> Self {
        Self(n)
    }

    /// The number.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// The text form, without an allocation.
    pub fn to_text(self) -> [u8; Self::TEXT_LEN] {
        let mut out = [0; Self::TEXT_LEN];
        for (slot, shift) in out.iter_mut().zip((0..16).rev()) {
            let digit = u8::try_from(self.0 >> (shift * 4) & 0xf).unwrap_or(0);
            *slot = if digit < 10 {
                b'0' + digit
            } else {
                b'a' + digit - 10
            };
        }
        out
    }

    /// Reads the text form and nothing else. `None` for any other text.
    pub fn from_text(text: &[u8]) -> Option<Self> {
        let text: &[u8; Self::TEXT_LEN] = text.try_into().ok()?;
        crate::hex::number(text).map(Self)
    }

    fn of(self, event: &Event) -> Self {
        const FIXED: usize = 8 + 16 + 8 + 16;
        let mut envelope = [0_u8; FIXED + crate::Kind::MAX_LEN];
        let kind = event.kind.as_str().as_bytes();
        let top = event.top.unwrap_or(EventId::MIN);
        let parts: [&[u8]; 5] = [
            &event.seq.get().to_le_bytes(),
            event.id.as_bytes(),
            &event.at.as_micros().to_le_bytes(),
            top.as_bytes(),
            kind,
        ];
        let mut rest = &mut envelope[..];
        for part in parts {
            if let Some((slot, behind)) = std::mem::take(&mut rest).split_at_mut_checked(part.len())
            {
                slot.copy_from_slice(part);
                rest = behind;
            }
        }
        let filled = envelope.get(..FIXED + kind.len()).unwrap_or(&envelope);
        self.then(filled).then(event.data.as_bytes())
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sum({self})")
    }
}

impl TryFrom<String> for Sum {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        Self::from_text(text.as_bytes())
            .ok_or_else(|| Error::invalid(format!("not a checksum: {text:?}")))
    }
}

impl From<Sum> for String {
    fn from(sum: Sum) -> Self {
        sum.to_string()
    }
}

/// The end of a log: all that is needed to put the next event behind it or to verify it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Head {
    /// The position that the next event will get.
    pub tail: SeqNum,
    /// The checksum of the last event; of the session's genesis when there is none.
    pub sum: Sum,
    /// The largest event id so far; [`EventId::MIN`] when there is none.
    pub top: EventId,
}

impl Head {
    /// An end from storage, or from another source that is trusted.
    pub const fn new(tail: SeqNum, sum: Sum, top: EventId) -> Self {
        Self { tail, sum, top }
    }

    /// The end of an empty log.
    pub fn genesis(session: &SessionId, incarnation: Incarnation) -> Self {
        Self {
            tail: SeqNum::ZERO,
            sum: Sum::genesis(session, incarnation),
            top: EventId::MIN,
        }
    }

    /// The end of a log whose last event is `event`.
    pub fn after(event: &Event) -> Self {
        Self {
            tail: event.seq.plus(1),
            sum: event.sum,
            top: event.top(),
        }
    }

    /// Gives `new` its place, its `top` and its checksum, and moves behind it.
    pub fn seal(&mut self, new: NewEvent) -> Event {
        let top = (self.top > new.id).then_some(self.top);
        let mut event = Event::stored(self.tail, new, top, self.sum);
        event.sum = self.sum.of(&event);
        *self = Self::after(&event);
        event
    }

    /// Checks that `event` stands right behind this end, unchanged, and moves behind it.
    ///
    /// # Errors
    /// `Corrupt` with the position if it is another event, or if any byte of it differs.
    pub fn verify(&mut self, session: &SessionId, event: &Event) -> Result<()> {
        if event.seq != self.tail {
            let message = format!("the log continues with event {} instead", event.seq);
            return Err(damage(session, self.tail, message));
        }
        // A clash of `top` is found by the checksum as well; this names it.
        let top = (self.top > event.id).then_some(self.top);
        if self.sum.of(event) != event.sum || event.top != top {
            return Err(damage(
                session,
                self.tail,
                "the event does not match its checksum",
            ));
        }
        *self = Self::after(event);
        Ok(())
    }
}

fn damage(session: &SessionId, seq: SeqNum, message: impl Into<String>) -> Error {
    Error::corrupt(Place::session(session).with_seq(seq), message)
}
