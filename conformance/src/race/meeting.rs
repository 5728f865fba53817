//! Where those who race wait for one another: what must happen in a race happens every time then,
//! and not only on a machine that runs them side by side.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_timer::Delay;

/// Nobody is waited for longer than for so many looks: who does not come shows in the history.
const LOOKS: u32 = 20_000;
/// More than anybody ever comes.
const GONE: u64 = 1 << 40;

/// One who takes part in meetings.
pub(super) struct Meeting {
    come: Come,
    /// How many take part.
    all: u64,
    /// How many meetings there were.
    held: u64,
}

/// How often somebody came.
enum Come {
    Alone,
    Threads(Arc<AtomicU64>),
    /// A file that gets a byte each time.
    Processes(File),
}

impl Meeting {
    /// Of one who waits for nobody.
    pub(super) fn alone() -> Self {
        Self {
            come: Come::Alone,
            all: 1,
            held: 0,
        }
    }

    /// Of so many tasks that share the counter.
    pub(super) fn of_threads(come: &Arc<AtomicU64>, all: u64) -> Self {
        Self {
            come: Come::Threads(Arc::clone(come)),
            all,
            held: 0,
        }
    }

    /// Of so many processes that work on a place: beside its folder, not in it.
    pub(super) fn of_processes(dir: &Path, all: u64) -> io::Result<Self> {
        let path = dir.with_file_name("meeting");
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self {
            come: Come::Processes(file),
            all,
            held: 0,
        })
    }

    /// Waits until all are here.
    pub(super) async fn all(&mut self) -> io::Result<()> {
        self.held += 1;
        match &mut self.come {
            Come::Alone => return Ok(()),
            Come::Threads(come) => drop(come.fetch_add(1, Ordering::SeqCst)),
            Come::Processes(file) => file.write_all(b".")?,
        }
        for _ in 0..LOOKS {
            let come = match &self.come {
                Come::Alone => return Ok(()),
                Come::Threads(come) => come.load(Ordering::SeqCst),
                Come::Processes(file) => file.metadata()?.len(),
            };
            if come >= self.held * self.all {
                return Ok(());
            }
            Delay::new(Duration::from_millis(1)).await;
        }
        Ok(())
    }
}

impl Drop for Meeting {
    /// Nobody waits for a task that has come to its end.
    fn drop(&mut self) {
        if let Come::Threads(come) = &self.come {
            come.fetch_add(GONE, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_goes_on_before_all_are_here_and_nobody_waits_for_who_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("store");
        let come: Arc<AtomicU64> = Arc::default();
        let of_threads = || Meeting::of_threads(&come, 3);
        let of_processes = || Meeting::of_processes(&place, 3).unwrap();
        for make in [&of_threads as &(dyn Fn() -> Meeting + Sync), &of_processes] {
            let here = AtomicU64::new(0);
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        let mut meeting = make();
                        for n in 1..=20 {
                            here.fetch_add(1, Ordering::SeqCst);
                            pollster::block_on(meeting.all()).unwrap();
                            assert!(here.load(Ordering::SeqCst) >= n * 3);
                        }
                    });
                }
            });
        }
        pollster::block_on(of_threads().all()).unwrap();
    }
}
