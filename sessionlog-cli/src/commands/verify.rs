//! `verify`: everything that is wrong with the store.

use clap::Args;
use serde::Serialize;
use sessionlog::{Error, ErrorKind, Finding, SessionId, Severity};

use crate::context::{Context, find};
use crate::exit::Exit;
use crate::failure::{Outcome, Problem, chain};
use crate::json::Where;
use crate::text::{bytes, line, plural};

/// Check sessions for damage: every stored byte is read, none is written
///
/// Without an id all sessions are checked, and what lies in the store but belongs to none. Damage
/// ends with exit code 6; notes and damaged caches, which rebuild themselves, do not. A session that
/// this version can't check is told, and the others are checked.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog verify               the whole store
  sessionlog verify 019ab3        one session
  sessionlog verify --json | jq 'select(.severity == \"damage\")'")]
pub(crate) struct Verify {
    /// The sessions: their ids, or the beginnings of them
    id: Vec<String>,
}

#[derive(Default, Serialize)]
struct Summary {
    sessions: u64,
    clean: u64,
    damaged: u64,
    damage: u64,
    derived: u64,
    notes: u64,
    unread: u64,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Line<'a> {
    Finding {
        severity: Severity,
        #[serde(flatten)]
        place: Where,
        len: Option<u64>,
        message: &'a str,
    },
    /// A session that could not be checked.
    Unread {
        session: &'a SessionId,
        error: Problem,
    },
    Summary(&'a Summary),
}

impl Verify {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let store = cx.store().await?;
        let whole = self.id.is_empty();
        let mut ids: Vec<SessionId> = Vec::new();
        for prefix in &self.id {
            ids.push(find(&store, prefix).await?);
        }
        if whole {
            ids = store.ids().await?;
        }
        let mut summary = Summary::default();
        let mut exit = Exit::OK;
        for id in &ids {
            let findings = match store.verify(id).await {
                Ok(findings) => findings,
                // Of a whole store: deleted since it was listed.
                Err(error) if whole && error.is_not_found() => continue,
                Err(error) if whole && *error.kind() != ErrorKind::Unavailable => {
                    summary.unread += 1;
                    exit = exit.worse(Exit::of(error.kind()));
                    unread(id, &error, cx)?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            summary.session(&findings);
            for finding in &findings {
                print(finding, cx)?;
            }
            if !whole && findings.is_empty() && !cx.json() {
                let good = cx.paint().good("clean");
                writeln!(cx.out(), "{good} {id}")?;
            }
        }
        if whole {
            for finding in &store.strays().await? {
                summary.finding(finding);
                print(finding, cx)?;
            }
        }
        summary.print(cx)?;
        Ok(if summary.damage > 0 {
            Exit::DAMAGE
        } else {
            exit
        })
    }
}

fn unread(id: &SessionId, error: &Error, cx: &mut Context<'_, '_>) -> Outcome<()> {
    if cx.json() {
        let error = Problem::of(error);
        return cx.json_line(&Line::Unread { session: id, error });
    }
    let bad = cx.paint().bad("unread");
    let told = line(&chain(error));
    Ok(writeln!(cx.out(), "{bad} session {id}: {told}")?)
}

fn print(finding: &Finding, cx: &mut Context<'_, '_>) -> Outcome<()> {
    if cx.json() {
        return cx.json_line(&Line::Finding {
            severity: finding.severity,
            place: (&finding.place).into(),
            len: finding.len,
            message: &finding.message,
        });
    }
    let paint = cx.paint();
    let (place, message) = (line(&finding.place.to_string()), line(&finding.message));
    let len = finding
        .len
        .map(|len| format!(" ({})", bytes(len)))
        .unwrap_or_default();
    let out = cx.out();
    match finding.severity {
        Severity::Note => write!(out, "{}", paint.dim("note"))?,
        Severity::Derived => write!(out, "{}", paint.warn("derived"))?,
        _ => write!(out, "{}", paint.bad("damage"))?,
    }
    Ok(writeln!(out, " {place}{len}: {message}")?)
}

impl Summary {
    fn session(&mut self, findings: &[Finding]) {
        self.sessions += 1;
        if findings.iter().any(|f| f.severity == Severity::Damage) {
            self.damaged += 1;
        } else {
            self.clean += 1;
        }
        findings.iter().for_each(|f| self.finding(f));
    }

    fn finding(&mut self, finding: &Finding) {
        match finding.severity {
            Severity::Note => self.notes += 1,
            Severity::Derived => self.derived += 1,
            _ => self.damage += 1,
        }
    }

    fn print(&self, cx: &mut Context<'_, '_>) -> Outcome<()> {
        if cx.json() {
            return cx.json_line(&Line::Summary(self));
        }
        let paint = cx.paint();
        let out = cx.out();
        write!(
            out,
            "{} checked: {} clean, ",
            plural(self.sessions, "session"),
            self.clean
        )?;
        let damaged = format!("{} damaged", self.damaged);
        match self.damage {
            0 => write!(out, "{}", paint.good(damaged))?,
            _ => write!(out, "{}", paint.bad(damaged))?,
        }
        if self.unread > 0 {
            let unread = format!("{} not checked", self.unread);
            write!(out, ", {}", paint.bad(unread))?;
        }
        for (n, what) in [(self.derived, "damaged cache"), (self.notes, "note")] {
            if n > 0 {
                write!(out, ", {}", plural(n, what))?;
            }
        }
        writeln!(out)?;
        if self.damage > 0 {
            cx.hint("see what can be saved: sessionlog repair ID")?;
        }
        Ok(())
    }
}
