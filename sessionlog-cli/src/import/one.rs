//! The import of one file.

use std::collections::BTreeMap;

use sessionlog::{
    BlobId, ErrorKind, LeaseRequest, Owner, Result, Session, SessionId, Store, Writer,
};

use super::Format;
use super::clock::Clock;
use super::feed::{Fed, Feed};
use super::name;
use super::outcome::{Outcome, Status};
use super::relation::{Known, Relation, Sidecar, relation};
use super::scan::Candidate;
use super::sidecar;
use super::survey::Survey;
use super::write::{Started, Write, file_name};

/// How to import.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Write nothing, and say what would be written.
    pub dry_run: bool,
    /// Read the file as this format, whatever it looks like.
    pub format: Option<Format>,
}

/// Imports a file. `progress` is told the bytes of the file that are done; after a race with another
/// writer it begins anew.
///
/// The session is named by what the file says, or by the file. Its lease is held while it is
/// written to, and its card is saved. What is wrong with the content of a file is no error: it is
/// kept, and told in the outcome.
///
/// # Errors
/// `LeaseHeld` if somebody drives the session; `NotFound` or `InvalidInput` if the file can't be
/// read; the errors of the store.
pub async fn import_file(
    store: &Store,
    candidate: &Candidate,
    options: &Options,
    progress: &mut dyn FnMut(u64),
) -> Result<Outcome> {
    let format = options.format.or(candidate.format);
    let outcome = Outcome::new(candidate.path.clone(), format);
    let Some(format) = format else {
        return Ok(outcome.skipped(candidate.unknown()));
    };
    let survey = Survey::of(&candidate.path, format)?;
    let sidecar = match &candidate.sidecar {
        Some(path) if format == Format::KvitCoder => sidecar::read(path)?,
        _ => None,
    };
    if survey.empty && sidecar.is_none() {
        return Ok(outcome.skipped("the file is empty"));
    }
    let identity = survey.identity();
    let named = identity.name.unwrap_or_else(|| candidate.name.clone());
    let (id, renamed) = name::session_id(&named);
    let one = One {
        store,
        candidate,
        options,
        survey,
        sidecar,
        parent: identity.parent,
    };
    let outcome = Outcome {
        named: renamed.then_some(named),
        ..outcome
    };
    one.import(id, outcome, progress).await
}

struct One<'a> {
    store: &'a Store,
    candidate: &'a Candidate,
    options: &'a Options,
    survey: Survey,
    sidecar: Option<Sidecar>,
    parent: Option<String>,
}

/// Where an import goes.
struct Goal {
    id: SessionId,
    session: Option<Session>,
    known: Known,
}

impl One<'_> {
    async fn import(
        &self,
        mut id: SessionId,
        mut outcome: Outcome,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Outcome> {
        let mut diverged = None;
        // Each turn is a session of that name with another content, or a race that was lost.
        for _ in 0..64 {
            let mut feed = self.survey.feed(&self.candidate.path)?;
            let session = match self.store.open(&id).await {
                Ok(session) => Some(session),
                Err(error) if error.is_not_found() => None,
                Err(error) => return Err(error),
            };
            let known = match &session {
                Some(session) => self.compare(session, &mut feed, progress).await?,
                None => Known::nothing(&mut feed)?,
            };
            if let Relation::Other { line, content } = &known.relation {
                diverged = diverged.or_else(|| Some((id.clone(), *line)));
                id = name::beside(&id, *line, content);
                continue;
            }
            outcome.session = Some(id.clone());
            outcome.known_events = known.events;
            let id = id.clone();
            let goal = Goal { id, session, known };
            let mut out = outcome.clone();
            out.status = status(&goal, diverged.as_ref());
            if self.go(goal, &mut feed, &mut out, progress).await? {
                return Ok(out);
            }
        }
        Err(sessionlog::Error::unavailable(format!(
            "other writers were always faster, import it again: {}",
            self.candidate.path.display()
        )))
    }

    async fn compare(
        &self,
        session: &Session,
        feed: &mut Feed<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Known> {
        let sidecar = self.sidecar.as_ref();
        relation(session, feed, &self.candidate.path, sidecar, progress).await
    }

    /// Writes what is new; false if somebody else wrote to the session in between.
    async fn go(
        &self,
        goal: Goal,
        feed: &mut Feed<'_>,
        outcome: &mut Outcome,
        progress: &mut dyn FnMut(u64),
    ) -> Result<bool> {
        outcome.lines = feed.lines().number();
        let Goal { id, session, known } = goal;
        let new = match known.relation {
            Relation::Longer { first, skip } => Some((first, skip)),
            // What is told of the end of a file must be the end of all that was imported of it.
            Relation::Shorter => return Ok(true),
            Relation::Same {
                newline_added: true,
            } => None,
            _ if known.sidecar_changed => None,
            _ => return Ok(true),
        };
        if self.options.dry_run {
            let mut write = Write::new(None, &self.candidate.path);
            self.write(
                &mut write,
                feed,
                new,
                outcome,
                (known.sidecar_changed, session.is_none()),
                progress,
            )
            .await?;
            return Ok(true);
        }
        let fresh = session.is_none();
        let session = match session {
            Some(session) => session,
            None => match self.store.create(id).await {
                Ok(session) => session,
                Err(e) if matches!(e.kind(), ErrorKind::Conflict { .. }) => return Ok(false),
                Err(e) => return Err(e),
            },
        };
        let writer = acquire(&session).await?;
        if writer.tail_at_grant() != known.tail {
            writer.release().await?;
            return Ok(false);
        }
        let mut write = Write::new(Some(&writer), &self.candidate.path);
        let begins = fresh || known.tail == sessionlog::SeqNum::ZERO;
        let done = self
            .write(
                &mut write,
                feed,
                new,
                outcome,
                (known.sidecar_changed, begins),
                progress,
            )
            .await;
        // What was appended stays, and the next import goes on behind it.
        let released = writer.release().await;
        done?;
        released?;
        Ok(true)
    }

    async fn write(
        &self,
        write: &mut Write<'_>,
        feed: &mut Feed<'_>,
        new: Option<(Box<Fed>, usize)>,
        outcome: &mut Outcome,
        (sidecar_changed, begins): (bool, bool),
        progress: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let mut clock = first_clock(new.as_ref(), feed);
        let started = Started {
            format: feed.format().name(),
            file: file_name(&self.candidate.path),
            parent: self.parent.as_deref(),
        };
        write.started(clock, &started)?;
        let sidecar = self.sidecar.as_ref().filter(|_| sidecar_changed);
        if begins && let Some(sidecar) = sidecar {
            self.add_sidecar(write, sidecar, &mut clock, true, outcome)?;
        }
        if let Some((first, mut skip)) = new {
            let mut next = Some(*first);
            while let Some(fed) = next.take() {
                write.line(fed, std::mem::take(&mut skip), outcome).await?;
                progress(feed.lines().offset());
                next = feed.next()?;
            }
        }
        // The sum of the file is told at the end, also where nothing in it is new.
        while feed.next()?.is_some() {}
        let mut clock = feed.clock();
        if !begins && let Some(sidecar) = sidecar {
            self.add_sidecar(write, sidecar, &mut clock, false, outcome)?;
        }
        outcome.lines = feed.lines().number();
        let files: BTreeMap<_, _> = self
            .sidecar
            .iter()
            .map(|s| (s.name, BlobId::of(s.text.as_bytes())))
            .collect();
        write.finish(feed, clock, &files, outcome).await
    }

    fn add_sidecar(
        &self,
        write: &mut Write<'_>,
        sidecar: &Sidecar,
        clock: &mut Clock,
        first: bool,
        outcome: &mut Outcome,
    ) -> Result<()> {
        for draft in sidecar::drafts(sidecar, clock, first)? {
            write.draft(draft);
            outcome.new_events += 1;
        }
        Ok(())
    }
}

/// The clock of the first event.
fn first_clock(new: Option<&(Box<Fed>, usize)>, feed: &Feed<'_>) -> Clock {
    new.and_then(|(first, skip)| first.drafts.get(*skip))
        .map_or_else(|| feed.clock(), |draft| draft.clock)
}

fn status(goal: &Goal, diverged: Option<&(SessionId, u64)>) -> Status {
    let begins = goal.session.is_none() || goal.known.tail == sessionlog::SeqNum::ZERO;
    match (&goal.known.relation, diverged) {
        (_, Some((from, line))) if begins => Status::Diverged {
            from: from.clone(),
            line: *line,
        },
        _ if begins => Status::Imported,
        (
            Relation::Longer { .. }
            | Relation::Same {
                newline_added: true,
            },
            _,
        ) => Status::Grown,
        (Relation::Shorter, _) => Status::Unchanged {
            note: Some("the file is shorter than what was imported of it".to_owned()),
        },
        _ if goal.known.sidecar_changed => Status::Grown,
        _ => Status::Unchanged { note: None },
    }
}

async fn acquire(session: &Session) -> Result<Writer> {
    let owner = Owner::new(format!("sessionlog import, process {}", std::process::id()))?;
    session.acquire(LeaseRequest::new(owner)).await
}
