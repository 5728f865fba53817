//! `branches`: the branches of a conversation.

use clap::Args;
use serde::Serialize;
use sessionlog::transcript::Branch;
use sessionlog::{Session, Timestamp};

use super::show::unknown_agent;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;
use crate::items::second;
use crate::story::Story;
use crate::text::{line, plural};

/// List the branches of a conversation: where each forks, and which is selected
///
/// A branch begins where the conversation went on behind an older message: after a rollback, a move of
/// the head, or a message that was edited or asked again. Nothing of it is lost; `head` selects it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog branches 019ab3
  sessionlog branches 019ab3 --agent a1        of a sub-agent's conversation
  sessionlog head 019ab3 42                    selects the branch that ends at #42")]
pub(crate) struct Branches {
    /// The session: its id, or the beginning of it
    id: String,

    /// The sub-agent whose conversation this is
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

#[derive(Serialize)]
struct Row {
    tip: u64,
    first: u64,
    under: Option<u64>,
    selected: bool,
    /// Where the conversation stands in it, if it is selected.
    head: Option<u64>,
    messages: u64,
    at: Timestamp,
    text: String,
}

impl Branches {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let session = cx.session(&self.id).await?;
        let agent = self.agent.as_deref();
        let mut story = Story::read(&session, agent).await?;
        story.end()?;
        if !story.is_known() {
            return Err(unknown_agent(&story, agent));
        }
        let mut rows = Vec::new();
        for branch in story.transcript.branches(agent) {
            rows.push(self.row(&session, &story, branch).await?);
        }
        if cx.json() {
            rows.iter().try_for_each(|row| cx.json_line(row))?;
        } else {
            let id = session.id();
            let n = rows.len() as u64;
            let n = match n {
                1 => "1 branch".to_owned(),
                n => format!("{n} branches"),
            };
            writeln!(cx.out(), "{id}: {n}")?;
            rows.iter().try_for_each(|row| row.print(cx))?;
            if rows.iter().any(|row| !row.selected) {
                cx.hint(&format!("select another with sessionlog head {id} TIP"))?;
            }
        }
        Ok(Exit::OK)
    }

    async fn row(&self, session: &Session, story: &Story, branch: Branch) -> Outcome<Row> {
        let positions = story.messages(branch.first, branch.tip);
        let (at, text) = story.first_words(session, positions, branch.first).await?;
        let head = story.transcript.head(self.agent.as_deref());
        Ok(Row {
            tip: branch.tip.get(),
            first: branch.first.get(),
            under: branch.under.map(sessionlog::SeqNum::get),
            selected: branch.current,
            head: head.filter(|_| branch.current).map(sessionlog::SeqNum::get),
            messages: positions.len() as u64,
            at,
            text,
        })
    }
}

impl Row {
    fn print(&self, cx: &mut Context<'_, '_>) -> Outcome<()> {
        let paint = cx.paint();
        let star = if self.selected { "*" } else { " " };
        let tip = format!("#{}", self.tip);
        let tip = match self.selected {
            true => paint.strong(paint.good(tip)).to_string(),
            false => paint.strong(tip).to_string(),
        };
        let mut about = format!(
            " · {} from #{}",
            plural(self.messages, "message"),
            self.first
        );
        if let Some(under) = self.under {
            about.push_str(&format!(" under #{under}"));
        }
        if let Some(head) = self.head.filter(|head| *head != self.tip) {
            about.push_str(&format!(" · head at #{head}"));
        }
        about.push_str(&format!(" · {}", second(self.at)));
        let about = paint.dim(about).to_string();
        writeln!(cx.out(), "{star} {tip}{about} · {}", line(&self.text))?;
        Ok(())
    }
}
