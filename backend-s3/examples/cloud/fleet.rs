//! The workers, and what is done to them.

use std::collections::HashMap;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sessionlog_core::{Error, EventId, Result, SessionId};

use crate::bill::Bill;
use crate::worker::{self, Dice};

const WORKERS: usize = 4;

/// How long a run may take before it ends anyway, and fails if nothing was done in it.
const LONGEST: Duration = Duration::from_secs(180);

/// What the workers told.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) acknowledged: Vec<(SessionId, EventId)>,
    pub(crate) bill: Billed,
    woken: u64,
    fenced: u64,
    unknown: u64,
    unavailable: u64,
    killed: u64,
    stopped: u64,
}

/// The last bill of each process, since a killed one tells no more.
#[derive(Default)]
pub(crate) struct Billed(HashMap<u32, Bill>);

/// Runs the workers, and deals the blows: every other one kills, the others stop a worker for longer
/// than a lease lives.
pub(crate) fn run(url: &str, blows: u64, seed: u64) -> Result<Told> {
    let (tell, lines) = channel();
    let mut dice = Dice(seed);
    let mut told = Told::default();
    let mut fleet = Vec::new();
    for _ in 0..WORKERS {
        fleet.push(Worker::start(url, dice.next(), &tell)?);
    }
    let begun = Instant::now();
    let mut dealt = 0;
    while dealt < blows && begun.elapsed() < LONGEST {
        // Blows are dealt by what was done, so that a slow machine is not beaten before it works.
        told.listen(&lines, 6 + dice.below(12), &mut fleet, begun)?;
        let Some(worker) = fleet.get_mut(dice.below(WORKERS)) else {
            continue;
        };
        dealt += 1;
        if dice.below(2) == 0 {
            worker.end();
            told.killed += 1;
            *worker = Worker::start(url, dice.next(), &tell)?;
        } else {
            worker.signal(Signal::SIGSTOP)?;
            told.stopped += 1;
            thread::sleep(worker::TTL + Duration::from_millis(500));
            worker.signal(Signal::SIGCONT)?;
        }
    }
    drop(fleet);
    drop(tell);
    // What a killed worker had said is still on its way.
    lines.iter().for_each(|line| told.hear(&line));
    match told.acknowledged.is_empty() {
        true => Err(Error::unavailable("the workers did nothing")),
        false => Ok(told),
    }
}

impl Told {
    /// Listens for so many acknowledged events.
    fn listen(
        &mut self,
        lines: &Receiver<Line>,
        events: usize,
        fleet: &mut [Worker],
        begun: Instant,
    ) -> Result<()> {
        let wanted = self.acknowledged.len() + events;
        while self.acknowledged.len() < wanted && begun.elapsed() < LONGEST {
            if let Ok(line) = lines.recv_timeout(Duration::from_millis(100)) {
                self.hear(&line);
            }
            for worker in &mut *fleet {
                worker.lives()?;
            }
        }
        Ok(())
    }

    fn hear(&mut self, (process, line): &Line) {
        let mut words = line.split(' ');
        match words.next() {
            Some("ack") => {
                let id = words.next().and_then(|id| id.parse().ok());
                let event = words.next().and_then(|event| event.parse().ok());
                self.acknowledged.extend(id.zip(event));
                if let Some(bill) = words.next().and_then(|bill| bill.parse().ok()) {
                    self.bill.0.insert(*process, bill);
                }
            }
            Some("woken") => self.woken += 1,
            Some("fenced") => self.fenced += 1,
            Some("unknown") => self.unknown += 1,
            Some("unavailable") => self.unavailable += 1,
            _ => {}
        }
    }
}

type Line = (u32, String);

/// A process, killed when this is dropped.
struct Worker(Child);

impl Worker {
    fn start(url: &str, seed: u64, tell: &Sender<Line>) -> Result<Self> {
        let refused = |e| Error::unavailable("can't start a worker").with_source(e);
        let program = std::env::current_exe().map_err(refused)?;
        let mut child = Command::new(program)
            .args([worker::NAME, &seed.to_string()])
            .env(worker::URL, url)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(refused)?;
        let process = child.id();
        if let Some(out) = child.stdout.take() {
            let tell = tell.clone();
            thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(std::io::Result::ok) {
                    if tell.send((process, line)).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Self(child))
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.0.id()).map_err(|_| Error::internal("a process has no id"))?;
        kill(Pid::from_raw(pid), signal)
            .map_err(|e| Error::unavailable("can't signal a worker").with_source(e))
    }

    /// A worker ends by a blow alone.
    fn lives(&mut self) -> Result<()> {
        match self.0.try_wait() {
            Ok(Some(status)) => Err(Error::internal(format!("a worker gave up: {status}"))),
            _ => Ok(()),
        }
    }

    fn end(&mut self) {
        // Already gone, if it gave up.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} kills, {} stops; {} wakes, {} writers fenced, {} answers unknown, {} requests \
             refused",
            self.killed, self.stopped, self.woken, self.fenced, self.unknown, self.unavailable
        )
    }
}

impl fmt::Display for Billed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = Bill::default();
        self.0.values().for_each(|bill| all += *bill);
        write!(f, "{all:#}")
    }
}
