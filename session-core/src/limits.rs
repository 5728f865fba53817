//! How large things may be.

use crate::{Error, NewEvent, Result};

/// The limits of an append. Over them it is refused with `InvalidInput` and the figures.
///
/// What is larger than an event may be belongs into a blob, with an event that names it.
///
/// ```
/// use sessionlog_core::Limits;
///
/// let limits = Limits::default().with_event_bytes(1 << 20);
/// assert_eq!(limits.batch_events, 10_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The largest payload of an event, in bytes. 16 MiB by default.
    pub event_bytes: usize,
    /// The most events in a batch. 10,000 by default.
    pub batch_events: usize,
    /// The largest sum of the payloads of a batch, in bytes. 64 MiB by default.
    pub batch_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Limits {
    /// What holds where nothing else is said.
    pub const DEFAULT: Self = Self {
        event_bytes: 16 << 20,
        batch_events: 10_000,
        batch_bytes: 64 << 20,
    };

    /// The same limits with another largest payload.
    #[must_use]
    pub const fn with_event_bytes(mut self, bytes: usize) -> Self {
        self.event_bytes = bytes;
        self
    }

    /// The same limits with another number of events a batch.
    #[must_use]
    pub const fn with_batch_events(mut self, events: usize) -> Self {
        self.batch_events = events;
        self
    }

    /// The same limits with another largest batch.
    #[must_use]
    pub const fn with_batch_bytes(mut self, bytes: usize) -> Self {
        self.batch_bytes = bytes;
        self
    }

    /// Checks a batch.
    ///
    /// # Errors
    /// `InvalidInput` with the limit and what was given.
    pub fn check(&self, events: &[NewEvent]) -> Result<()> {
        if events.len() > self.batch_events {
            return Err(Error::invalid(format!(
                "the batch has too many events, split it: {} events, at most {}",
                events.len(),
                self.batch_events
            )));
        }
        if let Some((at, event)) = events
            .iter()
            .enumerate()
            .find(|(_, e)| e.data.len() > self.event_bytes)
        {
            return Err(Error::invalid(format!(
                "the payload is too large, store it as a blob and append an event that names it: \
                 event {at} of the batch has {} bytes, at most {}",
                event.data.len(),
                self.event_bytes
            )));
        }
        let bytes: usize = events.iter().map(|e| e.data.len()).sum();
        if bytes > self.batch_bytes {
            return Err(Error::invalid(format!(
                "the batch is too large, split it: {bytes} bytes, at most {}",
                self.batch_bytes
            )));
        }
        Ok(())
    }
}
