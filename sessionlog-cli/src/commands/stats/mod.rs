//! `stats`: what a session consists of.

mod counts;
mod prices;
mod tell;

use std::path::PathBuf;

use clap::Args;
use sessionlog::SeqNum;

use self::counts::Counts;
use self::prices::Prices;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Outcome;

/// Count what a session consists of: events by kind, messages, calls, tokens, cost
///
/// Tokens are as the provider reported them, each response once. A cost is shown only if one was
/// recorded, or if there is a table of prices that has every model that was used.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sessionlog stats 019ab3
  sessionlog stats 019ab3 --prices prices.json    with a cost, where none was recorded
  sessionlog stats 019ab3 --json | jq .tokens")]
pub(crate) struct Stats {
    /// The session: its id, or the beginning of it
    id: String,

    /// Prices of models, in US dollars for a million tokens
    ///
    /// A JSON object with all four prices of each model:
    /// `{"model-1": {"input": 3, "cache_read": 0.3, "cache_write": 3.75, "output": 15}}`
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

impl Stats {
    pub(crate) async fn run(&self, cx: &mut Context<'_, '_>) -> Outcome {
        let prices = self.prices.as_deref().map(Prices::read).transpose()?;
        let session = cx.session(&self.id).await?;
        let mut counts = Counts::default();
        let mut events = session.read(SeqNum::all());
        while let Some(chunk) = events.next_chunk().await {
            chunk?.iter().for_each(|event| counts.add(event));
        }
        let told = counts.told(session.id().as_str(), prices.as_ref());
        if cx.json() {
            cx.json_line(&told)?;
        } else {
            tell::print(&told, cx)?;
        }
        Ok(Exit::OK)
    }
}
