//! The driver that the demo kills.

use std::io;

use clap::Args;
use serde::{Deserialize, Serialize};
use sessionlog::{EventId, LeaseRequest, SeqNum, SessionId};

use super::script;
use crate::commands::wake::owner;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;

/// The name of the command that the program gives itself.
pub(crate) const DRIVER: &str = "demo-driver";

/// Drives a session of the demo, until killed.
#[derive(Args)]
pub(crate) struct Driver {
    /// The session
    id: SessionId,
}

/// What the driver says behind each append that returned: this event is safe.
#[derive(Serialize, Deserialize)]
pub(super) struct Acknowledged {
    pub(super) seq: SeqNum,
    pub(super) id: EventId,
}

impl Driver {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let session = cx.store().await?.open_or_create(self.id.clone()).await?;
        let writer = session.acquire(LeaseRequest::new(owner()?)).await?;
        for event in script::events() {
            let event = event?;
            let id = event.id;
            let seq = writer.append_one(event).await?;
            cx.json_line(&Acknowledged { seq, id })?;
            cx.out().flush()?;
        }
        // The tool runs, and no result comes. Should whoever started this die, it ends as well.
        io::copy(cx.input(), &mut io::sink())?;
        Ok(Exit::OK)
    }
}
