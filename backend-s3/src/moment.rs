//! Time, as a handle knows it.

use std::time::{Duration, Instant, SystemTime};

use sessionlog_core::Timestamp;

/// A time on both clocks: one stands still while a laptop sleeps, the other can be set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    mono: Instant,
    wall: SystemTime,
}

impl Moment {
    pub(crate) fn now() -> Self {
        Self {
            mono: Instant::now() + passed(),
            wall: SystemTime::now() + passed(),
        }
    }

    /// How long ago it was: by the clock on which that is longer.
    pub(crate) fn elapsed(&self) -> Duration {
        let now = Self::now();
        let wall = now.wall.duration_since(self.wall);
        let mono = now.mono.saturating_duration_since(self.mono);
        mono.max(wall.unwrap_or(Duration::MAX))
    }

    /// By the clock that others know as well.
    pub(crate) fn wall(&self) -> SystemTime {
        self.wall
    }
}

/// The time that is written down, for others to read.
pub(crate) fn time() -> Timestamp {
    let passed = i64::try_from(passed().as_micros()).unwrap_or_default();
    let now = Timestamp::now();
    Timestamp::from_micros(now.as_micros().saturating_add(passed)).unwrap_or(now)
}

#[cfg(not(test))]
const fn passed() -> Duration {
    Duration::ZERO
}

#[cfg(test)]
pub(crate) use in_tests::{pass, passed};

/// Tests let days pass.
#[cfg(test)]
mod in_tests {
    use std::cell::Cell;
    use std::time::Duration;

    thread_local! {
        static PASSED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    /// Lets time pass for this thread.
    pub(crate) fn pass(time: Duration) {
        PASSED.set(passed() + time);
    }

    /// The time that tests let pass.
    pub(crate) fn passed() -> Duration {
        PASSED.get()
    }
}
