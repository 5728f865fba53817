//! The parent's side: children are started, listened to, and killed.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use sessionlog_crashfs::Plan;

use super::child::{ASKED, Asked, MARK, Told};
use crate::Place;
use crate::bench::Bench;
use crate::breach::{End, Held};

/// A child that works on a place.
pub(crate) struct Process {
    child: Child,
    /// Dropped when the child is to end by itself.
    input: Option<ChildStdin>,
    told: Receiver<Told>,
    patience: Duration,
}

/// How a child came to its end.
#[derive(Debug)]
pub(crate) struct Ended {
    /// All that it told and nobody had listened to yet.
    pub(crate) told: Vec<Told>,
    /// Whether it was killed.
    pub(crate) killed: bool,
}

impl Ended {
    /// Whether it did everything.
    pub(crate) fn finished(&self) -> bool {
        !self.killed && self.told.last() == Some(&Told::Finished)
    }

    /// A breach if something failed in the child that must not fail.
    pub(crate) fn sound(&self) -> Held {
        for told in &self.told {
            if let Told::Failed(why) = told {
                return Err(End::Breach(format!("the child failed: {why}")));
            }
        }
        if !self.killed && self.told.last() != Some(&Told::Finished) {
            return Err(End::Breach(format!(
                "the child ended by itself in the middle, by a panic or an exit, after it told {:?}",
                self.told.last()
            )));
        }
        Ok(())
    }
}

impl Process {
    /// Starts a child; `umask` as in a shell, or as this process has it.
    pub(crate) fn start(
        bench: &Bench,
        place: &Place,
        work: &str,
        plan: Option<&Plan>,
        umask: Option<&str>,
    ) -> Held<Self> {
        let Some(how) = &bench.options.child else {
            return Err(End::NotMeasured("no way to start a child was given".into()));
        };
        let asked = Asked {
            work: work.to_owned(),
            dir: place.dir().to_owned(),
            name: place.name().to_owned(),
            ground: place.ground().clone(),
            known: bench.subject.known,
        };
        let asked = serde_json::to_string(&asked).map_err(|e| End::Broken(e.to_string()))?;
        let exe = env::current_exe()?;
        let mut command = match umask {
            None => Command::new(exe),
            Some(umask) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", &format!("umask {umask} && exec \"$0\" \"$@\"")]);
                shell.arg(exe);
                shell
            }
        };
        command.args(&how.args).env(ASKED, asked);
        for name in ["RUST_TEST_THREADS", "RUST_TEST_NOCAPTURE"] {
            command.env_remove(name);
        }
        if let Some(plan) = plan {
            command.envs(plan.to_env());
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (send, told) = channel();
        let input = child.stdin.take();
        let output = child.stdout.take();
        std::thread::spawn(move || {
            let lines = output.into_iter().flat_map(|o| BufReader::new(o).lines());
            let marked = lines.map_while(Result::ok).filter_map(|line| {
                let told = line.strip_prefix(MARK)?;
                serde_json::from_str(told).ok()
            });
            // A parent that listens no more wants no more.
            drop(marked.map(|told| send.send(told)).find(Result::is_err));
        });
        let patience = Duration::from_millis(5) * bench.options.patience;
        let process = Self {
            child,
            input,
            told,
            patience,
        };
        match process.next()? {
            Some(Told::Hello) => Ok(process),
            other => Err(End::Broken(format!(
                "the child that was started with {:?} does not answer: {other:?}",
                how.args
            ))),
        }
    }

    /// The next thing that the child tells; `None` when it is at its end.
    pub(crate) fn next(&self) -> Held<Option<Told>> {
        use std::sync::mpsc::RecvTimeoutError::{Disconnected, Timeout};
        match self.told.recv_timeout(self.patience) {
            Ok(told) => Ok(Some(told)),
            Err(Disconnected) => Ok(None),
            Err(Timeout) => Err(End::Breach(
                "the child tells nothing more, and does not end".into(),
            )),
        }
    }

    /// Sends the child a line.
    pub(crate) fn say(&mut self, line: &str) -> Held {
        use std::io::Write;
        let input = self.input.as_mut();
        let input = input.ok_or_else(|| End::Broken("the child's input is closed".into()))?;
        writeln!(input, "{line}")?;
        Ok(input.flush()?)
    }

    /// Stops the child where it is, until it may go on.
    pub(crate) fn stop(&self) -> Held {
        self.signal("STOP")?;
        // The signal takes a moment. Where there is no such file, it has to be enough.
        let stat = format!("/proc/{}/stat", self.child.id());
        for _ in 0..1_000 {
            let state = std::fs::read_to_string(&stat);
            let stands =
                |text: &String| text.rsplit(") ").next().is_some_and(|t| t.starts_with('T'));
            if state.as_ref().map_or(true, stands) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(End::NotMeasured("a child does not stop".into()))
    }

    /// Lets a stopped child go on.
    pub(crate) fn go_on(&self) -> Held {
        self.signal("CONT")
    }

    fn signal(&self, name: &str) -> Held {
        let send = "kill -\"$0\" \"$1\"";
        let pid = self.child.id().to_string();
        let sent = Command::new("sh").args(["-c", send, name, &pid]).status();
        match sent {
            Ok(status) if status.success() => Ok(()),
            other => Err(End::NotMeasured(format!(
                "no way to send a child the signal {name}: {other:?}"
            ))),
        }
    }

    /// Kills the child, wherever it is.
    pub(crate) fn kill(mut self) -> Held<Ended> {
        self.child.kill()?;
        self.end()
    }

    /// Waits for the child's end.
    pub(crate) fn end(mut self) -> Held<Ended> {
        drop(self.input.take());
        let mut told = Vec::new();
        while let Some(next) = self.next()? {
            told.push(next);
        }
        let status = self.child.wait()?;
        Ok(Ended {
            told,
            killed: was_killed(status),
        })
    }
}

impl Drop for Process {
    /// No child outlives its law.
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[cfg(unix)]
fn was_killed(status: std::process::ExitStatus) -> bool {
    std::os::unix::process::ExitStatusExt::signal(&status) == Some(9)
}

#[cfg(not(unix))]
fn was_killed(status: std::process::ExitStatus) -> bool {
    !status.success()
}
