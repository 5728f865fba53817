//! Branches that are not in memory, read by their positions.

use super::Transcript;
use crate::{Head, Result, Session};

impl Session {
    /// Reads what a transcript of this session lacks for the conversation of an agent, `None` for
    /// the main one. Nothing is read if it lacks nothing.
    ///
    /// Cost grows with the stretch of the log that the conversation spans.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn load(&self, transcript: &mut Transcript, agent: Option<&str>) -> Result<()> {
        if transcript.rebuild(agent).is_none() {
            return Ok(());
        }
        let end = self.head().await?;
        self.load_until(end, transcript, agent).await
    }

    /// The same, of the log whose end the caller has just looked at.
    pub(crate) async fn load_until(
        &self,
        end: Head,
        transcript: &mut Transcript,
        agent: Option<&str>,
    ) -> Result<()> {
        let Some(mut rebuild) = transcript.rebuild(agent) else {
            return Ok(());
        };
        for range in rebuild.ranges() {
            let mut events = self.read_until(end, range);
            while let Some(chunk) = events.next_chunk().await {
                for event in &chunk? {
                    rebuild.push(super::trees::entries_of(event, agent));
                }
            }
        }
        transcript.loaded(agent, rebuild);
        Ok(())
    }
}
