//! A failure as a file: what to do again.

use std::fs;

use serde::{Deserialize, Serialize};

use crate::bench::Bench;
use crate::breach::{End, Held};
use crate::model::Command;

/// A failure, saved as one JSON file and replayed by `SESSIONLOG_CONFORMANCE_REPLAY`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Artefact {
    /// The law that failed.
    law: String,
    /// The shortest commands that break it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) commands: Option<Vec<Command>>,
    /// Where a child was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kill: Option<KillAt>,
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

    pub(crate) fn of_commands(commands: Vec<Command>) -> Self {
        Self {
            commands: Some(commands),
            ..Self::default()
        }
    }

    /// The failure that is to be replayed, if it is one of the bench's law.
    pub(crate) fn asked(bench: &Bench) -> Held<Option<Self>> {
        let Some(file) = &bench.options.replay else {
            return Ok(None);
        };
        let text = fs::read(file)?;
        let artefact: Self = serde_json::from_slice(&text)
            .map_err(|e| End::Broken(format!("{} is no saved failure: {e}", file.display())))?;
        Ok(Some(artefact).filter(|a| a.law == bench.law))
    }

    /// Saves the failure, where failures are saved, and adds to its words how to see it again.
    pub(crate) fn attach(mut self, bench: &Bench, end: End, did: &str) -> End {
        let End::Breach(why) = end else {
            return end;
        };
        bench.law.clone_into(&mut self.law);
        let saved = match self.save(bench) {
            Ok(Some(file)) => format!("\nsaved    {file}"),
            Ok(None) => String::new(),
            Err(error) => format!("\nnot saved: {error}"),
        };
        End::Breach(format!("{why}\n{did}{saved}"))
    }

    fn save(&self, bench: &Bench) -> std::io::Result<Option<String>> {
        let Some(folder) = &bench.options.artefacts else {
            return Ok(None);
        };
        fs::create_dir_all(folder)?;
        let file = folder.join(format!("{}.{}.json", bench.subject.name, self.law));
        fs::write(&file, serde_json::to_string_pretty(self)? + "\n")?;
        let file = file.display().to_string();
        bench.saved(&file);
        Ok(Some(file))
    }
}
