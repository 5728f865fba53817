//! A conversation told from its log.

use std::io::Write;

use serde_json::value::RawValue;
use sessionlog::transcript::{Item, Message, Origin, kinds};
use sessionlog::{Event, SeqNum, Session};

use super::Story;
use super::fetch::Fetch;
use crate::failure::Outcome;
use crate::items::{About, Fields, print};
use crate::json;
use crate::text::Paint;
use crate::view::View;

/// Tells a story: each item with its words, which are read from the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Teller {
    pub(crate) paint: Paint,
    pub(crate) width: Option<u16>,
    /// As JSON, an item a line.
    pub(crate) json: bool,
    /// With what is hidden: other branches, what a compaction covers, other agents.
    pub(crate) all: bool,
}

/// What was not told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Untold {
    /// Items that were told.
    pub(crate) told: u64,
    /// Messages that a compaction stands for.
    pub(crate) covered: u64,
    /// Messages that a rollback, or a move of the head, left behind.
    pub(crate) left: u64,
}

impl Teller {
    /// Tells the conversation of the agent whose story it is.
    pub(crate) async fn tell(
        self,
        session: &Session,
        story: &Story,
        out: &mut dyn Write,
    ) -> Outcome<Untold> {
        let hidden = story.hidden()?;
        let covered = hidden.iter().filter(|seq| story.covered.contains(seq));
        let mut untold = Untold {
            covered: covered.count() as u64,
            ..Untold::default()
        };
        untold.left = hidden.len() as u64 - untold.covered;
        let mut rest = self.all.then(|| Rest::new(self, session, story, hidden));
        let mut log = Fetch::new(session);
        let conversation = story.transcript.conversation(story.agent.as_deref())?;
        for item in &conversation.items() {
            if let Some(rest) = &mut rest {
                rest.until(item.seq, out).await?;
                rest.checkpoint = match item.origin {
                    Origin::Checkpoint => Some(item.seq),
                    _ => rest.checkpoint,
                };
            }
            untold.told += 1;
            self.item(item, story, &mut log, out).await?;
        }
        if let Some(rest) = &mut rest {
            rest.until(SeqNum::MAX, out).await?;
        }
        Ok(untold)
    }

    async fn item(
        self,
        item: &Item<'_>,
        story: &Story,
        log: &mut Fetch<'_>,
        out: &mut dyn Write,
    ) -> Outcome<()> {
        let mut parts = Vec::new();
        if item.origin == Origin::Log {
            for seq in &item.parts {
                parts.push(log.event(*seq).await?);
            }
        }
        let messages: Vec<Message<'_>> = parts.iter().filter_map(|e| e.data.view().ok()).collect();
        let mut natives: Vec<&RawValue> = messages.iter().filter_map(Message::native).collect();
        if item.origin != Origin::Log {
            natives.clone_from(&item.natives);
        }
        if self.json {
            json::line(out, &Fields::with(item, &natives))?;
        } else {
            let about = about(&parts, &messages, story.agent.as_deref());
            print(out, self.paint, item, &natives, &about)?;
        }
        Ok(())
    }
}

fn about(parts: &[Event], messages: &[Message<'_>], agent: Option<&str>) -> About {
    let failed = messages.iter().flat_map(|message| &message.results);
    let failed = failed.filter(|result| result.error);
    About {
        agent: agent.map(ToOwned::to_owned),
        model: messages.iter().find_map(|message| message.model.clone()),
        at: parts.first().map(|event| event.at),
        failed: failed.map(|result| result.id.clone()).collect(),
    }
}

/// What is not part of the conversation, in the order of the log.
struct Rest<'s> {
    teller: Teller,
    story: &'s Story,
    events: sessionlog::Events,
    next: Option<Event>,
    hidden: Vec<SeqNum>,
    /// The checkpoint that was told as an item.
    checkpoint: Option<SeqNum>,
}

impl<'s> Rest<'s> {
    fn new(teller: Teller, session: &Session, story: &'s Story, hidden: Vec<SeqNum>) -> Self {
        let (events, next) = (session.read(SeqNum::all()), None);
        Self {
            teller,
            story,
            events,
            next,
            hidden,
            checkpoint: None,
        }
    }

    /// Tells what stands before a position and was not told.
    async fn until(&mut self, seq: SeqNum, out: &mut dyn Write) -> Outcome<()> {
        loop {
            if self.next.is_none() {
                self.next = self.events.next().await.transpose()?;
            }
            let Some(event) = self.next.take_if(|event| event.seq < seq) else {
                return Ok(());
            };
            let view = View::new(self.teller.paint, self.teller.width);
            if event.kind == kinds::MESSAGE {
                let mark = self.mark(&event);
                if let Some(mark) = mark {
                    view.marked(out, &event, mark)?;
                }
            } else if [kinds::ROLLBACK, kinds::HEAD, kinds::COMPACTION].contains(&event.kind)
                && self.checkpoint != Some(event.seq)
            {
                view.event(out, &event)?;
            }
        }
    }

    /// What is to be told of a message; none if it belongs to the conversation.
    fn mark(&self, event: &Event) -> Option<&'static str> {
        let speaker: super::Speaker = event.data.view().unwrap_or_default();
        if speaker.agent != self.story.agent {
            return Some("");
        }
        self.hidden.binary_search(&event.seq).ok()?;
        Some(match self.story.covered.contains(&event.seq) {
            true => "covered by a compaction",
            false => "left behind",
        })
    }
}
