//! `conformance`: the conformance suite, on the disk, the folder or the bucket that is really used.

mod child;
mod ground;
mod interrupt;
mod subjects;
mod tell;

use std::path::PathBuf;

use clap::{ArgAction, Args};
use sessionlog::Error;
use sessionlog_conformance::{Budget, ChildCommand, Law, Level, Options, Report, laws};

pub(crate) use self::child::{CHILD, Child};

use self::ground::Ground;
use self::subjects::Kind;
use self::tell::Teller;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, Outcome};

/// Test a disk, a folder or a bucket: does it keep every promise of a store that is put there?
///
/// Runs the conformance suite on stores in a folder or prefix of its own below the given place, which
/// is removed at the end, also after Ctrl-C. Sessions that are there are neither read nor written.
/// Levels: L0 the suite can measure here, L1 the contract, L2 random commands, L3 kills, L4 power loss,
/// L5 I/O errors, L6 damage, L7 races, L8 object storage. L0 always runs first.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog conformance jsonl:/mnt/disk
  sessionlog conformance sqlite:/mnt/disk --level L3,L4 --budget deep
  sessionlog conformance jsonl:. --law g08_fencing_stale_append_is_refused
  sessionlog conformance --list

Exit codes: 0 every law holds or is not promised, 6 a law is broken, 7 nothing is broken, but
something can't be measured here, 1 the suite itself is broken, 130 interrupted.")]
pub(crate) struct Conformance {
    /// A store that is, or would be, at the place to test; by default the store of --store
    url: Option<String>,

    /// Run these levels alone, and L0
    #[arg(long, value_delimiter = ',')]
    level: Vec<Level>,

    /// Run these laws alone
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    law: Vec<String>,

    /// How much is tried: smoke, default or deep
    #[arg(long, default_value = "default", env = "SESSIONLOG_CONFORMANCE_BUDGET")]
    budget: Budget,

    /// Laws that need not be measured here
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    allow: Vec<String>,

    /// Where failures are saved, a file each
    #[arg(long, value_name = "DIR", default_value = "conformance-failures")]
    failures: PathBuf,

    /// Do what a saved failure did
    #[arg(long, value_name = "FILE", env = "SESSIONLOG_CONFORMANCE_REPLAY")]
    replay: Option<PathBuf>,

    /// List the laws instead of running them
    #[arg(long, action = ArgAction::SetTrue)]
    list: bool,
}

impl Conformance {
    pub(crate) fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        self.check_names()?;
        let wanted: Vec<&'static Law> = laws().filter(|law| self.wants(law)).collect();
        if self.list {
            tell::list(&wanted, cx)?;
            return Ok(Exit::OK);
        }
        let url = match &self.url {
            Some(url) => url.clone(),
            None => cx.url()?,
        };
        let kind = Kind::of(&url)?;
        let ground = Ground::below(&url, kind)?;
        let ran = self.test(&url, kind, &ground, &wanted, cx);
        // Removed in any case, and told what could not be.
        interrupt::off();
        let left = ground.remove();
        tell::end(&ran?, &url, left.as_deref(), cx)
    }

    fn test(
        &self,
        url: &str,
        kind: Kind,
        ground: &Ground,
        wanted: &[&'static Law],
        cx: &mut Context<'_, '_>,
    ) -> Outcome<Report> {
        pollster::block_on(ground.probe())?;
        let mut teller = Teller::new(url, wanted, ground, cx)?;
        let options = self.options(url, ground);
        let report = kind.run(&options, &|law| self.wants(law), &mut |outcome| {
            teller.told(outcome);
        });
        teller.finish()?;
        Ok(report)
    }

    /// Whether a law is to run.
    fn wants(&self, law: &Law) -> bool {
        if !self.law.is_empty() {
            return self.law.iter().any(|id| id == law.id);
        }
        self.level.is_empty() || law.level == Level::Harness || self.level.contains(&law.level)
    }

    fn check_names(&self) -> Outcome<()> {
        let named = self.law.iter().chain(&self.allow);
        match named
            .into_iter()
            .find(|id| laws().all(|law| law.id != **id))
        {
            Some(id) => Err(Failure::hinted(
                Error::invalid(format!("there is no law {id:?}")),
                "see all of them: sessionlog conformance --list",
            )),
            None => Ok(()),
        }
    }

    fn options(&self, url: &str, ground: &Ground) -> Options {
        let options = Options::new(self.budget)
            .with_child(ChildCommand::new([CHILD, "--store", url]))
            .with_artefacts(&self.failures)
            .with_rerun(format!(
                "sessionlog conformance '{}' --budget {} --law {{law}}",
                sessionlog::shown(url).replace('\'', "'\\''"),
                self.budget
            ))
            .allow_unmeasured(&self.allow);
        let options = match &self.replay {
            Some(file) => options.with_replay(file),
            None => options,
        };
        ground.give(options)
    }
}
