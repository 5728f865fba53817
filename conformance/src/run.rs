//! Running laws.

#[cfg(test)]
mod tests;

use crate::bench::Bench;
use crate::breach::{End, Held};
use crate::law::Need;
use crate::patience::{patient, words_of};
use crate::stack::on_a_large_stack;
use crate::subject::Erased;
use crate::{Capability, Law, Medium, Options, Outcome, Report, Subject, Verdict, laws};

/// Runs every law on a backend.
pub fn run<S: Subject>(options: &Options) -> Report {
    run_some::<S>(options, |_| true)
}

/// Runs the laws that `wanted` picks.
pub fn run_some<S: Subject>(options: &Options, wanted: impl Fn(&Law) -> bool) -> Report {
    run_each::<S>(options, wanted, |_| {})
}

/// Runs the laws that `wanted` picks, and tells each outcome when it is known.
pub fn run_each<S: Subject>(
    options: &Options,
    wanted: impl Fn(&Law) -> bool,
    mut told: impl FnMut(&Outcome),
) -> Report {
    let subject = Erased::of::<S>();
    let outcomes = laws().filter(|law| wanted(law)).map(|law| {
        let outcome = run_law(subject, law, options);
        told(&outcome);
        outcome
    });
    let outcomes = outcomes.collect();
    Report::new(subject.name, options.budget, outcomes)
}

/// Runs one law.
pub(crate) fn run_law(subject: Erased, law: &Law, options: &Options) -> Outcome {
    let mut outcome = Outcome {
        law: law.id,
        guarantee: law.guarantee(),
        level: law.level,
        statement: law.statement,
        verdict: Verdict::Passed,
        trail: Vec::new(),
        artefact: None,
        replay: None,
        sometimes: std::collections::BTreeMap::new(),
        hints: Vec::new(),
        looked: 0.0,
    };
    if let Some(verdict) = law.needs.iter().find_map(|n| unmet(*n, &subject, options)) {
        outcome.verdict = excused(verdict, law, &subject, options);
        return outcome;
    }
    let bench = match Bench::new(law.id, subject, options) {
        Ok(bench) => bench,
        Err(end) => {
            outcome.verdict = verdict(Err(end));
            return outcome;
        }
    };
    let held = verdict(held(&bench, law));
    outcome.verdict = excused(held, law, &subject, options);
    outcome.sometimes = bench.counters();
    outcome.hints = bench.hints();
    outcome.looked = bench.looked();
    if !outcome.verdict.is_green() {
        outcome.trail = bench.trail.lines();
        outcome.replay = again(options, law.id, None);
    }
    if let Some(gone) = options.ground.gone() {
        let why = format!("the folder for places is gone: {}", gone.display());
        outcome.verdict = Verdict::HarnessBroken(why);
    } else if outcome.is_a_page() {
        match bench.cause().save(&outcome, subject.name, options) {
            Ok(None) => {}
            Ok(Some(file)) => {
                let file = file.display().to_string();
                outcome.replay = again(options, law.id, Some(&file));
                outcome.artefact = Some(file);
            }
            Err(error) => outcome.trail.push(format!("this was not saved: {error}")),
        }
    }
    outcome
}

/// What the subject and the options say about a verdict before it counts.
fn excused(verdict: Verdict, law: &Law, subject: &Erased, options: &Options) -> Verdict {
    let known = subject.known_failures.iter().find(|(id, _)| *id == law.id);
    match (verdict, known) {
        (Verdict::Failed(_), Some((_, why))) => Verdict::Known((*why).to_owned()),
        (Verdict::Passed, Some((_, why))) => Verdict::Failed(format!(
            "expected: a failure, which is known: {why}\nobserved: the law is upheld: take it out of KNOWN_FAILURES"
        )),
        (Verdict::NotMeasured(why), _) if options.allowed.iter().any(|id| id == law.id) => {
            Verdict::Skipped(format!("not measured, which was allowed: {why}"))
        }
        (verdict, _) => verdict,
    }
}

/// The command that runs a law again, on the saved failure if there is one.
fn again(options: &Options, law: &str, saved: Option<&str>) -> Option<String> {
    if options.rerun.is_empty() {
        return None;
    }
    let command = options.rerun.replace("{law}", law);
    Some(match saved {
        Some(file) => format!("SESSIONLOG_CONFORMANCE_REPLAY={} {command}", quoted(file)),
        None => command,
    })
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    match word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Runs a law to its end, whatever way it ends.
fn held(bench: &Bench, law: &Law) -> Held {
    let ran = on_a_large_stack(|| {
        let mut outcome = None;
        let run = async {
            outcome = patient(bench.options.patience, (law.run)(bench)).await;
        };
        (bench.subject.block_on)(Box::pin(run));
        outcome
    });
    match ran {
        Ok(Err(panic)) => Err(End::Breach(format!(
            "expected: an error, or success\nobserved: a panic: {}",
            words_of(&*panic)
        ))),
        Err(error) => Err(End::Broken(format!(
            "there is no thread for the law: {error}"
        ))),
        Ok(Ok(outcome)) => outcome.unwrap_or_else(|| {
            Err(End::Breach(
                "expected: an outcome\nobserved: it waits, and nobody wakes it".into(),
            ))
        }),
    }
}

fn verdict(held: Held) -> Verdict {
    match held {
        Ok(()) => Verdict::Passed,
        Err(End::Breach(why)) => Verdict::Failed(why),
        Err(End::NotMeasured(why)) => Verdict::NotMeasured(why),
        Err(End::Skipped(why)) => Verdict::Skipped(why),
        Err(End::Broken(why)) => Verdict::HarnessBroken(why),
    }
}

/// Why a law does not run on a subject, if so.
fn unmet(need: Need, subject: &Erased, options: &Options) -> Option<Verdict> {
    let skipped = |why: &str| Some(Verdict::Skipped(why.to_owned()));
    let promised = |capability| match capability {
        Capability::Yes => None,
        Capability::No(why) => Some(Verdict::Skipped(why.to_owned())),
    };
    match need {
        Need::Folder if subject.medium != Medium::Directory => {
            skipped("the medium is not a folder, so there are no files to look at")
        }
        Need::Durable if subject.medium == Medium::Memory => {
            skipped("the medium is memory, which does not outlive its process")
        }
        Need::Durable if subject.medium == Medium::ObjectStore => {
            skipped("the object store is in the memory of the process, which another does not see")
        }
        Need::Objects if subject.medium != Medium::ObjectStore => {
            skipped("the medium is not an object store, so there are no requests to spoil")
        }
        Need::Objects if cfg!(not(feature = "objects")) => Some(Verdict::NotMeasured(
            "the feature `objects` of sessionlog-conformance is off".into(),
        )),
        Need::Calls => sessionlog_crashfs::armed()
            .err()
            .map(|why| Verdict::NotMeasured(why.to_string())),
        Need::Child if options.child.is_none() => Some(Verdict::NotMeasured(
            "no way to start a child process was given".into(),
        )),
        Need::Folder | Need::Durable | Need::Child | Need::Objects => None,
        Need::SeveralHandles => promised(subject.several_handles),
        Need::SeveralProcesses => promised(subject.several_processes),
        Need::ForcedLeases => promised(subject.forced_leases),
        Need::PromptLeases => promised(subject.prompt_leases),
        Need::LiveNotification => promised(subject.live_notification),
        Need::GroupCommit => promised(subject.group_commit),
        Need::OneWriteOneFlush => promised(subject.one_write_one_flush),
        Need::SilentOpen => promised(subject.silent_open),
        Need::ErasesBytes => promised(subject.erases_bytes),
        Need::PrivateFiles => promised(subject.private_files),
        Need::RefusesUnfitStores => promised(subject.refuses_unfit_stores),
        Need::Salvages => promised(subject.salvages),
        Need::PosixNames => promised(subject.posix_names),
    }
}
