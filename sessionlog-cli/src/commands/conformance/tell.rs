//! What is said of a run.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use sessionlog_conformance::{Budget, Law, Level, Outcome as Told, Report, Verdict};

use super::ground::Ground;
use super::interrupt;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, Outcome};
use crate::text::{block, line};

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Line<'a> {
    Law {
        law: &'a str,
        guarantee: String,
        level: Level,
        statement: &'a str,
    },
    Outcome(&'a Told),
    Summary(Summary<'a>),
}

#[derive(Serialize)]
struct Summary<'a> {
    store: &'a str,
    subject: &'a str,
    budget: Budget,
    laws: usize,
    passed: usize,
    failed: usize,
    known: usize,
    skipped: usize,
    not_measured: usize,
    harness_broken: usize,
    ok: bool,
    left: Option<&'a str>,
}

/// Lists laws.
pub(super) fn list(laws: &[&'static Law], cx: &mut Context<'_, '_>) -> Outcome<()> {
    for law in laws {
        if cx.json() {
            cx.json_line(&Line::Law {
                law: law.id,
                guarantee: law.guarantee(),
                level: law.level,
                statement: law.statement,
            })?;
        } else {
            let id = cx.paint().strong(law.id);
            writeln!(cx.out(), "{} {id}\n   {}", law.level, law.statement)?;
        }
    }
    Ok(())
}

/// Tells outcomes as they come: a bar on standard error for people, lines of JSON otherwise.
pub(super) struct Teller<'c, 'a, 'io> {
    cx: &'c mut Context<'a, 'io>,
    bar: ProgressBar,
    laws: Vec<&'static str>,
    /// What stopped the output, told at the end.
    stopped: Option<Failure>,
}

impl<'c, 'a, 'io> Teller<'c, 'a, 'io> {
    pub(super) fn new(
        url: &str,
        laws: &[&'static Law],
        ground: &Ground,
        cx: &'c mut Context<'a, 'io>,
    ) -> Outcome<Self> {
        let shown = cx.terminal().err && !cx.json();
        let target = match shown {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        if !cx.json() {
            let (url, place) = (line(sessionlog::shown(url)), ground.shown());
            writeln!(cx.err(), "testing {url} in {}", line(&place))?;
        }
        let bar = ProgressBar::with_draw_target(Some(laws.len() as u64), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} laws {msg}") {
            bar.set_style(style);
        }
        let laws: Vec<_> = laws.iter().map(|law| law.id).collect();
        bar.set_message(laws.first().copied().unwrap_or_default());
        Ok(Self {
            cx,
            bar,
            laws,
            stopped: None,
        })
    }

    pub(super) fn told(&mut self, outcome: &Told) {
        interrupt::check();
        self.bar.inc(1);
        let next = self.laws.iter().skip_while(|id| **id != outcome.law).nth(1);
        self.bar.set_message(next.copied().unwrap_or_default());
        if self.cx.json() && self.stopped.is_none() {
            let written = self.cx.json_line(&Line::Outcome(outcome));
            let written = written.and_then(|()| Ok(self.cx.out().flush()?));
            self.stopped = written.err();
        }
    }

    pub(super) fn finish(self) -> Outcome<()> {
        self.bar.finish_and_clear();
        self.stopped.map_or(Ok(()), Err)
    }
}

/// Tells the matrix, and what the whole comes to.
pub(super) fn end(
    report: &Report,
    url: &str,
    left: Option<&str>,
    cx: &mut Context<'_, '_>,
) -> Outcome {
    if cx.json() {
        cx.json_line(&Line::Summary(Summary {
            store: sessionlog::shown(url),
            subject: report.subject,
            budget: report.budget,
            laws: report.outcomes.len(),
            passed: report.count("passed"),
            failed: report.count("FAILED"),
            known: report.count("known"),
            skipped: report.count("skipped"),
            not_measured: report.count("NOT MEASURED"),
            harness_broken: report.count("HARNESS BROKEN"),
            ok: report.is_green(),
            left,
        }))?;
    } else {
        writeln!(cx.out(), "{}", block(&report.to_string()))?;
        if let Some(left) = left {
            cx.hint(&format!("remove what is left: {}", line(left)))?;
        }
    }
    let exits = report.outcomes.iter().map(|told| exit(&told.verdict));
    Ok(exits.fold(Exit::OK, Exit::worse))
}

fn exit(verdict: &Verdict) -> Exit {
    match verdict {
        Verdict::Passed | Verdict::Known(_) | Verdict::Skipped(_) => Exit::OK,
        Verdict::Failed(_) => Exit::DAMAGE,
        Verdict::NotMeasured(_) => Exit::UNSUPPORTED,
        Verdict::HarnessBroken(_) => Exit::OTHER,
    }
}
