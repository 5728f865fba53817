//! A failure as a file: what to do again.

use std::path::PathBuf;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::bench::Bench;
use crate::breach::{End, Held};
use crate::damage::Harmed;
use crate::errors::FaultAt;
use crate::kill::work::Step;
use crate::model::Command;
use crate::power::Failure;
use crate::{Options, Outcome};

/// A failure, saved as one JSON file and replayed by `SESSIONLOG_CONFORMANCE_REPLAY`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Artefact {
    /// The law that failed.
    law: String,
    /// The subject that it failed on.
    #[serde(default)]
    subject: String,
    /// What was told of the failure, line by line: for who reads the file, not for a replay.
    #[serde(default)]
    page: Vec<String>,
    /// The shortest commands that break it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) commands: Option<Vec<Command>>,
    /// Where a child was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kill: Option<KillAt>,
    /// Which requests met which faults.
    #[cfg(feature = "objects")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) faults: Option<crate::objects::Script>,
    /// The world of several writers.
    #[cfg(feature = "objects")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) world: Option<crate::objects::World>,
    /// The damaged store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) harmed: Option<Harmed>,
    /// When the power went, and what was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) power: Option<Failure>,
    /// Which file call failed, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fault: Option<FaultAt>,
    /// What was done on the failing disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) steps: Option<Vec<Step>>,
}

/// The end of a child.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KillAt {
    /// The number of the file call, from 1.
    pub(crate) call: u64,
    /// Before it, half-way through it, or after it.
    pub(crate) moment: String,
}

impl Artefact {
    pub(crate) fn of_kill(kill: KillAt) -> Self {
        Self {
            kill: Some(kill),
            ..Self::default()
        }
    }

    #[cfg(feature = "objects")]
    pub(crate) fn of_faults(faults: crate::objects::Script) -> Self {
        Self {
            faults: Some(faults),
            ..Self::default()
        }
    }

    pub(crate) fn of_power(failure: Failure) -> Self {
        Self {
            power: Some(failure),
            ..Self::default()
        }
    }

    #[cfg(feature = "objects")]
    pub(crate) fn of_world(world: crate::objects::World) -> Self {
        Self {
            world: Some(world),
            ..Self::default()
        }
    }

    pub(crate) fn of_harm(harmed: Harmed) -> Self {
        Self {
            harmed: Some(harmed),
            ..Self::default()
        }
    }

    pub(crate) fn of_fault(fault: FaultAt, steps: Vec<Step>) -> Self {
        Self {
            fault: Some(fault),
            steps: Some(steps),
            ..Self::default()
        }
    }

    pub(crate) fn of_commands(commands: Vec<Command>) -> Self {
        Self {
            commands: Some(commands),
            ..Self::default()
        }
    }

    /// The failure that is to be replayed, if it is one of the bench's law and says more than that.
    pub(crate) fn asked(bench: &Bench) -> Held<Option<Self>> {
        let Some(file) = &bench.options.replay else {
            return Ok(None);
        };
        let text = fs::read(file)?;
        let artefact: Self = serde_json::from_slice(&text)
            .map_err(|e| End::Broken(format!("{} is no saved failure: {e}", file.display())))?;
        Ok(Some(artefact).filter(|a| a.law == bench.law && a.has_cause()))
    }

    /// Whether it says how the law has to run to fail again, and not only that it failed.
    fn has_cause(&self) -> bool {
        #[cfg(feature = "objects")]
        if self.faults.is_some() || self.world.is_some() {
            return true;
        }
        self.commands.is_some()
            || self.kill.is_some()
            || self.harmed.is_some()
            || self.power.is_some()
            || self.fault.is_some()
    }

    /// Takes note of it as the cause of a failure, and adds what was done to the failure's words.
    pub(crate) fn attach(self, bench: &Bench, end: End, did: &str) -> End {
        let End::Breach(why) = end else {
            return end;
        };
        bench.caused_by(self);
        End::Breach(format!("{why}\n{did}"))
    }

    /// Saves a failure with its page, where failures are saved.
    pub(crate) fn save(
        mut self,
        outcome: &Outcome,
        subject: &str,
        options: &Options,
    ) -> io::Result<Option<PathBuf>> {
        let Some(folder) = &options.artefacts else {
            return Ok(None);
        };
        outcome.law.clone_into(&mut self.law);
        subject.clone_into(&mut self.subject);
        self.page = outcome.to_string().lines().map(str::to_owned).collect();
        fs::create_dir_all(folder)?;
        let file = folder.join(format!("{subject}.{}.json", self.law));
        fs::write(&file, serde_json::to_string_pretty(&self)? + "\n")?;
        Ok(Some(file))
    }
}
