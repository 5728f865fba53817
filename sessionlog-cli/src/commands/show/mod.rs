//! `show`: the conversation of a session for people to read, or its log.

mod log;

use std::ops::Range;

use clap::Args;
use sessionlog::{Error, ErrorKind, Kind, SeqNum, Session};

pub(crate) use self::log::print;

use self::log::{nothing, range};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Failure, Outcome};
use crate::story::{Story, Teller, Untold};
use crate::text::{line, plural};

/// Show a session: its conversation, or its log
///
/// The conversation is the one that a model would go on with: the parts of a reply are one, a call
/// without a result has one that replay made, and what was rolled back, lies in other branches or
/// behind a compaction is not in it. `--all` shows that too, where it stands in the log.
///
/// `--events`, `--range`, `--last`, `--kind` and `--json` show the log, event by event.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog show 019ab3                      the conversation
  sessionlog show 019ab3 --all                with what a rollback or a compaction hides
  sessionlog show 019ab3 --agent a1           the conversation of a sub-agent
  sessionlog show 019ab3 --events             the log
  sessionlog show 019ab3 --last 20            its end; quick, however long it is
  sessionlog show 019ab3 --range 100..150     events 100 to 149
  sessionlog show 019ab3 --json | jq .data    its events, one a line
  sessionlog show 019ab3 --conversation --json | jq -c '[.role, .calls]'")]
pub(crate) struct Show {
    /// The session: its id, or the beginning of it
    id: String,

    /// The log: each event as it was appended
    #[arg(long, conflicts_with_all = ["all", "agent", "conversation"])]
    events: bool,

    /// Only these positions of the log: a..b without b, a.., or ..b
    #[arg(
        long,
        value_name = "A..B",
        value_parser = range,
        conflicts_with_all = ["last", "all", "agent", "conversation"]
    )]
    range: Option<Range<SeqNum>>,

    /// Only the last N events of the log
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        conflicts_with_all = ["all", "agent", "conversation"]
    )]
    last: Option<u64>,

    /// Only events of this kind; may be given several times
    #[arg(
        long,
        value_name = "KIND",
        value_parser = Kind::new,
        conflicts_with_all = ["all", "agent", "conversation"]
    )]
    kind: Vec<Kind>,

    /// The conversation with everything that is hidden in it, in the order of the log
    #[arg(long)]
    all: bool,

    /// The conversation of a sub-agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// The conversation also with --json: an item a line
    #[arg(long)]
    conversation: bool,

    /// The session in which it goes on, if it does
    #[arg(long)]
    latest: bool,
}

impl Show {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let session = cx.session_or_latest(&self.id, self.latest).await?;
        let log = self.events || self.range.is_some() || self.last.is_some();
        let wanted = self.conversation || self.agent.is_some();
        if log || !self.kind.is_empty() || (cx.json() && !wanted) {
            return self.log(&session, cx).await;
        }
        let mut story = Story::read(&session, self.agent.as_deref()).await?;
        if !story.is_known() {
            story.end()?;
            return Err(unknown_agent(&story, self.agent.as_deref()));
        }
        let teller = Teller {
            paint: cx.paint(),
            width: cx.terminal().width,
            json: cx.json(),
            all: self.all && !cx.json(),
        };
        let untold = teller.tell(&session, &story, cx.out()).await?;
        story.end()?;
        self.hints(&session, &story, untold, cx).await?;
        Ok(Exit::OK)
    }

    async fn log(&self, session: &Session, cx: &mut Context<'_, '_>) -> Outcome {
        let events = match (self.last, &self.range) {
            (Some(n), _) => session.last(n).await?,
            (None, Some(range)) => session.read(range.clone()),
            (None, None) => session.read(SeqNum::all()),
        };
        let shown = print(events, &self.kind, cx).await?;
        if shown == 0 {
            nothing(session, cx).await?;
        }
        Ok(Exit::OK)
    }

    async fn hints(
        &self,
        session: &Session,
        story: &Story,
        untold: Untold,
        cx: &mut Context<'_, '_>,
    ) -> Outcome<()> {
        if untold.told == 0 && untold.covered + untold.left == 0 {
            if session.tail().await? == SeqNum::ZERO {
                return nothing(session, cx).await;
            }
            cx.hint("no message is in the conversation; see the log with --events")?;
        }
        if let Some(next) = &story.transcript.lineage().succeeded_by {
            cx.hint(&format!("it goes on in {}: --latest", line(next)))?;
        }
        if self.all {
            return Ok(());
        }
        let mut hidden = Vec::new();
        for (n, what) in [
            (untold.covered, "covered by a compaction"),
            (
                untold.left,
                "left behind by a rollback or in other branches",
            ),
        ] {
            if n > 0 {
                hidden.push(format!("{} {what}", plural(n, "message")));
            }
        }
        if !hidden.is_empty() {
            cx.hint(&format!(
                "not shown: {}; --all shows them",
                hidden.join(", ")
            ))?;
        }
        for (agent, n) in story.others().filter(|(agent, _)| !agent.is_empty()) {
            let (agent, n) = (line(agent), plural(n, "message"));
            cx.hint(&format!("the sub-agent {agent} has {n}: --agent {agent}"))?;
        }
        sub_sessions(session, cx).await?;
        Ok(())
    }
}

/// Sub-agents whose events are in sessions of their own, as imports name them.
async fn sub_sessions(session: &Session, cx: &mut Context<'_, '_>) -> Outcome<()> {
    const TOLD: usize = 5;
    let start = format!("{}.agent-", session.id());
    // That they can't be listed is no fault of the session that was shown.
    let mut all = cx.store().await?.ids().await.unwrap_or_default();
    all.retain(|id| id.as_str().starts_with(&start));
    all.sort_unstable();
    for id in all.iter().take(TOLD) {
        cx.hint(&format!("a sub-agent is in a session of its own: {id}"))?;
    }
    if let Some(more @ 1..) = all.len().checked_sub(TOLD) {
        cx.hint(&format!("and {more} more, see sessionlog ls"))?;
    }
    Ok(())
}

/// There is no such agent: those that there are.
pub(crate) fn unknown_agent(story: &Story, agent: Option<&str>) -> Failure {
    let agent = agent.unwrap_or_default();
    let others = story.others().map(|(name, _)| name);
    let others: Vec<_> = others.filter(|name| !name.is_empty()).map(line).collect();
    let hint = match others.is_empty() {
        true => "the session has no sub-agents".to_owned(),
        false => format!("there are: {}", others.join(", ")),
    };
    let told = format!("the session has no sub-agent of this name: {agent}");
    Failure::hinted(Error::new(ErrorKind::NotFound, told), hint)
}
