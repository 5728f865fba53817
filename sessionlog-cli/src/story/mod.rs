//! A session as a conversation, in memory that does not grow with what is said in it.

mod fetch;
mod print;
mod slim;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use sessionlog::transcript::{Compaction, Message, Transcript, kinds};
use sessionlog::{Error, Event, Projection, Result, SeqNum, Session, Timestamp};

use self::fetch::Fetch;
pub(crate) use self::print::{Teller, Untold};
pub(crate) use self::slim::slim;
use crate::moves::beginning;

/// The transcript of a whole log, without the bulk of its words, and where its messages are.
#[derive(Default)]
pub(crate) struct Story {
    pub(crate) transcript: Transcript,
    agent: Option<String>,
    /// The messages of the agent, in order.
    messages: Vec<SeqNum>,
    /// Those of them that a compaction stands for.
    covered: BTreeSet<SeqNum>,
    /// How many messages the other agents have, the main one under the empty name.
    others: BTreeMap<String, u64>,
    /// Why the log could be read no further.
    broken: Option<Error>,
}

/// So many messages of a branch are looked at for words.
const LOOK: usize = 8;
/// So many characters of them are told.
const WORDS: usize = 60;

/// Who says a message, or whose checkpoint it is.
#[derive(Default, Deserialize)]
struct Speaker {
    #[serde(default)]
    agent: Option<String>,
}

impl Story {
    /// Reads a session for the conversation of an agent, `None` for the main one: all of it, or as far
    /// as it can be read.
    pub(crate) async fn read(session: &Session, agent: Option<&str>) -> Result<Self> {
        let mut story = Self {
            agent: agent.map(ToOwned::to_owned),
            ..Self::default()
        };
        let mut events = session.read(SeqNum::all());
        while let Some(chunk) = events.next_chunk().await {
            match chunk {
                Ok(chunk) => chunk.iter().for_each(|event| story.add(event)),
                Err(error) => {
                    story.broken = Some(error);
                    break;
                }
            }
        }
        for range in story.transcript.missing(agent) {
            let mut lacking = Vec::new();
            let mut events = session.read(range);
            while let Some(chunk) = events.next_chunk().await {
                lacking.extend(chunk?.iter().map(slim));
            }
            story.transcript.fill(agent, &lacking);
        }
        Ok(story)
    }

    fn add(&mut self, event: &Event) {
        if event.kind == kinds::MESSAGE {
            let of: Speaker = event.data.view().unwrap_or_default();
            if of.agent == self.agent {
                self.messages.push(event.seq);
            } else {
                *self.others.entry(of.agent.unwrap_or_default()).or_default() += 1;
            }
            return self.transcript.apply(&slim(event));
        }
        if event.kind == kinds::COMPACTION {
            let of: Speaker = event.data.view().unwrap_or_default();
            if of.agent == self.agent
                && let Ok(shown) = self.shown()
            {
                self.covered.extend(shown);
            }
        }
        self.transcript.apply(event);
    }

    /// The messages of the conversation, with what replay sets aside.
    fn shown(&self) -> Result<BTreeSet<SeqNum>> {
        let conversation = self.transcript.conversation(self.agent.as_deref())?;
        let items = conversation.items();
        let parts = items.iter().flat_map(|item| item.parts.iter().copied());
        let aside = conversation.set_aside().iter().map(|aside| aside.seq);
        Ok(parts.chain(aside).collect())
    }

    /// The messages of the agent that are not part of its conversation.
    fn hidden(&self) -> Result<Vec<SeqNum>> {
        let shown = self.shown()?;
        let all = self.messages.iter().copied();
        Ok(all.filter(|seq| !shown.contains(seq)).collect())
    }

    /// Ends with the error that the log broke off at, if it did: what is before it was told.
    pub(crate) fn end(&mut self) -> Result<()> {
        self.broken.take().map_or(Ok(()), Err)
    }

    /// The other agents of the session and how many messages each has.
    pub(crate) fn others(&self) -> impl Iterator<Item = (&str, u64)> {
        self.others.iter().map(|(name, n)| (name.as_str(), *n))
    }

    /// The messages of the agent between two positions, both included.
    pub(crate) fn messages(&self, first: SeqNum, last: SeqNum) -> &[SeqNum] {
        let from = self.messages.partition_point(|seq| *seq < first);
        let until = self.messages.partition_point(|seq| *seq <= last);
        self.messages.get(from..until).unwrap_or_default()
    }

    /// When a branch began and the first words in it.
    pub(crate) async fn first_words(
        &self,
        session: &Session,
        messages: &[SeqNum],
        first: SeqNum,
    ) -> Result<(Timestamp, String)> {
        let mut log = Fetch::new(session);
        let event = log.event(first).await?;
        let mut words = String::new();
        if let Ok(it) = event.data.view::<Compaction<'_>>()
            && event.kind == kinds::COMPACTION
        {
            words = it.text();
        }
        for seq in messages.iter().take(LOOK) {
            let said = log.event(*seq).await?;
            let Ok(message) = said.data.view::<Message<'_>>() else {
                continue;
            };
            let text = message.text();
            if !message.injected && !text.trim().is_empty() {
                words = text;
                break;
            } else if words.trim().is_empty() {
                words = text;
            }
        }
        Ok((event.at, beginning(&words, WORDS)))
    }

    /// Whether the agent is known at all.
    pub(crate) fn is_known(&self) -> bool {
        let known = |agent: &String| self.transcript.sub_agents().of(agent).is_some();
        !self.messages.is_empty() || self.agent.as_ref().is_none_or(known)
    }
}
