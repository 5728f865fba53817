//! Writing a checkpoint without losing a better one.

use super::{Compaction, Item, Origin, Woken, kinds};
use crate::{Error, NewEvent, Result, SeqNum};

impl Woken {
    /// Appends a checkpoint: its conversation goes on behind it, and what it covers stays readable.
    ///
    /// A checkpoint that says nothing, or fewer bytes than the one that it takes the place of, is
    /// most often the answer of a model that failed: it is refused. With
    /// [`cleared`](Compaction::cleared) it is what was asked for, and so it is with
    /// [`compact_anyway`](Self::compact_anyway).
    ///
    /// # Errors
    /// `InvalidInput` with both sizes if it is empty or shorter; else as [`append`](Self::append).
    pub async fn compact(&mut self, checkpoint: &Compaction<'_>) -> Result<SeqNum> {
        let says = size(checkpoint);
        let before = self.said(checkpoint.agent.as_deref())?;
        if !checkpoint.cleared && (says == 0 || says < before) {
            return Err(Error::invalid(format!(
                "the checkpoint says less than the one before it, check it or ask for it anyway: \
                 {says} bytes, {before} before"
            )));
        }
        self.compact_anyway(checkpoint).await
    }

    /// Appends a checkpoint, whatever it says.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub async fn compact_anyway(&mut self, checkpoint: &Compaction<'_>) -> Result<SeqNum> {
        let event = NewEvent::value(kinds::COMPACTION, checkpoint)?;
        Ok(self.append(vec![event]).await?.start)
    }

    /// The bytes of the checkpoint that a conversation begins with; 0 if it has none.
    fn said(&self, agent: Option<&str>) -> Result<usize> {
        let conversation = self.transcript().conversation(agent)?;
        let items = conversation.items();
        let checkpoints = items
            .iter()
            .filter(|item| item.origin == Origin::Checkpoint);
        Ok(checkpoints.map(words).sum())
    }
}

fn words(item: &Item<'_>) -> usize {
    let natives: usize = item.natives.iter().map(|native| native.get().len()).sum();
    natives + item.text.map_or(0, str::len)
}

fn size(checkpoint: &Compaction<'_>) -> usize {
    match checkpoint.natives() {
        natives if natives.is_empty() => checkpoint.text().len(),
        natives => natives.iter().map(|native| native.get().len()).sum(),
    }
}
