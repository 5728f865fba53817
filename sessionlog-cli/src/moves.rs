//! Moves of the head: what one changes, before and after it is made.

use std::collections::HashSet;

use serde::Serialize;
use sessionlog::transcript::{Item, Origin, Transcript, text_of};
use sessionlog::{
    Error, ErrorKind, LeaseRequest, NewEvent, Projected, Projection, Result, SeqNum, Session,
};

use crate::commands::wake::owner;
use crate::context::Context;
use crate::failure::Outcome;
use crate::items::mark;
use crate::text::{Paint, line};

/// A message in a few words.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Brief {
    pub(crate) seq: u64,
    pub(crate) role: &'static str,
    pub(crate) text: String,
}

/// Characters of a message that stand for it.
const ROOM: usize = 60;

impl Brief {
    fn of(item: &Item<'_>) -> Self {
        let mut words: Vec<String> = item.natives.iter().map(|native| text_of(native)).collect();
        words.extend(item.text.map(ToOwned::to_owned));
        words.extend(item.calls.iter().map(|(_, name)| format!("→ {name}")));
        words.extend(item.answers.iter().map(|id| format!("← {id}")));
        let text = beginning(&words.join(" "), ROOM);
        let natives = || item.natives.iter().copied();
        Self {
            seq: item.seq.get(),
            role: item.role.as_str(),
            text: match text.is_empty() {
                true => mark(natives()).to_owned(),
                false => text,
            },
        }
    }

    /// Prints it on a line of its own.
    pub(crate) fn print(&self, cx: &mut Context<'_, '_>) -> Outcome<()> {
        let paint: Paint = cx.paint();
        let seq = paint.dim(format_args!("#{}", self.seq)).to_string();
        writeln!(cx.out(), "  {seq} {}: {}", self.role, line(&self.text))?;
        Ok(())
    }
}

/// The first words of a text, on one line.
pub(crate) fn beginning(text: &str, room: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut short: String = words.chars().take(room).collect();
    if short.len() < words.len() {
        short.push('…');
    }
    short
}

/// A move of the head.
#[derive(Debug)]
pub(crate) struct Move {
    /// Messages that it takes out of the conversation.
    pub(crate) hidden: Vec<Brief>,
    /// Messages that it brings back.
    pub(crate) back: Vec<Brief>,
    /// The message before it that the next one would have hung under.
    pub(crate) from: Option<SeqNum>,
    /// The message that the next one hangs under.
    pub(crate) to: Option<SeqNum>,
    /// Replay would pass over it.
    pub(crate) refused: bool,
    /// Where it stands in the log; none if it was not appended.
    pub(crate) seq: Option<SeqNum>,
}

impl Move {
    /// Appends the move under the lease, unless it would change nothing or is only tried.
    pub(crate) async fn make(
        session: &Session,
        new: NewEvent,
        agent: Option<&str>,
        dry_run: bool,
    ) -> Result<Self> {
        if dry_run {
            return Self::preview(session, session.project().await?, &new, agent).await;
        }
        let mut woken = session.wake(LeaseRequest::new(owner()?)).await?;
        let projected = woken.projected().clone();
        let made = match Self::preview(session, projected, &new, agent).await {
            Ok(it) if it.refused || it.from == it.to => Ok(it),
            Ok(it) => woken.append(vec![new]).await.map(|range| Self {
                seq: Some(range.start),
                ..it
            }),
            Err(error) => Err(error),
        };
        let released = woken.release().await;
        let made = made?;
        released?;
        Ok(made)
    }

    /// What the move would change.
    async fn preview(
        session: &Session,
        projected: Projected<Transcript>,
        new: &NewEvent,
        agent: Option<&str>,
    ) -> Result<Self> {
        let Projected {
            state: mut transcript,
            mut head,
            ..
        } = projected;
        if let Some(name) = agent.filter(|name| transcript.agents().all(|agent| agent != *name)) {
            let told = format!("the session has no sub-agent of this name: {name}");
            return Err(Error::new(ErrorKind::NotFound, told));
        }
        session.load(&mut transcript, agent).await?;
        let (from, before) = (transcript.head(agent), briefs(&transcript, agent)?);
        let odd = transcript.oddities().count();
        transcript.apply(&head.seal(new.clone()));
        session.load(&mut transcript, agent).await?;
        let after = briefs(&transcript, agent)?;
        let only = |all: &[Brief], other: &[Brief]| {
            let other: HashSet<u64> = other.iter().map(|brief| brief.seq).collect();
            let gone = all.iter().filter(|brief| !other.contains(&brief.seq));
            gone.cloned().collect::<Vec<_>>()
        };
        Ok(Self {
            hidden: only(&before, &after),
            back: only(&after, &before),
            from,
            to: transcript.head(agent),
            refused: transcript.oddities().count() > odd,
            seq: None,
        })
    }
}

fn briefs(transcript: &Transcript, agent: Option<&str>) -> Result<Vec<Brief>> {
    let items = transcript.conversation(agent)?.items();
    let said = items.iter().filter(|item| item.origin != Origin::Closing);
    Ok(said.map(Brief::of).collect())
}
