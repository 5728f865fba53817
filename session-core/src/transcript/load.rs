//! Branches that are not in memory, read by their positions.

use super::Transcript;
use crate::{Result, Session};

impl Session {
    /// Reads what a transcript of this session lacks for the conversation of an agent, `None` for
    /// the main one. Nothing is read if it lacks nothing.
    ///
    /// Cost grows with the stretch of the log that the conversation spans.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn load(&self, transcript: &mut Transcript, agent: Option<&str>) -> Result<()> {
        let Some(mut rebuild) = transcript.rebuild(agent) else {
            return Ok(());
        };
        for range in rebuild.ranges() {
            let mut events = self.read(range);
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
