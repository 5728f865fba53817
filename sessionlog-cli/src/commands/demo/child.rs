//! The process that is killed.

use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use sessionlog::{Error, Result, SessionId};

use super::driver::{Acknowledged, DRIVER};
use crate::failure::os_error;

/// The driver in a process of its own; killed, at the latest, when this is dropped.
pub(super) struct Driven(Child);

impl Driven {
    /// Starts this program again, as the driver of a session.
    pub(super) fn start(url: &str, id: &SessionId) -> Result<Self> {
        let refused = |e| os_error("this program can't start itself again", e);
        let program = std::env::current_exe().map_err(refused)?;
        let child = Command::new(program)
            .args([DRIVER, id.as_str()])
            // A URL can hold secrets, and everybody can see arguments.
            .env("SESSIONLOG_STORE", url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(refused)?;
        Ok(Self(child))
    }

    /// What the driver acknowledges next, as many as given.
    pub(super) fn acknowledged(&mut self, events: usize) -> Result<Vec<Acknowledged>> {
        let Some(out) = self.0.stdout.take() else {
            return Err(Error::internal("the driver's output is not read"));
        };
        let mut lines = BufReader::new(out).lines().take(events);
        let all: io::Result<Vec<Acknowledged>> =
            lines.try_fold(Vec::with_capacity(events), |mut all, line| {
                all.push(serde_json::from_str(&line?)?);
                Ok(all)
            });
        match all {
            Ok(all) if all.len() == events => Ok(all),
            Ok(all) => Err(Error::unavailable(format!(
                "the driver ended early, after {} of {events} events",
                all.len()
            ))),
            Err(e) => Err(Error::unavailable("the driver can't be understood").with_source(e)),
        }
    }

    /// Kills it at once: `SIGKILL` on Unix, `TerminateProcess` on Windows.
    pub(super) fn kill(&mut self) -> Result<()> {
        let killed = self.0.kill().and_then(|()| self.0.wait());
        killed
            .map(drop)
            .map_err(|e| os_error("the driver can't be killed", e))
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        // Already dead when it was killed before.
        drop(self.kill());
    }
}
