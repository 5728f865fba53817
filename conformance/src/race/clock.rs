//! Tickets in the order of real time, for the threads of a process or for several processes.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter that all who take part share.
pub(super) enum Clock {
    Threads(Arc<AtomicU64>),
    /// A file that gets a byte for each ticket: an appending write is atomic, and leaves the
    /// position of this one descriptor at its end.
    Processes(File),
}

impl Clock {
    pub(super) fn threads() -> Self {
        Self::Threads(Arc::default())
    }

    /// The clock of all processes that work on a place: beside its folder, not in it.
    pub(super) fn of(dir: &Path) -> io::Result<Self> {
        let path = dir.with_file_name("clock");
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).open(path)?;
        Ok(Self::Processes(file))
    }

    /// A clock for another thread of this process.
    pub(super) fn share(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Threads(count) => Self::Threads(Arc::clone(count)),
            // A position belongs to an open file: a copy of the descriptor would share it.
            Self::Processes(_) => return Err(io::Error::other("each process has one clock")),
        })
    }

    /// The next ticket.
    pub(super) fn tick(&mut self) -> io::Result<u64> {
        match self {
            Self::Threads(count) => Ok(count.fetch_add(1, Ordering::SeqCst) + 1),
            Self::Processes(file) => {
                file.write_all(b".")?;
                file.stream_position()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_ticket_is_given_twice_and_all_ascend() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("store");
        let tickets =
            |mut clock: Clock| -> Vec<u64> { (0..500).map(|_| clock.tick().unwrap()).collect() };
        let all: Vec<Vec<u64>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| tickets(Clock::of(&place).unwrap())))
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(all.iter().all(|own| own.is_sorted_by(|a, b| a < b)));
        let mut all = all.concat();
        all.sort_unstable();
        assert_eq!(all, (1..=2_000).collect::<Vec<_>>());
    }
}
